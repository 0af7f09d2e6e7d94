//! The root certificates of the machine.

use rustls::RootCertStore;
use rustls_native_certs::CertificateResult;

/// No root certificate could be loaded on this machine.
#[derive(Debug, thiserror::Error)]
#[error(
    "no server can be verified over TLS, because no root certificate was found on this machine{problems}; \
     install the package ca-certificates, or set SSL_CERT_FILE to a PEM file with root certificates"
)]
#[non_exhaustive]
pub struct NoRoots {
    /// What went wrong in the places that were looked at. It is empty, or in parentheses after a
    /// space.
    pub problems: String,
}

/// The root certificates of the machine. `SSL_CERT_FILE` and `SSL_CERT_DIR` say where they are, if
/// not in the usual place.
///
/// Without any it is an error: every connection would fail later, and nobody would know why. A
/// single certificate that cannot be used is left out, because machines have old ones among many
/// good ones.
pub fn machine_roots() -> Result<RootCertStore, NoRoots> {
    usable(rustls_native_certs::load_native_certs())
}

fn usable(found: CertificateResult) -> Result<RootCertStore, NoRoots> {
    let mut roots = RootCertStore::empty();
    let (_, unusable) = roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    /// A directory may have hundreds of files that cannot be read, all for one reason.
    const TOLD: usize = 3;
    let mut problems: Vec<String> = found.errors.iter().take(TOLD).map(ToString::to_string).collect();
    if unusable > 0 {
        problems.push(format!("certificates that cannot be used: {unusable}"));
    }
    let problems = match problems.is_empty() {
        true => String::new(),
        false => format!(" ({})", problems.join(", ")),
    };
    Err(NoRoots { problems })
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::CertificateDer;

    use super::*;

    fn found(certs: impl IntoIterator<Item = CertificateDer<'static>>) -> CertificateResult {
        let mut found = CertificateResult::default();
        found.certs.extend(certs);
        found
    }

    #[test]
    fn one_good_certificate_is_enough_beside_bad_ones() {
        let good = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap().cert.der().clone();
        let bad = CertificateDer::from(vec![0; 10]);
        assert_eq!(usable(found([bad.clone(), good, bad])).unwrap().len(), 1);
    }

    #[test]
    fn without_a_usable_certificate_the_error_says_why_and_what_to_do() {
        let none = usable(found([])).unwrap_err().to_string();
        assert!(none.contains("found on this machine; install the package ca-certificates"), "{none}");
        let bad = usable(found([CertificateDer::from(vec![0; 10])])).unwrap_err().to_string();
        assert!(bad.contains("this machine (certificates that cannot be used: 1); install"), "{bad}");
    }
}
