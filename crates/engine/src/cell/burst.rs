//! Reading from a cell's descriptors, and putting together what belongs together.

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use rustix::io::retry_on_intr;
use tokio::io::unix::AsyncFd;

use super::Burst;

/// How much is read at once.
const READ_SIZE: usize = 64 * 1024;

/// A burst in the making.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) channel: Piece,
    pub(super) stdout: Piece,
    pub(super) stderr: Piece,
    /// How much of stdout and stderr there was when the channel was last found empty. Every frame
    /// that belongs before that is here.
    in_order: [usize; 2],
}

#[derive(Default)]
pub(super) struct Piece(pub(super) Bytes);

impl Piece {
    /// Appends what was read; whether that was the end of the stream.
    pub(super) fn take(&mut self, read: Read) -> bool {
        match read {
            Read::Some(bytes) if self.0.is_empty() => self.0 = bytes,
            Read::Some(bytes) => self.0 = [&self.0[..], &bytes[..]].concat().into(),
            Read::Nothing => {}
            Read::End => return true,
        }
        false
    }
}

impl Gathered {
    pub(super) fn is_empty(&self) -> bool {
        self.channel.0.is_empty() && self.printed() == 0
    }

    pub(super) fn printed(&self) -> usize {
        self.stdout.0.len() + self.stderr.0.len()
    }

    /// The channel was read after everything that is printed here, and nothing is left in it.
    pub(super) fn channel_is_empty(&mut self) {
        self.in_order = [self.stdout.0.len(), self.stderr.0.len()];
    }
}

impl From<Gathered> for Burst {
    fn from(gathered: Gathered) -> Self {
        let Gathered { channel, stdout, stderr, in_order: [first, second] } = gathered;
        let ahead = [stdout.0.len() - first, stderr.0.len() - second];
        Self { channel: channel.0, stdout: stdout.0, stderr: stderr.0, ahead }
    }
}

pub(super) enum Read {
    Some(Bytes),
    End,
    Nothing,
}

impl From<Poll<Option<Bytes>>> for Read {
    fn from(poll: Poll<Option<Bytes>>) -> Self {
        match poll {
            Poll::Ready(Some(bytes)) => Self::Some(bytes),
            Poll::Ready(None) => Self::End,
            Poll::Pending => Self::Nothing,
        }
    }
}

thread_local! {
    /// Where bytes land before they are copied to a place of their own size. A buffer for each cell
    /// would be most of what a cell costs the host.
    static LANDING: RefCell<Box<[u8; READ_SIZE]>> = RefCell::new(Box::new([0; READ_SIZE]));
}

pub(super) fn read_now(fd: &AsyncFd<OwnedFd>) -> Read {
    let read = |landing: &mut [u8]| retry_on_intr(|| rustix::io::read(fd.as_fd(), &mut *landing));
    LANDING.with_borrow_mut(|landing| match read(&mut landing[..]) {
        Ok(0) => Read::End,
        Ok(read) => Read::Some(Bytes::copy_from_slice(&landing[..read])),
        Err(rustix::io::Errno::AGAIN) => Read::Nothing,
        Err(_) => Read::End,
    })
}

/// `None` at the end of the stream, however it came about.
pub(super) fn poll_read(fd: &AsyncFd<OwnedFd>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
    loop {
        let Ok(mut guard) = ready!(fd.poll_read_ready(cx)) else { return Poll::Ready(None) };
        match read_now(fd) {
            Read::Some(bytes) => return Poll::Ready(Some(bytes)),
            Read::End => return Poll::Ready(None),
            Read::Nothing => guard.clear_ready(),
        }
    }
}
