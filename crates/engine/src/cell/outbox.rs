//! Bytes on their way to a guest.

use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};

/// A queue of bytes that is written as fast as the guest reads.
#[derive(Debug, Default)]
pub struct Outbox {
    pieces: VecDeque<Bytes>,
}

impl Outbox {
    /// Puts bytes at the end.
    pub fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.pieces.push_back(bytes);
        }
    }

    /// Writes what it can with `write`, which takes some bytes and tells how many it wrote. Ready
    /// when the queue is empty. After a failure the queue is emptied: nobody will read the rest.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&mut Context<'_>, &[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        while let Some(piece) = self.pieces.front_mut() {
            match ready!(write(cx, piece)) {
                Ok(written) => piece.advance(written),
                Err(error) => {
                    self.pieces.clear();
                    return Poll::Ready(Err(error));
                }
            }
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn pieces_are_written_in_order_however_few_bytes_are_taken_at_once() {
        let mut outbox = Outbox::default();
        for piece in ["ab", "", "cde", "f"] {
            outbox.push(Bytes::from_static(piece.as_bytes()));
        }
        let mut cx = Context::from_waker(Waker::noop());
        let (mut written, mut turn) = (Vec::new(), 0);
        for _ in 0..100 {
            let poll = outbox.poll_write(&mut cx, |_, bytes| {
                turn += 1;
                if turn % 3 == 0 {
                    return Poll::Pending;
                }
                written.push(bytes[0]);
                Poll::Ready(Ok(1))
            });
            if poll.is_ready() {
                break;
            }
        }
        assert_eq!(written, b"abcdef");
    }

    #[test]
    fn after_a_failure_nothing_is_left_to_write() {
        let mut outbox = Outbox::default();
        outbox.push(Bytes::from_static(b"lost"));
        let mut cx = Context::from_waker(Waker::noop());
        let failed = outbox.poll_write(&mut cx, |_, _| Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())));
        assert!(matches!(failed, Poll::Ready(Err(_))));
        let again = outbox.poll_write(&mut cx, |_, _| panic!("there is nothing to write"));
        assert!(matches!(again, Poll::Ready(Ok(()))));
    }
}
