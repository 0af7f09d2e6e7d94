//! Checks what this process was started with, before the command does anything. If the host is at
//! its limits, the user gets an error with the reason, and no crash.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::fs::OFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::CliError;

/// Checks what this process was started with, and raises its limits as far as allowed.
pub(crate) fn check() -> Result<(), CliError> {
    belljar::engine::host::survive_file_size_limit();
    check_stdout()?;
    check_descriptors()
}

/// Checks that stdout can be written. The standard library reports success for a write to a
/// descriptor that is not open for writing.
fn check_stdout() -> Result<(), CliError> {
    let flags = rustix::fs::fcntl_getfl(io::stdout()).unwrap_or(OFlags::PATH);
    let is_writable = matches!(flags & OFlags::ACCMODE, OFlags::WRONLY | OFlags::RDWR);
    match is_writable && !flags.contains(OFlags::PATH) {
        true => Ok(()),
        false => Err(CliError::Output(io::Error::other("standard output is not open for writing"))),
    }
}

/// Tries the descriptors that the event loop needs at first. Without them the event loop panics.
fn check_descriptors() -> Result<(), CliError> {
    const PAIRS: usize = 4;
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let tried = (0..PAIRS).map(|_| UnixStream::pair()).collect::<io::Result<Vec<_>>>();
    tried.map(drop).map_err(CliError::system("start the event loop"))
}
