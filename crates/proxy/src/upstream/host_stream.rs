//! A stream to a host, and how it is protected.

use std::io;

use belljar_core::policy::Target;

use super::{CertificateAuthority, HostSocket};
use crate::wire::Stream;

/// How a connection to a host is protected. Credentials are checked against this. Only a connection
/// can give one out, and only [`HostStream::over_tls`] says that there is TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Protection(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The proxy made the TLS connection, and the host has shown a certificate for its name.
    VerifiedTls,
}

impl Protection {
    pub(crate) fn is_verified_tls(self) -> bool {
        self.0 == Kind::VerifiedTls
    }
}

/// A stream to a host.
pub(crate) struct HostStream {
    pub(super) stream: Box<dyn Stream>,
    protection: Protection,
}

impl HostStream {
    pub(crate) fn plain(stream: HostSocket) -> Self {
        Self { stream: Box::new(stream), protection: Protection(Kind::Plain) }
    }

    /// Connects to the target over TLS, and verifies that it is the target.
    pub(crate) async fn over_tls(
        authority: &CertificateAuthority,
        target: &Target,
        stream: HostSocket,
    ) -> io::Result<Self> {
        let stream = authority.connect(target, stream).await?;
        Ok(Self { stream: Box::new(stream), protection: Protection(Kind::VerifiedTls) })
    }

    pub(crate) fn protection(&self) -> Protection {
        self.protection
    }
}

#[cfg(test)]
impl Protection {
    /// For tests that compare protections.
    pub(crate) const PLAIN: Self = Self(Kind::Plain);
    /// The same.
    pub(crate) const VERIFIED_TLS: Self = Self(Kind::VerifiedTls);
}
