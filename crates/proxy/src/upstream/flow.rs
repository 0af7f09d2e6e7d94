//! One direction of a tunnel: carries bytes from one socket to the other until the first ends.
//! Bytes are counted on the host's side.
//!
//! ```text
//!  wait ─┬─ little came the last time ──► copy a piece ────────────────────────────────┬─► wait
//!        └─ much came ──► borrow a pipe, splice until there is no more, give it back ──┘
//! ```
//!
//! Short messages are copied, which is the fastest way for them. Where much flows, the kernel
//! carries it past us. A tunnel that waits holds neither a buffer nor a pipe, so a thousand of them
//! cost only their sockets.

use std::io;
use std::sync::Arc;

use bytes::BufMut;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::Meter;
use super::pipes::{Borrowed, PIPE, Pipes};

/// Bytes copied at once. A full piece means that more is coming.
const PIECE: usize = 32 * 1024;

/// Which side the host is on. Bytes are counted there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    Back,
}

pub(crate) struct Flow<'a> {
    pub(crate) from: &'a TcpStream,
    pub(crate) to: &'a TcpStream,
    pub(crate) way: Way,
    pub(crate) meter: &'a Meter,
    pub(crate) pipes: &'a Arc<Pipes>,
}

impl Flow<'_> {
    /// Carries everything until there is no more. The caller tells the other side.
    pub(crate) async fn run(&mut self) -> io::Result<()> {
        let mut much = false;
        loop {
            self.from.readable().await?;
            let pipe = if much { self.pipes.borrow() } else { None };
            let moved = match pipe {
                Some(pipe) => self.splice(pipe).await?,
                None => self.copy().await?,
            };
            let Some(bytes) = moved else { return Ok(()) };
            much = bytes >= PIECE;
        }
    }

    /// Copies one piece. `None` at the end.
    async fn copy(&mut self) -> io::Result<Option<usize>> {
        let mut piece = Vec::with_capacity(PIECE);
        let mut part = (&mut piece).limit(self.may_take(PIECE));
        match self.from.try_read_buf(&mut part) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Some(0)),
            read => self.taken(read?)?,
        }
        let mut rest = &piece[..];
        while !rest.is_empty() {
            let most = self.may_give(rest.len())?;
            let written = loop {
                self.to.writable().await?;
                match self.to.try_write(&rest[..most]) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    written => break written?,
                }
            };
            self.given(written)?;
            rest = &rest[written..];
        }
        Ok(Some(piece.len()))
    }

    /// Moves bytes until there are none for the moment. `None` at the end.
    async fn splice(&mut self, mut pipe: Borrowed) -> io::Result<Option<usize>> {
        let mut moved = 0;
        loop {
            let (from, most) = (self.from, self.may_take(PIPE));
            match from.try_io(Interest::READABLE, || pipe.fill(from, most)) {
                Ok(0) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Some(moved)),
                taken => self.taken(taken?)?,
            }
            moved += pipe.held();
            while pipe.held() > 0 {
                let most = self.may_give(pipe.held())?;
                let to = self.to;
                let given = to.async_io(Interest::WRITABLE, || pipe.pour(to, most)).await?;
                self.given(given)?;
            }
        }
    }

    /// How much of `most` to take. Never zero, which would look like the end. One byte too many
    /// shows that the limit is passed.
    fn may_take(&self, most: usize) -> usize {
        match self.way {
            Way::Out => most,
            Way::Back => self.meter.left(most).max(1),
        }
    }

    /// How much of `most` to give. An error if the run has no bytes left.
    fn may_give(&self, most: usize) -> io::Result<usize> {
        match self.way {
            Way::Out => self.meter.check().map(|()| self.meter.left(most)),
            Way::Back => Ok(most),
        }
    }

    fn taken(&self, bytes: usize) -> io::Result<()> {
        if self.way == Way::Back && bytes > 0 { self.meter.received(bytes) } else { Ok(()) }
    }

    fn given(&self, bytes: usize) -> io::Result<()> {
        if self.way == Way::Out { self.meter.sent(bytes) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::NetworkVerdict;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::audit::{Asked, Audit};
    use crate::budget::Bytes;

    const MUCH: usize = 4 << 20;

    /// Bytes that differ from their neighbours, near and far.
    fn message() -> Vec<u8> {
        (0..MUCH).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect()
    }

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    struct Carried {
        seen: Vec<u8>,
        result: io::Result<()>,
        counted: (u64, u64),
    }

    /// Sends the message through one flow, which begins once more than a piece of it is there.
    async fn carry(way: Way, pipes: &Arc<Pipes>, budget: u64) -> Carried {
        let audit = Arc::new(Audit::new(2, None));
        let record = audit.open(Asked { host: "a.test".into(), port: 1, entry: None });
        let meter = Meter::new(Arc::new(Bytes::new(budget)), Arc::new(record));
        let ((mut sender, from), (to, mut receiver)) = (pair().await, pair().await);
        let sending = tokio::spawn(async move { sender.write_all(&message()).await });
        let reading = tokio::spawn(async move {
            let mut seen = Vec::new();
            let _ = receiver.read_to_end(&mut seen).await;
            seen
        });
        let mut ahead = [0; PIECE + 1];
        while from.peek(&mut ahead).await.unwrap() <= PIECE {
            tokio::task::yield_now().await;
        }
        let mut flow = Flow { from: &from, to: &to, way, meter: &meter, pipes };
        let result = flow.run().await;
        drop((from, to));
        let _ = sending.await.unwrap();
        let decision = audit.take().remove(0);
        assert_eq!(decision.verdict, NetworkVerdict::Allowed);
        Carried {
            seen: reading.await.unwrap(),
            result,
            counted: (decision.bytes_sent, decision.bytes_received),
        }
    }

    #[tokio::test]
    async fn much_is_spliced_and_arrives_as_it_was_sent() {
        for (way, counted) in [(Way::Out, (MUCH as u64, 0)), (Way::Back, (0, MUCH as u64))] {
            let pipes = Arc::new(Pipes::with_most(1));
            let carried = carry(way, &pipes, u64::MAX).await;
            carried.result.unwrap();
            assert!(carried.seen == message(), "{way:?}: {} bytes, not the same", carried.seen.len());
            assert_eq!(carried.counted, counted);
            assert_eq!(pipes.count(), (0, 1), "no pipe was in use");
        }
    }

    #[tokio::test]
    async fn with_no_pipe_left_it_is_copied() {
        for way in [Way::Out, Way::Back] {
            let pipes = Arc::new(Pipes::with_most(0));
            let carried = carry(way, &pipes, u64::MAX).await;
            carried.result.unwrap();
            assert!(carried.seen == message(), "{way:?}: {} bytes, not the same", carried.seen.len());
            assert_eq!(pipes.count(), (0, 0));
        }
    }

    #[tokio::test]
    async fn a_budget_ends_in_the_middle_of_a_splice() {
        const BUDGET: u64 = PIECE as u64 + 5000;
        for (way, counted) in [(Way::Out, (BUDGET, 0)), (Way::Back, (0, BUDGET))] {
            for most in [1, 0] {
                let pipes = Arc::new(Pipes::with_most(most));
                let carried = carry(way, &pipes, BUDGET).await;
                assert!(carried.result.is_err(), "{way:?}");
                assert!(carried.seen.len() as u64 <= BUDGET, "{way:?}: {} came through", carried.seen.len());
                assert!(message().starts_with(&carried.seen), "{way:?}");
                assert_eq!(carried.counted, counted, "not a byte more, nor less");
            }
        }
    }
}
