//! Talking to a guest, in both directions at once.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::engine::BoxFuture;

/// The private channel and the two pipes a guest prints to.
///
/// Neither direction waits for the other. A guest may fill its pipes before it reads what it was
/// sent, so whoever has sent something must go on reading while it is on its way.
pub trait CellIo {
    /// Prepares the cell for one request. Called before each request is sent.
    fn begin(&mut self) -> BoxFuture<'_, io::Result<()>>;

    /// Has everything that this waits for watched by the tokio runtime of whoever calls it. Called
    /// before each poll: a run may be polled on one runtime and then on another.
    fn come_here(&mut self) -> io::Result<()>;

    /// Queues bytes for the private channel. The caller bounds how much it queues, by waiting for
    /// [`Self::poll_flush`] before it sends more.
    fn send(&mut self, bytes: Bytes);

    /// Writes what is queued. Ready when nothing is left, or when the guest takes no more.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Hands the guest a new descriptor to read from, after everything that is queued. It asked for
    /// it with a `stdin` frame.
    fn open_stdin(&mut self) -> io::Result<()>;

    /// Writes to that descriptor, as fast as the script reads. Takes what it wrote from `bytes`.
    /// Ready when nothing is left.
    fn poll_stdin(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>>;

    /// Nothing more will be written to that descriptor.
    fn close_stdin(&mut self);

    /// The next thing the guest wrote.
    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output>;

    /// Takes what the guest printed since it was last read, between two requests. It belongs to
    /// neither of them. Does not wait for more.
    fn take_leftovers(&mut self) -> BoxFuture<'_, Leftovers>;
}

/// What comes out of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Something is in it, unless the burst before had something [`ahead`](Burst::ahead).
    Burst(Burst),
    /// Nothing more will come: the guest has closed everything, or is gone.
    Closed,
}

/// What could be read at one moment.
///
/// Everything the guest had printed before it wrote the last byte of `channel` is in this burst or
/// in an earlier one. And every frame it had sent before it printed the last byte is, except for
/// those that are [`ahead`](Self::ahead).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Burst {
    /// From the private channel.
    pub channel: Bytes,
    /// From descriptor 1.
    pub stdout: Bytes,
    /// From descriptor 2.
    pub stderr: Bytes,
    /// How many of the last bytes of stdout and stderr may have been printed after a frame that is
    /// not here. A guest that writes without pause is always ahead of whoever reads. The next burst
    /// follows at once, and it may be empty: then there was no such frame.
    pub ahead: [usize; 2],
}

/// What a cell printed between two requests. Frames are not kept: their seal is of a request that
/// is over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// To descriptor 1.
    pub stdout: Vec<u8>,
    /// To descriptor 2.
    pub stderr: Vec<u8>,
    /// Bytes taken, frames included.
    taken: usize,
}

impl Leftovers {
    /// More than the kernel holds back while nobody reads. A guest that goes on talking is not
    /// waited for.
    const PLENTY: usize = 4 << 20;

    /// Adds what was read.
    pub fn add(&mut self, burst: &Burst) {
        self.taken += burst.channel.len() + burst.stdout.len() + burst.stderr.len();
        self.stdout.extend_from_slice(&burst.stdout);
        self.stderr.extend_from_slice(&burst.stderr);
    }

    /// Adds what was read later.
    pub fn append(&mut self, mut later: Self) {
        self.taken += later.taken;
        self.stdout.append(&mut later.stdout);
        self.stderr.append(&mut later.stderr);
    }

    /// Whether so much was taken that reading on would be listening to a guest that does not stop.
    pub fn is_plenty(&self) -> bool {
        self.taken >= Self::PLENTY
    }
}
