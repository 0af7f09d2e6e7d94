//! The far end of a connection, counted: each byte goes into the record and out of the run's budget.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::audit::Record;
use crate::listener::Cell;
use crate::wire::Stream;

/// Where the bytes of one connection are counted.
pub(crate) struct Meter {
    cell: Arc<Cell>,
    record: Arc<Record>,
}

impl Meter {
    pub(crate) fn new(cell: Arc<Cell>, record: Arc<Record>) -> Self {
        Self { cell, record }
    }

    /// How much of `most` the run has left.
    pub(crate) fn left(&self, most: usize) -> usize {
        usize::try_from(self.cell.budget.left()).map_or(most, |left| left.min(most))
    }

    /// An error when the run has no bytes left.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.cell.budget.is_spent() { self.spend(0) } else { Ok(()) }
    }

    pub(crate) fn received(&self, bytes: usize) -> io::Result<()> {
        self.record.received(bytes as u64);
        self.spend(bytes)
    }

    pub(crate) fn sent(&self, bytes: usize) -> io::Result<()> {
        self.record.sent(bytes as u64);
        self.spend(bytes)
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let more = self.cell.budget.spend(bytes as u64);
        if more { Ok(()) } else { Err(io::Error::other("the run has no bytes left")) }
    }
}

/// A stream to a host that is allowed.
pub(crate) struct Upstream<S> {
    stream: S,
    meter: Meter,
}

impl<S> Upstream<S> {
    pub(crate) fn new(stream: S, meter: Meter) -> Self {
        Self { stream, meter }
    }
}

impl<S: Stream> AsyncRead for Upstream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        let read = buf.filled().len() - before;
        if read > 0 {
            self.meter.received(read)?;
        }
        polled
    }
}

impl<S: Stream> AsyncWrite for Upstream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.meter.check()?;
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = polled {
            self.meter.sent(written)?;
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
