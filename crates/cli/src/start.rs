//! What must hold before the command does anything: a host at its own limits gets an error with its reason, not a death.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::fs::OFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::CliError;

/// Looks at what this process was started with, and takes as much as it may have.
pub(crate) fn check() -> Result<(), CliError> {
    belljar::engine::host::survive_file_size_limit();
    check_stdout()?;
    check_descriptors()
}

/// The standard library takes a write to a descriptor that is not open for writing for a success.
fn check_stdout() -> Result<(), CliError> {
    let flags = rustix::fs::fcntl_getfl(io::stdout()).unwrap_or(OFlags::PATH);
    let is_writable = matches!(flags & OFlags::ACCMODE, OFlags::WRONLY | OFlags::RDWR);
    match is_writable && !flags.contains(OFlags::PATH) {
        true => Ok(()),
        false => Err(CliError::Output(io::Error::other("standard output is not open for writing"))),
    }
}

/// The event loop panics where it cannot have the descriptors it begins with, so they are tried first.
fn check_descriptors() -> Result<(), CliError> {
    const PAIRS: usize = 4;
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let tried = (0..PAIRS).map(|_| UnixStream::pair()).collect::<io::Result<Vec<_>>>();
    tried.map(drop).map_err(CliError::system("start the event loop"))
}
