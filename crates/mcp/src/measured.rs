//! How long the messages of a server are that is a process of ours.
//!
//! The library throws away what is too long, and goes on with what comes after it. Whoever waits
//! for that message would wait in vain, so this tells them. Whose answer it was nobody knows: its
//! number may be at its end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// Bytes of one message of a server's.
pub(crate) const LONGEST_MESSAGE: usize = 32 << 20;
/// Bytes of a message that is thrown away. A server that goes on is not listened to any more.
const MOST_THROWN_AWAY: usize = 128 << 20;

/// What a server writes, a line for each message.
pub(crate) struct Measured<R> {
    from: R,
    /// Bytes of this line so far.
    length: usize,
    longest: usize,
    most_thrown_away: usize,
    tell: watch::Sender<Seen>,
}

#[derive(Default)]
struct Seen {
    /// How many messages were too long.
    too_long: u64,
    /// Whether one of them did not end.
    is_given_up: bool,
}

/// Knows when a message was too long.
pub(crate) struct Lengths(watch::Receiver<Seen>);

/// A message was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sent a message longer than {LONGEST_MESSAGE} bytes")]
pub(crate) struct TooLong;

impl<R> Measured<R> {
    pub(crate) fn new(from: R) -> (Self, Lengths) {
        Self::with_limits(from, LONGEST_MESSAGE, MOST_THROWN_AWAY)
    }

    fn with_limits(from: R, longest: usize, most_thrown_away: usize) -> (Self, Lengths) {
        let (tell, seen) = watch::channel(Seen::default());
        (Self { from, length: 0, longest, most_thrown_away, tell }, Lengths(seen))
    }

    fn measure(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let was_too_long = self.length > self.longest;
            self.length += line.len();
            if self.length > self.longest && !was_too_long {
                self.tell.send_modify(|seen| seen.too_long += 1);
            }
            if line.ends_with(b"\n") {
                self.length = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Measured<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.length > self.most_thrown_away {
            self.tell.send_modify(|seen| seen.is_given_up = true);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.from).poll_read(context, buffer))?;
        self.measure(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl Lengths {
    /// Does the work, but not beyond a message that is too long.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> Result<T, TooLong> {
        let mut seen = self.0.clone();
        let before = seen.borrow_and_update().too_long;
        let too_long = async {
            // If nobody reads any more, the work ends by itself.
            if seen.wait_for(|seen| seen.too_long > before).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = too_long => Err(TooLong),
        }
    }

    /// The same for work that reads the messages itself. It may be done before a long one is told.
    pub(crate) async fn during_handshake<T>(&self, work: impl Future<Output = T>) -> Result<T, TooLong> {
        let done = self.during(work).await?;
        if self.0.borrow().too_long == 0 { Ok(done) } else { Err(TooLong) }
    }

    /// Whether the server is not listened to any more.
    pub(crate) fn is_given_up(&self) -> bool {
        self.0.borrow().is_given_up
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_long_message_ends_what_waits_and_nothing_later() {
        let (mut server, ours) = tokio::io::duplex(100);
        let (mut measured, lengths) = Measured::with_limits(ours, 10, 100);
        let mut buffer = [0; 100];
        server.write_all(b"123456789\n123456789\n12345678901\n1234").await.unwrap();
        let reading = async {
            let _ = measured.read(&mut buffer).await;
            pending::<()>().await;
        };
        assert_eq!(lengths.during(reading).await, Err(TooLong));
        let later = lengths.during(async { "done" }).await;
        assert_eq!((later, lengths.is_given_up()), (Ok("done"), false));
        server.write_all(b"56789\n").await.unwrap();
        let waiting = lengths.during(async {
            let _ = measured.read(&mut buffer).await;
            tokio::task::yield_now().await;
            "short enough"
        });
        assert_eq!(waiting.await, Ok("short enough"));
    }

    #[tokio::test]
    async fn a_message_without_an_end_is_given_up() {
        let (mut measured, lengths) = Measured::with_limits(tokio::io::repeat(b'x'), 10, 10_000);
        let mut read = Vec::new();
        measured.read_to_end(&mut read).await.unwrap();
        assert!(read.len() > 10_000 && lengths.is_given_up());
    }
}
