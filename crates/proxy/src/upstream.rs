//! The far end of a connection, counted: each byte goes into the record and out of the run's budget.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::audit::Record;
use crate::listener::Cell;
use crate::wire::Stream;

/// A stream to a host that is allowed.
pub(crate) struct Upstream<S> {
    stream: S,
    cell: Arc<Cell>,
    record: Arc<Record>,
}

impl<S> Upstream<S> {
    pub(crate) fn new(stream: S, cell: Arc<Cell>, record: Arc<Record>) -> Self {
        Self { stream, cell, record }
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let more = self.cell.budget.spend(bytes as u64);
        if more { Ok(()) } else { Err(io::Error::other("the run has no bytes left")) }
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
            self.record.received(read as u64);
            self.spend(read)?;
        }
        polled
    }
}

impl<S: Stream> AsyncWrite for Upstream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.cell.budget.is_spent() {
            return Poll::Ready(self.spend(0).map(|()| 0));
        }
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = polled {
            self.record.sent(written as u64);
            self.spend(written)?;
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
