//! The authority of one template: it signs for the hosts whose TLS is opened, and for nobody else.

use std::io;
use std::sync::Arc;

use belljar_core::policy::{Host, Target};
use rcgen::ExtendedKeyUsagePurpose;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::error::EgressError;
use crate::roots::Roots;
use crate::wire::Stream;

/// Both sides of an opened connection. Its key is made when the template is, and never leaves this process.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// One key for all certificates: they differ in their names only.
    key: KeyPair,
    provider: Arc<CryptoProvider>,
    connector: TlsConnector,
}

impl Authority {
    /// A new authority. Hosts are believed by `roots`, or by what the machine believes.
    pub(crate) fn new(roots: Option<RootCertStore>) -> Result<Self, EgressError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Belljar egress of one sandbox template");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = roots.map_or_else(|| Roots::of_the_machine().map(RootCertStore::from), Ok)?;
        let mut client = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"http/1.1".to_vec()];
        let connector = TlsConnector::from(Arc::new(client));
        Ok(Self { issuer, key: KeyPair::generate()?, provider, connector })
    }

    /// What a cell must trust, as PEM.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Speaks TLS with the cell in a target's name.
    pub(crate) async fn accept<S: Stream>(
        &self,
        target: &Target,
        cell: S,
    ) -> io::Result<server::TlsStream<S>> {
        let config = self.certificate(target).map_err(io::Error::other)?;
        TlsAcceptor::from(Arc::new(config)).accept(cell).await
    }

    /// Speaks TLS with the target itself, and makes sure that it is the target.
    pub(crate) async fn connect<S: Stream>(
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

    fn certificate(&self, target: &Target) -> Result<ServerConfig, EgressError> {
        let mut params = CertificateParams::new(vec![target.host.to_string()])?;
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
        Ok(config)
    }
}
