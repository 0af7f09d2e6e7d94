//! What a script reads: from wherever it comes, as fast as the script takes it.

use std::task::{Context, Poll, ready};

use belljar_core::Stdin;
use belljar_engine::Cell;
use bytes::Bytes;

/// A script's input on its way.
pub(crate) struct Input {
    source: Stdin,
    state: State,
    /// What was taken from the source and is not written.
    piece: Bytes,
    /// Why the source ended early.
    pub(crate) failure: Option<String>,
}

#[derive(PartialEq, Eq)]
enum State {
    /// The guest has not asked.
    Waiting,
    Open,
    /// Everything is written, or nothing more can be.
    Closed,
}

impl Input {
    pub(crate) fn of(source: &Stdin) -> Self {
        let source = source.clone();
        Self { source, state: State::Waiting, piece: Bytes::new(), failure: None }
    }

    /// The guest asks for it. It is given once, if there is anything to give.
    pub(crate) fn open(&mut self, cell: &mut dyn Cell) {
        if self.state == State::Waiting && !self.source.is_empty() {
            self.state = match cell.open_stdin() {
                Ok(()) => State::Open,
                Err(error) => {
                    self.failure = Some(error.to_string());
                    State::Closed
                }
            };
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Writes what there is. Whoever polls this is woken when there is more, or room for it.
    pub(crate) fn poll(&mut self, cell: &mut dyn Cell, cx: &mut Context<'_>) {
        // A source that is always ready must not keep whoever polls from its deadlines.
        const ROUNDS: usize = 32;
        for round in 0.. {
            if self.state != State::Open {
                return;
            }
            if round == ROUNDS {
                cx.waker().wake_by_ref();
                return;
            }
            let written = match self.piece.is_empty() {
                true => Poll::Ready(Ok(())),
                false => cell.poll_stdin(cx, &mut self.piece),
            };
            match written {
                Poll::Pending => return,
                Poll::Ready(Ok(())) => match self.poll_source(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Some(piece)) => self.piece = piece,
                    Poll::Ready(None) => {
                        cell.close_stdin();
                        self.state = State::Closed;
                    }
                },
                Poll::Ready(Err(_)) => self.state = State::Closed,
            }
        }
    }

    fn poll_source(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.source {
            Stdin::Bytes(bytes) if !bytes.is_empty() => Poll::Ready(Some(std::mem::take(bytes))),
            Stdin::Stream(stream) => match ready!(stream.poll_next(cx)) {
                Some(Ok(piece)) => Poll::Ready(Some(piece)),
                Some(Err(error)) => {
                    self.failure = Some(error.to_string());
                    Poll::Ready(None)
                }
                None => Poll::Ready(None),
            },
            _ => Poll::Ready(None),
        }
    }
}
