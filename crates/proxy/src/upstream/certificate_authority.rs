//! The certificate authority of one template. It signs only for hosts whose TLS is terminated.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use belljar_core::policy::{Host, Target};
use rcgen::ExtendedKeyUsagePurpose;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::server::NoServerSessionStorage;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::Roots;
use crate::error::EgressError;
use crate::wire::Stream;

/// Hosts whose certificate is kept. Below a suffix a guest can ask for any number of names.
const KEPT: usize = 64;

/// Handles both sides of a terminated connection. Its key is made with the template and never
/// leaves this process.
pub(crate) struct CertificateAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// One key for all certificates. They differ only in their names.
    key: KeyPair,
    provider: Arc<CryptoProvider>,
    connector: TlsConnector,
    /// The TLS settings for the cells' side, by host. All cells of the template share them, and
    /// they contain nothing of a cell.
    certified: Mutex<HashMap<Host, Arc<ServerConfig>>>,
}

impl CertificateAuthority {
    /// Makes a new authority. It trusts hosts by `roots`, or by the machine's root certificates.
    pub(crate) fn new(roots: Option<RootCertStore>) -> Result<Self, EgressError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Belljar egress of one sandbox template");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = roots.map_or_else(|| Roots::of_the_machine().map(RootCertStore::from), Ok)?;
        let mut client = belljar_tls::client_config_trusting(roots);
        client.alpn_protocols = vec![b"http/1.1".to_vec()];
        let connector = TlsConnector::from(Arc::new(client));
        Ok(Self { issuer, key: KeyPair::generate()?, provider, connector, certified: Mutex::default() })
    }

    /// The certificate that a cell must trust, as PEM.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Accepts TLS from the cell in a target's name.
    pub(crate) async fn accept<S: Stream>(
        &self,
        target: &Target,
        cell: S,
    ) -> io::Result<server::TlsStream<S>> {
        let config = self.certified(&target.host).map_err(io::Error::other)?;
        TlsAcceptor::from(config).accept(cell).await
    }

    /// Connects to the target over TLS, and verifies that it is the target.
    pub(super) async fn connect<S: Stream>(
        &self,
        target: &Target,
        host: S,
    ) -> io::Result<client::TlsStream<S>> {
        let name = match &target.host {
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
            Host::Address(address) => ServerName::IpAddress((*address).into()),
        };
        self.connector.connect(name, host).await
    }

    /// Signs once per host, not once per connection.
    fn certified(&self, host: &Host) -> Result<Arc<ServerConfig>, EgressError> {
        let mut certified = self.certified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = certified.get(host) {
            return Ok(config.clone());
        }
        if certified.len() >= KEPT {
            certified.clear();
        }
        let config = Arc::new(self.sign_certificate(host)?);
        certified.insert(host.clone(), config.clone());
        Ok(config)
    }

    fn sign_certificate(&self, host: &Host) -> Result<ServerConfig, EgressError> {
        let mut params = CertificateParams::new(vec![host.to_string()])?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&self.key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(self.key.serialize_der().into());
        let chain = vec![certificate.der().clone(), self.issuer.der().clone()];
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A resumable session would be something of one cell that another could find.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_certified_once_and_not_for_ever_many_names() {
        let mut roots = RootCertStore::empty();
        let own = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
        roots.add(own.cert.der().clone()).unwrap();
        let authority = CertificateAuthority::new(Some(roots)).unwrap();
        let sign_certificate = |name: &str| authority.certified(&Host::Name(name.into())).unwrap();
        let first = sign_certificate("a.test");
        assert!(Arc::ptr_eq(&first, &sign_certificate("a.test")));
        for number in 0..3 * KEPT {
            sign_certificate(&format!("n{number}.test"));
            assert!(authority.certified.lock().unwrap().len() <= KEPT);
        }
    }
}
