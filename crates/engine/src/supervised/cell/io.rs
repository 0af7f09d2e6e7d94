//! What goes in and comes out, by way of the supervisor.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::{ANSWER_WITHIN, State, StdinWindow, SupervisedCell};
use crate::cell::{CellIo, Leftovers, Output};
use crate::engine::BoxFuture;
use crate::supervised::{Container, Introduction, SupervisorStream, message};
use crate::timeout;

impl<C: Container, S: SupervisorStream> CellIo for SupervisedCell<C, S> {
    /// Introduces the supervisor to a proxy that took the place of the one it knew.
    fn begin(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.is_untouched = false;
            let Some(egress) = self.container.egress() else { return Ok(()) };
            match egress.renew().await {
                Ok(None) => {}
                Ok(Some(Introduction { socket, authority })) => {
                    self.outbox.push(message::egress(&socket, authority.as_deref()).into());
                }
                Err(error) => {
                    // Nobody is let out, which the script will see.
                    let container = self.container.name();
                    tracing::warn!(%container, %error, "a container has no egress");
                }
            }
            Ok(())
        })
    }

    /// Streams to a daemon stay where they were made, in the background.
    fn come_here(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn send(&mut self, bytes: Bytes) {
        self.outbox.push(message::input(bytes.len()).into());
        self.outbox.push(bytes);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { outbox, stream, is_unflushed, .. } = self;
        ready!(outbox.poll_write(cx, |cx, bytes| {
            *is_unflushed = true;
            stream.poll_write(cx, bytes)
        }))?;
        if *is_unflushed {
            ready!(stream.poll_flush(cx))?;
            *is_unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    fn open_stdin(&mut self) -> io::Result<()> {
        self.stdin = StdinWindow::default();
        self.outbox.push(Bytes::from_static(message::STDIN));
        Ok(())
    }

    /// The supervisor keeps what the guest has not read. So there must not be much of it.
    fn poll_stdin(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        const MOST: usize = 64 << 10;
        while !bytes.is_empty() {
            let room = MOST - self.stdin.sent.min(MOST);
            if room == 0 {
                self.stdin.waiting = Some(cx.waker().clone());
                return Poll::Pending;
            }
            let piece = bytes.split_to(room.min(bytes.len()));
            self.stdin.sent += piece.len();
            self.outbox.push(message::stdin_data(piece.len()).into());
            self.outbox.push(piece);
        }
        Poll::Ready(Ok(()))
    }

    fn close_stdin(&mut self) {
        self.outbox.push(Bytes::from_static(message::STDIN_END));
    }

    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output> {
        if self.state != State::Alive && self.kept.is_empty() {
            return Poll::Ready(Output::Closed);
        }
        loop {
            if let Some(output) = ready!(self.poll_next(cx)) {
                return Poll::Ready(output);
            }
        }
    }

    fn take_leftovers(&mut self) -> BoxFuture<'_, Leftovers> {
        Box::pin(async move {
            let mut said = Leftovers::default();
            if self.state == State::Alive && timeout(ANSWER_WITHIN, self.settle(&mut said)).await.is_err() {
                let container = self.container.name();
                tracing::warn!(%container, "a container does not answer and is given up");
                self.state = State::Lost;
            }
            said
        })
    }
}
