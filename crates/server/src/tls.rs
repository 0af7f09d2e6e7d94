//! TLS by the server itself.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::options::TlsFiles;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read, or has nothing that is needed.
    #[error("{}: {reason}", .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The certificate and the key do not fit.
    #[error("the certificate in {} cannot be used with the key in {}", .0.certificate.display(), .0.key.display())]
    Pair(TlsFiles, #[source] rustls::Error),
}

/// The certificate that is shown. It can be read again while the server runs.
#[derive(Clone)]
pub(crate) struct Tls {
    files: TlsFiles,
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

impl Tls {
    pub(crate) fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let config = Arc::new(RwLock::new(read(&files)?));
        Ok(Self { files, config })
    }

    /// Reads the files again. If they cannot be used, the old certificate stays.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let config = read(&self.files)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner).clone();
        TlsAcceptor::from(config).accept(stream).await
    }
}

fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let unusable = |path: &PathBuf| {
        let path = path.clone();
        move |error: rustls::pki_types::pem::Error| TlsError::File { path, reason: error.to_string() }
    };
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unusable(&files.certificate))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(unusable(&files.key))?;
    let pair = |error| TlsError::Pair(files.clone(), error);
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| TlsError::Pair(files.clone(), error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
