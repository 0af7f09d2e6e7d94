//! Stops an installation that nobody waits for any more.
//!
//! ```text
//!  whoever waits: Stopper ──dropped──► a byte in a pipe ──► Stop: the thread that installs
//! ```
//!
//! The thread looks at the pipe wherever it waits: for another maker's lock, for the installer's
//! output, and for the installer's end. It alone knows the installer's process number, so nobody
//! can signal a number that belongs to another process by now.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

/// Says that an installation should stop, once it is dropped.
#[derive(Debug)]
pub struct Stopper(PipeWriter);

impl Drop for Stopper {
    fn drop(&mut self) {
        // A closed pipe would do, but for a host that has forked: its copy keeps the pipe open.
        let _ = self.0.write_all(b"x");
    }
}

/// Whether an installation should stop.
#[derive(Debug)]
pub struct Stop(Option<PipeReader>);

impl Stop {
    /// A pair: dropping the first sets the second.
    pub fn pair() -> io::Result<(Stopper, Self)> {
        let (reader, writer) = io::pipe()?;
        Ok((Stopper(writer), Self(Some(reader))))
    }

    /// Never set.
    pub fn never() -> Self {
        Self(None)
    }

    /// Waits until it is set, but no longer than `limit`. Whether it is set.
    pub(super) fn within(&self, limit: Duration) -> io::Result<bool> {
        let Some(stop) = &self.0 else {
            std::thread::sleep(limit);
            return Ok(false);
        };
        let limit = Timespec::try_from(limit).ok();
        let mut fds = [PollFd::new(stop, PollFlags::IN)];
        // A signal to the host cuts a wait short, so the callers ask again.
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!fds[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until `source` has something to read, or is at its end. Whether it stopped before.
    pub(super) fn before_readable(&self, source: BorrowedFd<'_>) -> io::Result<bool> {
        let Some(stop) = &self.0 else { return Ok(false) };
        let mut fds = [PollFd::new(stop, PollFlags::IN), PollFd::from_borrowed_fd(source, PollFlags::IN)];
        retry_on_intr(|| poll(&mut fds, None))?;
        Ok(!fds[0].revents().is_empty())
    }
}

/// Reads until the end, or until it should stop, which looks like the end.
pub(super) struct UntilStopped<'a, R>(pub(super) R, pub(super) &'a Stop);

impl<R: io::Read + AsFd> io::Read for UntilStopped<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.1.before_readable(self.0.as_fd())? {
            true => Ok(0),
            false => self.0.read(buffer),
        }
    }
}
