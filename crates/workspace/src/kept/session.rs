//! A program that is talked to while it runs.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use belljar_core::wire::TerminalSize;
use belljar_runtime::{OutputStream, ProgramSink, RunningProgram, Stop, stdin_from_stream};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;

use super::Inner;
use super::capture::Capture;
use super::lines::Log;
use super::runner::{Started, Terms, result, run_directory};
use crate::{
    BoxFuture, InteractiveProgramSpec, ProgramBytes, ProgramLog, ProgramPoll, ProgramSession, ProgramState,
    ProgramStatus, RunResult, Workspace, WorkspaceError,
};

/// How many writes may wait for the program to read.
const WAITING: usize = 64;
/// How long a program that was killed is waited for.
const DEAD_WITHIN: Duration = Duration::from_secs(10);

/// A session. Dropping it kills its program.
pub(super) struct Session {
    id: String,
    engine: &'static str,
    started: Started,
    stdin: Mutex<Option<mpsc::Sender<io::Result<Bytes>>>>,
    has_terminal: bool,
    log: Arc<Mutex<Log>>,
    capture: Capture,
    result: OnceLock<RunResult>,
    used: Arc<Mutex<Instant>>,
    /// Ends the thread that watches for idleness, when it is dropped.
    idle: Mutex<Option<Sender<()>>>,
}

/// Takes output twice: in order for polls, and apart for the result.
struct Tee {
    log: Arc<Mutex<Log>>,
    capture: Capture,
}

