//! What waits between a program and the reader of stdout.
//!
//! The program's side must never block, because its deadlines are served by the same task. So it
//! only adds to a queue. If a mebibyte waits there, the program is not read from until some of it
//! is printed.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use belljar::OutputStream;
use belljar::program::ProgramSink;
use tokio::sync::oneshot;

use super::terminal::Keeper;
use super::terminal::keeper::Told;
use crate::error::CliError;
use crate::printer::Printer;

/// How much may wait.
const ROOM: usize = 1 << 20;

/// Takes what was printed, on a thread that may block.
pub(crate) trait Reader: Send + 'static {
    /// Takes some of it.
    fn read(&mut self, stream: OutputStream, bytes: &[u8]) -> io::Result<()>;
}

/// Prints it: byte for byte, or on a terminal as text that cannot control it.
pub(crate) struct Shown {
    printer: Printer,
    /// The beginning of a character, for each stream.
    held: [Vec<u8>; 2],
}

/// Prints it byte for byte, to the user's own terminal. Whoever keeps that learns what is changed.
pub(crate) struct Raw {
    keeper: Told,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<(OutputStream, Vec<u8>)>,
    waiting: usize,
    /// Who to tell that there is room.
    waker: Option<Waker>,
    /// Nothing more comes.
    is_closed: bool,
    /// Nobody reads any more.
    is_abandoned: bool,
}

/// The program's side.
pub(crate) struct Sink(Arc<Queue>);

/// The end of the printing.
pub(crate) struct Printed(Option<oneshot::Receiver<io::Result<()>>>);

/// A queue and the thread that empties it. Without a reader, what is printed is dropped.
pub(crate) fn output(reader: Option<impl Reader>) -> Result<(Sink, Printed), CliError> {
    let queue = Arc::new(Queue::default());
    let Some(mut reader) = reader else {
        queue.lock().is_abandoned = true;
        return Ok((Sink(queue), Printed(None)));
    };
    let (done, printed) = oneshot::channel();
    let emptied = Arc::clone(&queue);
    let print = move || {
        let outcome = emptied.empty_into(&mut reader);
        // The task that waits for this may be gone.
        let _ = done.send(outcome);
    };
    thread::Builder::new()
        .name("printer".into())
        .spawn(print)
        .map_err(CliError::system("start a thread that prints"))?;
    Ok((Sink(queue), Printed(Some(printed))))
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn empty_into(&self, reader: &mut impl Reader) -> io::Result<()> {
        loop {
            let (stream, bytes) = {
                let is_idle = |state: &mut State| state.pieces.is_empty() && !state.is_closed;
                let waited = self.changed.wait_while(self.lock(), is_idle);
                let mut state = waited.unwrap_or_else(PoisonError::into_inner);
                let Some(piece) = state.pieces.pop_front() else { return Ok(()) };
                state.waiting -= piece.1.len();
                if state.waiting < ROOM {
                    state.waker.take().into_iter().for_each(Waker::wake);
                }
                piece
            };
            if let Err(error) = reader.read(stream, &bytes) {
                let mut state = self.lock();
                (state.is_abandoned, state.pieces) = (true, VecDeque::new());
                state.waker.take().into_iter().for_each(Waker::wake);
                return Err(error);
            }
        }
    }
}

impl ProgramSink for Sink {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        let mut state = self.0.lock();
        if !state.is_abandoned {
            state.waiting += bytes.len();
            state.pieces.push_back((stream, bytes.to_vec()));
            self.0.changed.notify_one();
        }
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.waiting < ROOM || state.is_abandoned {
            return Poll::Ready(());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_one();
    }
}

impl Printed {
    /// Waits for the end of the printing.
    pub(crate) async fn done(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Some(printed) => printed.await.unwrap_or_else(|_| Err(io::Error::other("the printer is gone"))),
            None => Ok(()),
        }
    }

    /// Waits until printing has failed. Printing that goes well never ends here.
    pub(crate) async fn failed(&mut self) -> io::Result<()> {
        if let Some(printed) = &mut self.0
            && let Ok(outcome) = printed.await
        {
            self.0 = None;
            outcome?;
        }
        std::future::pending().await
    }
}

