//! How a gateway is reached.

use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::JupyterError;

/// Where a gateway listens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// A Unix socket. The path may be longer than a socket's address can be. Its last part must not
    /// be a symbolic link.
    Unix(PathBuf),
    /// A host and a port.
    Tcp(String),
}

/// A connection of either kind.
pub(crate) type Stream = Box<dyn Connection>;

/// Both directions of a connection.
pub(crate) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

impl Transport {
    /// A Unix socket.
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self::Unix(path.into())
    }

    /// A host and a port, such as `127.0.0.1:8888`.
    pub fn tcp(address: impl Into<String>) -> Self {
        Self::Tcp(address.into())
    }

    pub(crate) async fn open(&self) -> Result<Stream, JupyterError> {
        let unreachable = |source| JupyterError::Unreachable { place: self.to_string(), source };
        match self {
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address).await.map_err(unreachable)?;
                stream.set_nodelay(true).map_err(unreachable)?;
                Ok(Box::new(stream))
            }
            Self::Unix(path) => {
                let socket = find(path).map_err(unreachable)?;
                let socket = socket.ok_or_else(|| JupyterError::NotASocket { path: path.clone() })?;
                // The descriptor's own path is short, and means the very file that was looked at.
                let path = format!("/proc/self/fd/{}", socket.as_raw_fd());
                Ok(Box::new(UnixStream::connect(path).await.map_err(unreachable)?))
            }
        }
    }
}

/// The socket at a path, or `None` if something else is there.
fn find(path: &Path) -> std::io::Result<Option<OwnedFd>> {
    let found = rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode);
    Ok((kind == FileType::Socket).then_some(found))
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => f.write_str(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_reached_by_a_path_longer_than_its_address_can_be() {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("d".repeat(200));
        std::fs::create_dir(&deep).unwrap();
        let short = directory.path().join("s");
        let listener = tokio::net::UnixListener::bind(&short).unwrap();
        std::fs::rename(&short, deep.join("socket")).unwrap();
        let transport = Transport::unix(deep.join("socket"));
        let (client, server) = tokio::join!(transport.open(), listener.accept());
        assert!(client.is_ok() && server.is_ok());
    }

    #[tokio::test]
    async fn a_link_to_a_socket_of_the_host_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (secret, link) = (directory.path().join("host"), directory.path().join("link"));
        let _listener = tokio::net::UnixListener::bind(&secret).unwrap();
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        let refused = Transport::unix(&link).open().await.err().unwrap();
        assert!(matches!(refused, JupyterError::NotASocket { .. }), "{refused}");
        std::fs::write(directory.path().join("file"), "").unwrap();
        let refused = Transport::unix(directory.path().join("file")).open().await.err().unwrap();
        assert!(matches!(refused, JupyterError::NotASocket { .. }), "{refused}");
        let missing = Transport::unix(directory.path().join("none")).open().await.err().unwrap();
        assert!(matches!(missing, JupyterError::Unreachable { .. }), "{missing}");
    }
}
