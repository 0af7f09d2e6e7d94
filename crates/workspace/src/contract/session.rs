//! A program that is talked to while it runs.

use std::time::Duration;

use super::BoxFuture;
use crate::{ProgramBytes, ProgramLog, ProgramPoll, ProgramState, RunResult, WorkspaceError};

/// A program that is talked to while it runs. All methods may be called at the same time.
pub trait ProgramSession: Send + Sync {
    /// Its id, which is like no other.
    fn id(&self) -> &str;

    /// What it printed since the last poll, at most that many lines. `None` and 0 are all.
    fn poll(&self, limit: Option<usize>) -> ProgramPoll;

    /// What it printed from a line on, at most that many lines. `None` begins with the first that
    /// is kept, and so does a line that is no longer kept. Moves nothing.
    fn log(&self, offset: Option<u64>, limit: Option<usize>) -> ProgramLog;

    /// What it printed since the last poll of bytes, at most that many. `None` and 0 are all. Lines
    /// and bytes are polled apart.
    fn poll_bytes(&self, limit: Option<usize>) -> ProgramBytes;

    /// What it printed from a byte on, at most that many bytes. Moves nothing.
    fn log_bytes(&self, offset: Option<u64>, limit: Option<usize>) -> ProgramBytes;

    /// Writes to its standard input, and a line's end if wished. Nothing is written for no data and
    /// no line's end, also after its end.
    fn write<'a>(&'a self, data: &'a [u8], newline: bool) -> BoxFuture<'a, Result<(), WorkspaceError>>;

    /// Ends its standard input. With a terminal, that is the key for it.
    fn send_eof(&self) -> BoxFuture<'_, Result<(), WorkspaceError>>;

    /// Changes the size of its terminal.
    fn resize(&self, rows: u16, cols: u16) -> BoxFuture<'_, Result<(), WorkspaceError>>;

    /// Sends a signal, by its number on Linux, to the program and what it started.
    fn signal(&self, signal: i32) -> BoxFuture<'_, Result<(), WorkspaceError>>;

    /// Sends the signal of Ctrl-C.
    fn interrupt(&self) -> BoxFuture<'_, Result<(), WorkspaceError>> {
        const SIGINT: i32 = 2;
        self.signal(SIGINT)
    }

    /// Asks it to end, and kills it and what it started when the grace is over. One that has ended
    /// is no error.
    fn kill(&self, grace: Duration) -> BoxFuture<'_, Result<(), WorkspaceError>>;

    /// Closes its streams on this side. It goes on until it notices. A second time does nothing.
    fn close(&self) -> Result<(), WorkspaceError>;

    /// Whether it runs, and how it ended. Moves nothing.
    fn state(&self) -> ProgramState;

    /// How it ended, with both streams apart, if it did.
    fn result(&self) -> Option<RunResult>;

    /// Waits until it ends.
    fn wait(&self) -> BoxFuture<'_, RunResult>;
}
