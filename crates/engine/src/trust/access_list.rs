//! Access control lists, which grant more than the nine bits of a mode.
//!
//! File systems keep them as extended attributes of the `system` namespace: `posix_acl_access`,
//! `nfs4_acl` and others. This module does not work out which of them lets somebody write. Anything
//! in that namespace counts as a list.

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use rustix::io::Errno;

use super::Distrust;

/// Whether a file or directory has an access control list.
pub(super) fn is_on(file: impl AsFd, path: &Path) -> Result<bool, Distrust> {
    // It goes through /proc, because a descriptor that only names a path cannot be asked itself.
    let here = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    // The kernel allows no more for all names together.
    let mut names = vec![0u8; 64 << 10];
    match rustix::fs::listxattr(&*here, &mut names[..]) {
        Ok(length) => Ok(names[..length].split(|byte| *byte == 0).any(|name| name.starts_with(b"system."))),
        // A file system without attributes has no lists either.
        Err(Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(Distrust::io("read the access list of", path)(error)),
    }
}