impl Shown {
    pub(crate) fn new(printer: Printer) -> Self {
        Self { printer, held: Default::default() }
    }
}

impl Reader for Shown {
    fn read(&mut self, stream: OutputStream, bytes: &[u8]) -> io::Result<()> {
        if !self.printer.shows_text(stream) {
            return self.printer.bytes(stream, bytes);
        }
        let held = &mut self.held[usize::from(stream == OutputStream::Stderr)];
        held.extend_from_slice(bytes);
        let whole = held.len() - unfinished(held);
        let text = String::from_utf8_lossy(&held[..whole]).into_owned();
        held.drain(..whole);
        self.printer.program(stream, &text)
    }
}

impl Raw {
    pub(crate) fn new(keeper: &Keeper) -> Self {
        Self { keeper: keeper.told() }
    }
}

impl Reader for Raw {
    fn read(&mut self, _: OutputStream, bytes: &[u8]) -> io::Result<()> {
        use std::io::Write;
        // Before it has an effect: this process may be killed at any moment.
        self.keeper.tell(bytes);
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }
}

/// How many bytes at the end begin a character that is not there yet.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(3);
    let begun = bytes[last..].iter().rposition(|byte| *byte & 0xc0 != 0x80).map(|at| last + at);
    match begun {
        Some(at) => {
            let wanted = match bytes[at] {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => 1,
            };
            if bytes.len() - at < wanted { bytes.len() - at } else { 0 }
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_character_that_may_go_on_is_held_back() {
        for (bytes, held) in [
            (&b""[..], 0),
            (b"abc", 0),
            ("a\u{e9}".as_bytes(), 0),
            (b"a\xc3", 1),
            (b"\xf0\x9f\x98", 3),
            (b"\xff", 0),
            (b"\x80\x80\x80\x80", 0),
            (b"\xe2\x82 ", 0),
        ] {
            assert_eq!(unfinished(bytes), held, "{bytes:?}");
        }
    }

    struct Collected(Arc<Mutex<Vec<u8>>>);

    impl Reader for Collected {
        fn read(&mut self, _: OutputStream, bytes: &[u8]) -> io::Result<()> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(())
        }
    }

    struct Blocked(Arc<Mutex<()>>);

    impl Reader for Blocked {
        fn read(&mut self, _: OutputStream, _: &[u8]) -> io::Result<()> {
            drop(self.0.lock());
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[tokio::test]
    async fn everything_is_printed_in_order_before_it_is_done() {
        let all = Arc::default();
        let (mut sink, mut printed) = output(Some(Collected(Arc::clone(&all)))).unwrap();
        for number in 0..1000 {
            sink.take(OutputStream::Stdout, format!("{number}\n").as_bytes());
        }
        drop(sink);
        printed.done().await.unwrap();
        let expected: String = (0..1000).map(|number| format!("{number}\n")).collect();
        assert_eq!(*all.lock().unwrap(), expected.into_bytes());
    }

    #[tokio::test]
    async fn a_reader_that_does_not_read_leaves_no_room_and_one_that_leaves_is_told_of() {
        let gate = Arc::new(Mutex::new(()));
        let shut = gate.lock().unwrap();
        let (mut sink, mut printed) = output(Some(Blocked(Arc::clone(&gate)))).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        assert!(sink.poll_room(&mut context).is_ready());
        for _ in 0..3 {
            sink.take(OutputStream::Stdout, &vec![b'x'; ROOM]);
        }
        assert!(sink.poll_room(&mut context).is_pending());
        drop(shut);
        assert_eq!(printed.failed().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(sink.poll_room(&mut context).is_ready());
    }
}
