//! Counts a connection on the host's side. Each byte goes into a record and out of the run's
//! budget.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::audit::Record;
use crate::budget::Bytes;
use crate::wire::Stream;

/// Where the bytes of one tunnel are counted.
pub(crate) struct Meter {
    bytes: Arc<Bytes>,
    record: Arc<Record>,
}

impl Meter {
    pub(crate) fn new(bytes: Arc<Bytes>, record: Arc<Record>) -> Self {
        Self { bytes, record }
    }

    /// How much of `most` the run has left.
    pub(crate) fn left(&self, most: usize) -> usize {
        usize::try_from(self.bytes.left()).map_or(most, |left| left.min(most))
    }

    /// Returns an error if the run has no bytes left.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.bytes.is_spent() { Err(spent()) } else { Ok(()) }
    }

    pub(crate) fn received(&self, bytes: usize) -> io::Result<()> {
        self.record.received(bytes as u64);
        spend(&self.bytes, bytes)
    }

    pub(crate) fn sent(&self, bytes: usize) -> io::Result<()> {
        self.record.sent(bytes as u64);
        spend(&self.bytes, bytes)
    }
}

fn spend(budget: &Bytes, bytes: usize) -> io::Result<()> {
    if budget.spend(bytes as u64) { Ok(()) } else { Err(spent()) }
}

fn spent() -> io::Error {
    io::Error::other("the run has no bytes left")
}

/// Where bytes are counted on a connection that serves one request after another.
pub(super) struct Account {
    bytes: Arc<Bytes>,
    record: Mutex<Option<Arc<Record>>>,
}

impl Account {
    pub(super) fn new(bytes: Arc<Bytes>) -> Self {
        Self { bytes, record: Mutex::new(None) }
    }

    pub(super) fn set(&self, record: Option<Arc<Record>>) {
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = record;
    }

    fn note(&self, note: impl FnOnce(&Record)) {
        if let Some(record) = &*self.record.lock().unwrap_or_else(PoisonError::into_inner) {
            note(record);
        }
    }
}

/// A stream to a host that counts its bytes.
pub(crate) struct Counted<S> {
    stream: S,
    account: Arc<Account>,
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S, account: Arc<Account>) -> Self {
        Self { stream, account }
    }
}

impl<S: Stream> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        let read = buf.filled().len() - before;
        if read > 0 {
            self.account.note(|record| record.received(read as u64));
            spend(&self.account.bytes, read)?;
        }
        polled
    }
}

impl<S: Stream> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.account.bytes.is_spent() {
            return Poll::Ready(Err(spent()));
        }
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = polled {
            self.account.note(|record| record.sent(written as u64));
            spend(&self.account.bytes, written)?;
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
