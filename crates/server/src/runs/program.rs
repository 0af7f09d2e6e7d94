//! A program in a workspace as a run: what it prints are events, and its end is a result.
//!
//! ```text
//!  program ──bytes──► queue (a bounded one: then the program waits) ──text──► events
//!     └── result: the beginning of both streams; the rest is in a file of the workspace
//! ```

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use belljar::files::Stdin;
use belljar::program::{ProgramSink, StopProgram};
use belljar::workspace::{
    CutStream, OpenWorkspace, RunProgramSpec, StreamedProgram, Streaming, WorkspaceError,
};
use belljar::{EventKind, ExecutionId, ExecutionResult, OutputStream, RuntimeError};
use tokio::sync::Notify;

use crate::problem::Problem;

/// Bytes that may wait between a program and those who read its events.
const ROOM: usize = 1 << 20;
/// Bytes that become events. What is beyond is in the workspace only.
const MOST: usize = 16 << 20;

/// A program that runs. Dropping it kills the program.
pub(crate) struct ProgramRun {
    program: StreamedProgram,
    queue: Arc<Queue>,
    /// Characters of which only a part has come, one for each stream.
    parts: [Vec<u8>; 2],
    told: usize,
}

impl ProgramRun {
    /// Starts a program.
    pub(crate) async fn start(
        workspace: &OpenWorkspace,
        mut spec: RunProgramSpec,
    ) -> Result<Self, WorkspaceError> {
        let queue = Arc::<Queue>::default();
        let stdin = Stdin::Bytes(mem::take(&mut spec.stdin).into());
        let streaming = Streaming { stdin, keeps_output: true, ..Streaming::default() };
        let program = workspace.start_streaming(spec, streaming, Sink(queue.clone())).await?;
        Ok(Self { program, queue, parts: Default::default(), told: 0 })
    }

    /// What it prints next. `None` when it has ended.
    pub(crate) async fn next(&mut self) -> Option<EventKind> {
        loop {
            let queue = self.queue.clone();
            let more = queue.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            // In this order: when it has ended, everything that it printed is in the queue.
            let is_over = self.program.program().end().is_some() || self.program.program().is_lost();
            if let Some((stream, bytes)) = queue.take() {
                match self.event(stream, &bytes) {
                    Some(kind) => return Some(kind),
                    None => continue,
                }
            }
            if is_over {
                return None;
            }
            tokio::select! {
                () = more => {}
                _ = self.program.program().wait() => {}
            }
        }
    }

    fn event(&mut self, stream: OutputStream, bytes: &[u8]) -> Option<EventKind> {
        if self.told >= MOST {
            return None;
        }
        self.told += bytes.len();
        let part = &mut self.parts[usize::from(stream == OutputStream::Stderr)];
        part.extend_from_slice(bytes);
        let text = whole_characters(part);
        if text.is_empty() {
            return None;
        }
        Some(match stream {
            OutputStream::Stdout => EventKind::Stdout { text },
            OutputStream::Stderr => EventKind::Stderr { text },
        })
    }

    /// Kills it. It still has a result.
    pub(crate) fn cancel(&self) {
        // It may have ended meanwhile.
        let _ = self.program.program().stop(StopProgram::Cancelled);
    }

    /// How it ended.
    pub(crate) async fn result(self, id: ExecutionId) -> Result<ExecutionResult, Problem> {
        let end = self.program.program().wait().await.ok_or(RuntimeError::ShutDown)?;
        let mut result = end.result.clone();
        let printed = self.program.into_result(&end);
        result.execution_id = id;
        result.stdout = printed.stdout_text().into_owned();
        result.stderr = printed.stderr_text().into_owned();
        if let Some(reason) = end.not_started {
            result.error = Some(reason);
        }
        for (name, cut) in [("stdout", &printed.truncated.stdout), ("stderr", &printed.truncated.stderr)] {
            result.warnings.extend(cut.as_ref().map(|cut| warning(name, cut)));
        }
        Ok(result)
    }
}

fn warning(name: &str, cut: &CutStream) -> String {
    let bytes = cut.total_bytes;
    match &cut.spill {
        Some(file) => format!("only the beginning of {name} is here, of {bytes} bytes; more is in {file}"),
        None => format!("only the beginning of {name} is here, of {bytes} bytes"),
    }
}

/// Takes the text out of some bytes. The beginning of a character stays until the rest comes.
fn whole_characters(bytes: &mut Vec<u8>) -> String {
    let unfinished = match std::str::from_utf8(bytes) {
        Ok(_) => 0,
        Err(_) => {
            let from = bytes.len().saturating_sub(3);
            let begins = bytes[from..].iter().rposition(|byte| byte & 0xC0 == 0xC0).map(|at| from + at);
            begins.map_or(0, |at| match std::str::from_utf8(&bytes[at..]) {
                Err(error) if error.error_len().is_none() => bytes.len() - at,
                _ => 0,
            })
        }
    };
    let rest = bytes.split_off(bytes.len() - unfinished);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Default)]
struct Waiting {
    pieces: VecDeque<(OutputStream, Vec<u8>)>,
    bytes: usize,
    program: Option<Waker>,
}

impl Queue {
    fn take(&self) -> Option<(OutputStream, Vec<u8>)> {
        let (piece, waker) = {
            let mut waiting = self.lock();
            let piece = waiting.pieces.pop_front()?;
            waiting.bytes -= piece.1.len();
            (piece, waiting.program.take())
        };
        waker.into_iter().for_each(Waker::wake);
        Some(piece)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Sink(Arc<Queue>);

impl ProgramSink for Sink {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        let mut waiting = self.0.lock();
        waiting.bytes += bytes.len();
        match waiting.pieces.back_mut() {
            // Many small writes are one event, if nobody was faster.
            Some((last, piece)) if *last == stream && piece.len() < 1 << 14 => piece.extend_from_slice(bytes),
            _ => waiting.pieces.push_back((stream, bytes.to_vec())),
        }
        drop(waiting);
        self.0.more.notify_waiters();
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.0.lock();
        if waiting.bytes < ROOM {
            return Poll::Ready(());
        }
        waiting.program = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_comes_in_two_parts_is_one() {
        let mut bytes = b"a\xe2\x82".to_vec();
        assert_eq!(whole_characters(&mut bytes), "a");
        bytes.extend_from_slice(b"\xacb\xff");
        assert_eq!(whole_characters(&mut bytes), "\u{20ac}b\u{fffd}");
        assert!(bytes.is_empty(), "what can never be a character is not waited for");
    }

    #[test]
    fn a_program_that_nobody_reads_has_to_wait() {
        let queue = Arc::<Queue>::default();
        let mut sink = Sink(queue.clone());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(sink.poll_room(&mut cx).is_ready());
        sink.take(OutputStream::Stdout, &vec![b'x'; ROOM]);
        assert!(sink.poll_room(&mut cx).is_pending());
        assert_eq!(queue.take().unwrap().1.len(), ROOM);
        assert!(sink.poll_room(&mut cx).is_ready());
    }
}
