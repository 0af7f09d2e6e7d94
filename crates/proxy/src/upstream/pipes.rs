//! Pipes through which the kernel moves bytes from one socket to another without showing them to
//! us.
//!
//! `splice` goes from a socket into a pipe, and from the pipe into another socket. Pages change
//! hands and nothing is copied. Each pipe costs two descriptors and pins up to [`PIPE`] bytes, so
//! there are few. A tunnel borrows one while it has much to carry, and copies if none is left.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::retry_on_intr;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use crate::budget::{Claim, Descriptors, Share};

/// Bytes moved at once. More would leave the processor's cache before the other side reads them.
pub(crate) const PIPE: usize = 256 * 1024;

/// Pipes of one template in use at the same time: 128 descriptors and 16 MiB, whatever its cells
/// do.
const IN_USE: usize = 64;

/// Pipes of one template that are kept for later use.
const IDLE: usize = 4;

/// The pipes of one template.
#[derive(Debug)]
pub(crate) struct Pipes {
    stock: Mutex<Stock>,
    descriptors: Share,
}

#[derive(Debug)]
struct Stock {
    idle: Vec<Pipe>,
    in_use: usize,
    most: usize,
}

impl Pipes {
    /// Empty if a write to a closed socket would end the process. `splice`, unlike `send`, has no
    /// flag against that.
    pub(crate) fn new() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self::with_most(if survives_sigpipe(&status) { IN_USE } else { 0 })
    }

    pub(crate) fn with_most(most: usize) -> Self {
        let stock = Mutex::new(Stock { idle: Vec::new(), in_use: 0, most });
        Self { stock, descriptors: Descriptors::of_this_process().share(0) }
    }

    /// Borrows an empty pipe, if one is left. It goes back when dropped.
    pub(crate) fn borrow(self: &Arc<Self>) -> Option<Borrowed> {
        let mut stock = self.stock();
        if stock.in_use >= stock.most {
            return None;
        }
        // Running out of descriptors is no failure here, because the caller can copy.
        let pipe = stock.idle.pop().or_else(|| Pipe::new(self.descriptors.try_claim(2)?).ok())?;
        stock.in_use += 1;
        Some(Borrowed { pipe: Some(pipe), pipes: self.clone() })
    }

    fn take_back(&self, pipe: Option<Pipe>) {
        let mut stock = self.stock();
        stock.in_use -= 1;
        // A pipe that still holds bytes holds them for a connection that is gone.
        let pipe = pipe.filter(|pipe| pipe.held == 0);
        if stock.idle.len() < IDLE {
            stock.idle.extend(pipe);
        }
    }

    /// How many are in use, and how many are kept.
    #[cfg(test)]
    pub(crate) fn count(&self) -> (usize, usize) {
        let stock = self.stock();
        (stock.in_use, stock.idle.len())
    }

    fn stock(&self) -> std::sync::MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this process ignores SIGPIPE, as Rust and Python programs do.
fn survives_sigpipe(status: &str) -> bool {
    const SIGPIPE: u32 = 13;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (SIGPIPE - 1) & 1 == 1)
}

/// A borrowed pipe.
#[derive(Debug)]
pub(crate) struct Borrowed {
    /// Present until dropped.
    pipe: Option<Pipe>,
    pipes: Arc<Pipes>,
}

impl Borrowed {
    /// Takes up to `most` bytes from a socket. Returns 0 at its end. Only for an empty pipe: a full
    /// one would look like a socket that has nothing yet.
    pub(crate) fn fill(&mut self, socket: impl AsFd, most: usize) -> io::Result<usize> {
        let pipe = self.pipe_mut();
        debug_assert_eq!(pipe.held, 0, "filled before it was emptied");
        let moved = retry_on_intr(|| splice(&socket, None, &pipe.write, None, most.min(PIPE), FLAGS))?;
        pipe.held += moved;
        Ok(moved)
    }

    /// Gives up to `most` of its bytes to a socket.
    pub(crate) fn pour(&mut self, socket: impl AsFd, most: usize) -> io::Result<usize> {
        let pipe = self.pipe_mut();
        let most = most.min(pipe.held);
        let moved = retry_on_intr(|| splice(&pipe.read, None, &socket, None, most, FLAGS))?;
        pipe.held -= moved;
        if moved == 0 && most > 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(moved) }
    }

    /// How many bytes are in it.
    pub(crate) fn held(&self) -> usize {
        self.pipe.as_ref().map_or(0, |pipe| pipe.held)
    }

    fn pipe_mut(&mut self) -> &mut Pipe {
        self.pipe.as_mut().expect("it is taken out in drop only")
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.pipes.take_back(self.pipe.take());
    }
}

const FLAGS: SpliceFlags = SpliceFlags::NONBLOCK.union(SpliceFlags::MOVE);

#[derive(Debug)]
struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    held: usize,
    _descriptors: Claim,
}

impl Pipe {
    fn new(descriptors: Claim) -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Each user has a quota of pipe memory. Beyond it a pipe stays smaller, and still works.
        let _ = fcntl_setpipe_size(&write, PIPE);
        Ok(Self { read, write, held: 0, _descriptors: descriptors })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_pipe_carries_bytes_from_one_socket_to_another() {
        let pipes = Arc::new(Pipes::with_most(1));
        let ((mut a, b), (c, mut d)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        a.write_all(b"hello").unwrap();
        let mut pipe = pipes.borrow().unwrap();
        assert_eq!((pipe.fill(&b, 100).unwrap(), pipe.held()), (5, 5));
        assert_eq!((pipe.pour(&c, 3).unwrap(), pipe.pour(&c, 100).unwrap(), pipe.held()), (3, 2, 0));
        let mut seen = [0; 5];
        d.read_exact(&mut seen).unwrap();
        assert_eq!(&seen, b"hello");
        b.set_nonblocking(true).unwrap();
        assert_eq!(pipe.fill(&b, 100).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(a);
        assert_eq!(pipe.fill(&b, 100).unwrap(), 0);
    }

    #[test]
    fn there_are_so_many_and_one_that_is_not_empty_is_nobodys_again() {
        let pipes = Arc::new(Pipes::with_most(2));
        let (mut a, b) = UnixStream::pair().unwrap();
        a.write_all(b"somebody's").unwrap();
        let (mut first, second) = (pipes.borrow().unwrap(), pipes.borrow().unwrap());
        assert!(pipes.borrow().is_none());
        first.fill(&b, 4).unwrap();
        drop(first);
        assert_eq!(pipes.count(), (1, 0), "it held something");
        drop(second);
        assert_eq!(pipes.count(), (0, 1));
        let many: Vec<_> = std::iter::from_fn(|| pipes.borrow()).collect();
        assert_eq!((many.len(), many.iter().map(Borrowed::held).sum::<usize>()), (2, 0));
    }

    #[test]
    fn nobody_splices_where_a_closed_socket_would_end_the_process() {
        assert!(survives_sigpipe("SigBlk:\t0\nSigIgn:\t0000000000001000\nSigCgt:\t0\n"));
        assert!(!survives_sigpipe("SigIgn:\t0000000000000800\nSigCgt:\t0000000000001000\n"));
        assert!(!survives_sigpipe("") && !survives_sigpipe("SigIgn:\tx"));
        assert!(Arc::new(Pipes::with_most(0)).borrow().is_none());
    }
}