impl ProgramSink for Tee {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        lock(&self.log).add(bytes);
        ProgramSink::take(&mut self.capture, stream, bytes);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a session in a workspace.
pub(super) async fn start(
    inner: &Inner,
    ws: &Workspace,
    spec: InteractiveProgramSpec,
) -> Result<Session, WorkspaceError> {
    let InteractiveProgramSpec { mut program, tty, rows, cols, idle_timeout } = spec;
    let options = &inner.options;
    program.timeout.get_or_insert(options.session_timeout);
    let kept = inner.kept(ws)?;
    let run = run_directory();
    let capture = Capture::new(kept.clone(), run.clone(), options.max_output_bytes, options.max_spill_bytes);
    let log = Arc::new(Mutex::new(Log::new(options.session_log.0, options.session_log.1)));
    let (sender, receiver) = mpsc::channel(WAITING);
    let first = Bytes::from(std::mem::take(&mut program.stdin));
    let usual = TerminalSize::default();
    let terminal = tty
        .then(|| TerminalSize { rows: rows.unwrap_or(usual.rows), columns: cols.unwrap_or(usual.columns) });
    let terms = Terms { kept, run, stdin: stdin_from_stream(typed(first, receiver)), terminal };
    let tee = Tee { log: Arc::clone(&log), capture: capture.clone() };
    let started = inner.start(ws, program, terms, tee).await?;
    let used = Arc::new(Mutex::new(Instant::now()));
    let idle = watch_idleness(
        Arc::clone(&started.program),
        Arc::clone(&used),
        idle_timeout.unwrap_or(options.idle_timeout),
    )
    .map_err(WorkspaceError::io("watch", &ws.path))?;
    Ok(Session {
        id: new_id(),
        engine: inner.engine,
        started,
        stdin: Mutex::new(Some(sender)),
        has_terminal: tty,
        log,
        capture,
        result: OnceLock::new(),
        used,
        idle: Mutex::new(Some(idle)),
    })
}

/// What is typed: first what the program was started with.
fn typed(
    first: Bytes,
    receiver: mpsc::Receiver<io::Result<Bytes>>,
) -> impl futures_core::Stream<Item = io::Result<Bytes>> + Send {
    let first = Some(first).filter(|first| !first.is_empty());
    stream::unfold((first, receiver), |(mut first, mut receiver)| async move {
        let piece = match first.take() {
            Some(piece) => Some(Ok(piece)),
            None => receiver.recv().await,
        };
        piece.map(|piece| (piece, (first, receiver)))
    })
}

/// Stops a program that nobody has used for a while.
fn watch_idleness(
    program: Arc<RunningProgram>,
    used: Arc<Mutex<Instant>>,
    within: Duration,
) -> io::Result<Sender<()>> {
    let (until, dropped) = channel();
    std::thread::Builder::new().name("belljar-idle".to_owned()).spawn(move || {
        loop {
            let left = within.saturating_sub(lock(&used).elapsed());
            if left.is_zero() {
                let _ = program.stop(Stop::TimedOut);
                return;
            }
            if dropped.recv_timeout(left) != Err(RecvTimeoutError::Timeout) || program.end().is_some() {
                return;
            }
        }
    })?;
    Ok(until)
}

/// What is said where nobody can tell any more: the runtime was shut down.
fn lost() -> RunResult {
    RunResult { exit_code: -1, verdict: Some("infra".to_owned()), ..RunResult::default() }
}

/// 128 random bits, as people write them.
fn new_id() -> String {
    let text = belljar_core::random_hex();
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

impl Session {
    fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// How it ended, if it did. Everything it printed is in the log then.
    fn ended(&self) -> Option<&RunResult> {
        if let Some(result) = self.result.get() {
            return Some(result);
        }
        let program = &self.started.program;
        let end = program.end();
        if end.is_none() && !program.is_lost() {
            return None;
        }
        Some(self.result.get_or_init(|| {
            lock(&self.idle).take();
            lock(&self.log).close();
            let ended = end.or_else(|| program.end()).map_or_else(lost, |end| result(&end, &self.capture));
            tracing::debug!(session = self.id, exit_code = ended.exit_code, "a session has ended");
            ended
        }))
    }

    fn status(&self) -> (ProgramStatus, Option<i32>) {
        match self.ended() {
            Some(result) => (ProgramStatus::Exited, Some(result.exit_code)),
            None => (ProgramStatus::Running, None),
        }
    }

    fn check_running(&self) -> Result<(), WorkspaceError> {
        if self.ended().is_some() { Err(WorkspaceError::NotRunning) } else { Ok(()) }
    }

    async fn send(&self, data: Bytes) -> Result<(), WorkspaceError> {
        self.check_running()?;
        self.touch();
        let sender = lock(&self.stdin).clone().ok_or(WorkspaceError::NoStdin)?;
        tokio::select! {
            sent = sender.send(Ok(data)) => sent.map_err(|_| WorkspaceError::NotRunning),
            _ = self.started.program.wait() => Err(WorkspaceError::NotRunning),
        }
    }

    fn unsupported(&self, what: &'static str) -> WorkspaceError {
        WorkspaceError::Unsupported { what, engine: self.engine.to_owned() }
    }
}

impl ProgramSession for Session {
    fn id(&self) -> &str {
        &self.id
    }

    fn poll(&self, limit: Option<usize>) -> ProgramPoll {
        self.touch();
        // Before the output is read: after its end there is no more.
        let (status, exit_code) = self.status();
        let lines = lock(&self.log).poll(limit);
        ProgramPoll { status, output: lines.text, offset: lines.offset, next_offset: lines.next, exit_code }
    }

    fn log(&self, offset: Option<u64>, limit: Option<usize>) -> ProgramLog {
        self.touch();
        self.status();
        let lines = lock(&self.log).lines(offset.unwrap_or(0), limit);
        ProgramLog {
            output: lines.text,
            offset: lines.offset,
            next_offset: lines.next,
            byte_offset: lines.byte_offset,
            next_byte_offset: lines.next_byte,
        }
    }

    fn poll_bytes(&self, limit: Option<usize>) -> ProgramBytes {
        self.touch();
        let (status, exit_code) = self.status();
        let (offset, data) = lock(&self.log).poll_bytes(limit);
        let next_offset = offset + data.len() as u64;
        ProgramBytes { status, data, offset, next_offset, exit_code }
    }

    fn log_bytes(&self, offset: Option<u64>, limit: Option<usize>) -> ProgramBytes {
        self.touch();
        let (status, exit_code) = self.status();
        let (offset, data) = lock(&self.log).bytes(offset.unwrap_or(0), limit);
        let next_offset = offset + data.len() as u64;
        ProgramBytes { status, data, offset, next_offset, exit_code }
    }

    fn write<'a>(&'a self, data: &'a [u8], newline: bool) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move {
            if data.is_empty() && !newline {
                return Ok(());
            }
            let mut line = data.to_vec();
            line.extend(newline.then_some(b'\n'));
            self.send(line.into()).await
        })
    }

    fn send_eof(&self) -> BoxFuture<'_, Result<(), WorkspaceError>> {
        const END_OF_FILE: &[u8] = b"\x04";
        Box::pin(async move {
            if self.has_terminal {
                return self.send(Bytes::from_static(END_OF_FILE)).await;
            }
            self.check_running()?;
            lock(&self.stdin).take().map(drop).ok_or(WorkspaceError::NoStdin)
        })
    }

    fn resize(&self, rows: u16, cols: u16) -> BoxFuture<'_, Result<(), WorkspaceError>> {
        Box::pin(async move {
            if !self.has_terminal {
                return Err(self.unsupported("resizing a program without a terminal"));
            }
            self.touch();
            let resized = self.started.program.resize(TerminalSize { rows, columns: cols });
            resized.map_err(|_| WorkspaceError::NotRunning)
        })
    }

    fn signal(&self, signal: i32) -> BoxFuture<'_, Result<(), WorkspaceError>> {
        Box::pin(async move {
            self.touch();
            let program = &self.started.program;
            let sent = match signal {
                2 => program.interrupt(),
                15 => program.terminate(),
                9 => program.stop(Stop::Cancelled),
                _ => return Err(self.unsupported("a signal other than INT, TERM and KILL")),
            };
            sent.map_err(|_| WorkspaceError::NotRunning)
        })
    }

    fn kill(&self, grace: Duration) -> BoxFuture<'_, Result<(), WorkspaceError>> {
        Box::pin(async move {
            let program = &self.started.program;
            if program.terminate().is_ok() && program.wait_for(grace).await.is_none() {
                let _ = program.stop(Stop::Cancelled);
                let _ = program.wait_for(DEAD_WITHIN).await;
            }
            self.status();
            Ok(())
        })
    }

    fn close(&self) -> Result<(), WorkspaceError> {
        drop(lock(&self.stdin).take());
        Ok(())
    }

    fn state(&self) -> ProgramState {
        let (status, exit_code) = self.status();
        ProgramState { status, exit_code }
    }

    fn result(&self) -> Option<RunResult> {
        self.ended().cloned()
    }

    fn wait(&self) -> BoxFuture<'_, RunResult> {
        Box::pin(async move {
            let _ = self.started.program.wait().await;
            self.result().unwrap_or_else(lost)
        })
    }
}
