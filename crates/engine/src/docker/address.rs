//! Where the daemon is, and a connection to it.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belljar_core::environment;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::DockerError;

/// A byte stream in both directions, whatever carries it.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Where a daemon listens.
#[derive(Clone)]
pub(super) enum Address {
    Unix(PathBuf),
    Tcp { host: String, port: u16, tls: Option<Arc<ClientConfig>> },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp { host, port, .. } if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Self::Tcp { host, port, .. } => write!(f, "tcp://{host}:{port}"),
        }
    }
}

/// What the environment says about daemons, read the way Docker's own client does.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    pub(super) docker_host: Option<String>,
    pub(super) tls_verify: bool,
    pub(super) cert_path: Option<PathBuf>,
    pub(super) home: Option<PathBuf>,
    pub(super) runtime_dir: Option<PathBuf>,
}

impl Surroundings {
    pub(super) fn of_this_process() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            docker_host: set(environment::DOCKER_HOST).map(|value| value.to_string_lossy().into_owned()),
            tls_verify: set(environment::DOCKER_TLS_VERIFY).is_some(),
            cert_path: set(environment::DOCKER_CERT_PATH).map(PathBuf::from),
            home: set(environment::HOME).map(PathBuf::from),
            runtime_dir: set(environment::XDG_RUNTIME_DIR).map(PathBuf::from),
        }
    }
}

const USUAL: &str = "/var/run/docker.sock";
const PLAIN_PORT: u16 = 2375;
const TLS_PORT: u16 = 2376;

impl Address {
    /// The address that was given, else `DOCKER_HOST`, else the first socket that exists: Docker's,
    /// a user's own, Podman's.
    pub(super) fn find(given: Option<&str>, around: &Surroundings) -> Result<Self, DockerError> {
        match given.or(around.docker_host.as_deref()) {
            Some(text) => Self::parse(text, around),
            None => {
                let own = |name: &str| around.runtime_dir.as_ref().map(|directory| directory.join(name));
                let sockets = [
                    Some(PathBuf::from(USUAL)),
                    own("docker.sock"),
                    own("podman/podman.sock"),
                    Some(PathBuf::from("/run/podman/podman.sock")),
                ];
                let present = sockets.into_iter().flatten().find(|path| path.exists());
                Ok(Self::Unix(present.unwrap_or_else(|| USUAL.into())))
            }
        }
    }

    /// Whose its socket is, if that is a file here.
    pub(super) fn owner(&self) -> Option<u32> {
        match self {
            Self::Unix(path) => std::fs::metadata(path).ok().map(|socket| socket.uid()),
            Self::Tcp { .. } => None,
        }
    }

    fn parse(text: &str, around: &Surroundings) -> Result<Self, DockerError> {
        let refused = |rule| DockerError::Address { text: text.to_owned(), rule };
        if let Some(path) = text.strip_prefix("unix://") {
            return match path.starts_with('/') {
                true => Ok(Self::Unix(path.into())),
                false => Err(refused("a socket's path must be absolute: unix:///var/run/docker.sock")),
            };
        }
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| refused("must begin with unix://, tcp://, http:// or https://"))?;
        let encrypted = match scheme {
            "tcp" => around.tls_verify,
            "http" => false,
            "https" => true,
            "ssh" => {
                return Err(refused(
                    "ssh:// is not spoken here; forward the socket (ssh -L /tmp/docker.sock:/var/run/docker.sock host) and use unix:///tmp/docker.sock",
                ));
            }
            _ => return Err(refused("must begin with unix://, tcp://, http:// or https://")),
        };
        let (host, port) =
            split_port(rest.trim_end_matches('/'), if encrypted { TLS_PORT } else { PLAIN_PORT })
                .ok_or_else(|| refused("must be a host and a port, such as tcp://10.0.0.5:2376"))?;
        let tls = if encrypted { Some(Arc::new(certificates(around)?)) } else { None };
        Ok(Self::Tcp { host, port, tls })
    }

    /// Opens a new connection.
    pub(super) async fn dial(&self) -> io::Result<Box<dyn Wire>> {
        match self {
            Self::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
            Self::Tcp { host, port, tls } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                let Some(config) = tls else { return Ok(Box::new(stream)) };
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                Ok(Box::new(TlsConnector::from(Arc::clone(config)).connect(name, stream).await?))
            }
        }
    }
}

