//! The guest's end of a connection: a stream, and the bytes that were read from it but not used
//! yet.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf};
use tokio::time::timeout;

/// Anything with a guest at the other end: a socket, or TLS on one.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The two directions apart, so that a request's body can still come in while the answer goes out.
pub(crate) struct Wire<S> {
    pub(crate) reader: Reader<S>,
    pub(crate) writer: WriteHalf<S>,
}

pub(crate) struct Reader<S> {
    half: ReadHalf<S>,
    /// Bytes that were read but not used yet. Whoever fills the buffer limits its size.
    pub(crate) buffer: BytesMut,
}

impl<S: Stream> Wire<S> {
    pub(crate) fn new(stream: S) -> Self {
        let (half, writer) = tokio::io::split(stream);
        Self { reader: Reader { half, buffer: BytesMut::new() }, writer }
    }

    /// Sends the last bytes and lets the guest read them. Closing a socket with unread input would
    /// reset the connection, and the answer would be lost.
    pub(crate) async fn hang_up(mut self, last_words: &[u8]) {
        const MOST: usize = 256 * 1024;
        let _ = timeout(Duration::from_secs(1), async {
            self.writer.write_all(last_words).await?;
            self.writer.shutdown().await?;
            let mut dropped = 0;
            while dropped < MOST {
                self.reader.buffer.clear();
                match self.reader.fill().await? {
                    0 => break,
                    count => dropped += count,
                }
            }
            io::Result::Ok(())
        })
        .await;
    }

    /// The stream in one piece again, starting with what was already read.
    pub(crate) fn rejoin(self) -> Rejoined<S> {
        Rejoined { front: self.reader.buffer, stream: self.reader.half.unsplit(self.writer) }
    }
}

impl<S: Stream> Reader<S> {
    /// Reads some more. Returns 0 at the end.
    pub(crate) async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.reserve(4096);
        // Read no more than was asked for, however large the buffer has grown.
        let mut part = (&mut self.buffer).limit(4096);
        self.half.read_buf(&mut part).await
    }

    /// Reads until the buffer holds that many bytes.
    pub(crate) async fn fill_to(&mut self, count: usize) -> io::Result<()> {
        while self.buffer.len() < count {
            if self.fill().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

/// A stream whose first bytes were already read.
pub(crate) struct Rejoined<S> {
    front: BytesMut,
    stream: S,
}

impl<S> Rejoined<S> {
    /// The bytes that were read and not used, and the stream they came from.
    pub(crate) fn into_parts(self) -> (BytesMut, S) {
        (self.front, self.stream)
    }
}

impl<S: Stream> AsyncRead for Rejoined<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.front.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let count = self.front.len().min(buf.remaining());
        buf.put_slice(&self.front[..count]);
        self.front.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: Stream> AsyncWrite for Rejoined<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
