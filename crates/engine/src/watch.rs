//! Descriptors that the async runtime watches.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Makes a descriptor non-blocking and has the async runtime watch it.
pub(crate) fn watch(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    watch_more(fd, interest)
}

/// Has the async runtime watch a descriptor that is non-blocking already.
#[expect(
    deprecated,
    reason = "its successor is unsafe over types that may swap their descriptor; an OwnedFd that is never lent mutably cannot"
)]
pub(crate) fn watch_more(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, interest)
}
