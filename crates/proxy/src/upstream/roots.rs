//! Root certificates the proxy trusts when it terminates TLS.

use std::fmt;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::error::EgressError;

/// Root certificates that vouch for hosts. They are used only for hosts whose TLS is terminated for
/// a credential. Elsewhere, verification is between the guest and the host.
///
/// A company with its own certificate authority adds it to those of the machine:
///
/// ```no_run
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use belljar_proxy::Roots;
///
/// let roots = Roots::of_the_machine()?.with_pem(&std::fs::read_to_string("company.pem")?)?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Roots(RootCertStore);

impl Roots {
    /// The machine's root certificates. `SSL_CERT_FILE` and `SSL_CERT_DIR` say where they are, if
    /// not in the usual place. It is an error if there are none.
    pub fn of_the_machine() -> Result<Self, EgressError> {
        Ok(Self(belljar_tls::machine_roots()?))
    }

    /// These certificates and no others.
    pub fn from_pem(pem: &str) -> Result<Self, EgressError> {
        Self(RootCertStore::empty()).with_pem(pem)
    }

    /// Adds these certificates. Text without a certificate is an error, and so is a certificate
    /// that cannot be read.
    pub fn with_pem(mut self, pem: &str) -> Result<Self, EgressError> {
        let before = self.0.len();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate =
                certificate.map_err(|error| EgressError::BadRoots { reason: error.to_string() })?;
            self.0.add(certificate).map_err(|error| EgressError::BadRoots { reason: error.to_string() })?;
        }
        match self.0.len() == before {
            true => Err(EgressError::BadRoots { reason: "there is no certificate in it".into() }),
            false => Ok(self),
        }
    }
}

impl From<Roots> for RootCertStore {
    fn from(roots: Roots) -> Self {
        roots.0
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Roots({} authorities)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_added_and_what_is_none_is_refused() {
        let pem = || rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap().cert.pem();
        let both =
            Roots::from_pem(&pem()).unwrap().with_pem(&format!("# ours\n{}\n{}", pem(), pem())).unwrap();
        assert_eq!(format!("{both:?}"), "Roots(3 authorities)");
        let cut = pem().replacen("MII", "MIII", 1);
        for text in ["", "company.pem", "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n", &cut]
        {
            let error = Roots::from_pem(text).unwrap_err();
            assert!(
                matches!(error, EgressError::BadRoots { .. }) && error.is_the_callers(),
                "{text:?}: {error}"
            );
        }
    }
}
