//! A host that was reached, and how what is said to it is protected.

use std::io;

use belljar_core::policy::Target;

use super::{Authority, HostSocket};
use crate::wire::Stream;

/// How a connection to a host is protected. What a credential demands is compared with this, so it can be had from a
/// connection alone, and only [`Reached::by_tls`] says that there is TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Protection(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The proxy itself has made it, and the host has shown a certificate for its name.
    VerifiedTls,
}

impl Protection {
    pub(crate) fn is_verified_tls(self) -> bool {
        self.0 == Kind::VerifiedTls
    }
}

/// A stream to a host.
pub(crate) struct Reached {
    pub(super) stream: Box<dyn Stream>,
    protection: Protection,
}

impl Reached {
    pub(crate) fn plain(stream: HostSocket) -> Self {
        Self { stream: Box::new(stream), protection: Protection(Kind::Plain) }
    }

    /// Speaks TLS with the target, and makes sure that it is the target.
    pub(crate) async fn by_tls(
        authority: &Authority,
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
    /// For tests of those who compare.
    pub(crate) const PLAIN: Self = Self(Kind::Plain);
    /// The same.
    pub(crate) const VERIFIED_TLS: Self = Self(Kind::VerifiedTls);
}