fn split_port(text: &str, usual: u16) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, after.strip_prefix(':'))
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Some(usual), |port| port.parse().ok())?;
    (!host.is_empty() && !host.contains('/')).then(|| (host.to_owned(), port))
}

/// The certificates to trust and our own, from `DOCKER_CERT_PATH` or `~/.docker`. The files are
/// those that Docker's client uses.
fn certificates(around: &Surroundings) -> Result<ClientConfig, DockerError> {
    let usual = || around.home.as_ref().map(|home| home.join(".docker"));
    let directory = around.cert_path.clone().or_else(usual).unwrap_or_default();
    let unusable = |file: &Path, reason: String| DockerError::Certificate { path: file.to_owned(), reason };
    let path = directory.join("ca.pem");
    let mut roots = RootCertStore::empty();
    for certificate in
        CertificateDer::pem_file_iter(&path).map_err(|error| unusable(&path, error.to_string()))?
    {
        let certificate = certificate.map_err(|error| unusable(&path, error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(&path, error.to_string()))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&path, error.to_string()))?
        .with_root_certificates(roots);
    let path = directory.join("cert.pem");
    if !path.exists() {
        return Ok(builder.with_no_client_auth());
    }
    let chain = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(&path, error.to_string()))?;
    let path = directory.join("key.pem");
    let key = PrivateKeyDer::from_pem_file(&path).map_err(|error| unusable(&path, error.to_string()))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| unusable(&path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<String, String> {
        Address::find(Some(text), &Surroundings::default())
            .map(|address| address.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn addresses_are_read_as_docker_reads_them() {
        assert_eq!(found("unix:///run/x.sock").unwrap(), "unix:///run/x.sock");
        assert_eq!(found("tcp://10.0.0.5").unwrap(), "tcp://10.0.0.5:2375");
        assert_eq!(found("tcp://10.0.0.5:99/").unwrap(), "tcp://10.0.0.5:99");
        assert_eq!(found("http://[fd00::1]:2375").unwrap(), "tcp://[fd00::1]:2375");
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_rule() {
        for (text, rule) in [
            ("docker.sock", "must begin with unix://"),
            ("unix://docker.sock", "must be absolute"),
            ("tcp://", "must be a host and a port"),
            ("tcp://x:99999", "must be a host and a port"),
            ("ssh://me@there", "forward the socket"),
            ("npipe:////./pipe/docker", "must begin with unix://"),
        ] {
            let error = found(text).unwrap_err();
            assert!(error.contains(rule) && error.contains(text), "{error}");
        }
    }

    #[test]
    fn encryption_without_certificates_names_the_file() {
        let around = Surroundings {
            docker_host: Some("tcp://h:2376".into()),
            tls_verify: true,
            cert_path: Some("/nowhere".into()),
            ..Surroundings::default()
        };
        let error = Address::find(None, &around).err().unwrap().to_string();
        assert!(error.contains("/nowhere/ca.pem"), "{error}");
    }

    #[test]
    fn without_a_word_the_first_socket_there_is_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("podman")).unwrap();
        std::fs::write(directory.path().join("podman/podman.sock"), "").unwrap();
        let around =
            Surroundings { runtime_dir: Some(directory.path().to_owned()), ..Surroundings::default() };
        let found = Address::find(None, &around).unwrap().to_string();
        assert!(found.ends_with("docker.sock") || found.ends_with("podman.sock"), "{found}");
    }
}
