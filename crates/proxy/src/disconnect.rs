//! Notices when a guest has left.
//!
//! A guest that closes a connection and a guest that is only done sending look the same at first:
//! both end their side. The difference shows when something is sent back. A guest that has left
//! answers with a reset.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

use crate::wire::{Reader, Stream};

/// How a guest stopped sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disconnect {
    /// It sends no more, but may be waiting for an answer.
    DoneSending,
    /// It has left.
    Gone,
}

impl<S: Stream> Reader<S> {
    /// Returns when the guest has stopped sending. It reads ahead to find out, up to `most` bytes.
    /// If the guest has sent more than that, it cannot tell.
    pub(crate) async fn disconnect(&mut self, most: usize) -> Disconnect {
        while self.buffer.len() < most {
            match self.fill().await {
                Ok(0) => return Disconnect::DoneSending,
                Ok(_) => {}
                Err(_) => return Disconnect::Gone,
            }
        }
        std::future::pending().await
    }

    /// Returns when the guest has left, or has stopped sending for a moment. For answers that are
    /// not worth waiting for in that case.
    pub(crate) async fn left(&mut self, most: usize) {
        const MOMENT: Duration = Duration::from_secs(1);
        if self.disconnect(most).await == Disconnect::DoneSending {
            sleep(MOMENT).await;
        }
    }
}

/// Returns when a guest that is done sending has left. Until then it sends HTTP/1.1 interim
/// answers, which clients skip. A guest that has left answers with a reset, and then writing fails.
pub(crate) async fn gone(writer: &mut (impl AsyncWrite + Unpin)) {
    const PATIENCE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut pause = Duration::from_millis(5);
    while writer.write_all(PATIENCE).await.is_ok() && writer.flush().await.is_ok() {
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::*;
    use crate::wire::Wire;

    async fn pair() -> (TcpStream, Wire<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (guest, ours) =
            tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        (guest.unwrap(), Wire::new(ours.unwrap().0))
    }

    #[tokio::test]
    async fn who_closes_is_gone_and_who_is_done_sending_is_not() {
        let (mut guest, mut ours) = pair().await;
        guest.write_all(b"ahead").await.unwrap();
        guest.shutdown().await.unwrap();
        assert_eq!(ours.reader.disconnect(1000).await, Disconnect::DoneSending);
        assert_eq!(&ours.reader.buffer[..], b"ahead", "what was read ahead is kept");
        assert!(timeout(Duration::from_millis(50), gone(&mut ours.writer)).await.is_err());
        guest.read_exact(&mut [0; 25]).await.unwrap();
        drop(guest);
        let began = Instant::now();
        timeout(Duration::from_secs(60), gone(&mut ours.writer)).await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[tokio::test]
    async fn of_a_guest_far_ahead_nothing_is_known_and_no_more_is_read() {
        let (mut guest, mut ours) = pair().await;
        guest.write_all(&[b'x'; 10_000]).await.unwrap();
        drop(guest);
        assert!(timeout(Duration::from_millis(50), ours.reader.disconnect(5000)).await.is_err());
        assert!(ours.reader.buffer.len() < 10_000);
    }
}
