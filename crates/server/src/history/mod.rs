//! What has run: every run and its events, in one SQLite file.
//!
//! ```text
//!  runs ──note──► writer (one thread, one transaction a batch) ──► history.db ◄── readers
//!    ▲                     │
//!    └── how far it is ◄───┘   what is written need not be kept in memory
//! ```
//!
//! * `schema` is what is in the file, and what a crash left open.
//! * `writer` is the only one in a process that changes it.
//! * `presence` knows whether other processes write it, too: each `belljar mcp` does.
//! * `reader` answers questions, on threads of their own.
//! * `retention` decides what goes.
//!
//! The journal is a write-ahead log, so a killed server loses at most what it had not written yet,
//! and the file stays whole.

mod presence;
mod reader;
mod retention;
mod schema;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Serialize;
use tokio::sync::Notify;

pub use self::reader::{HistoryReader, RunFilter};
pub use self::retention::Retention;
use self::writer::Note;
pub(crate) use self::writer::Writer;

/// Why the history cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// SQLite refused something.
    #[error("the history in {} cannot be {action}", .path.display())]
    Database {
        /// Which file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// SQLite's reason.
        source: rusqlite::Error,
    },
    /// A later version of Belljar wrote it.
    #[error("the history in {} is of version {found}, and this program knows {known}: use a newer one, or another state directory", .path.display())]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The last version known here.
        known: i64,
    },
    /// The system refused something.
    #[error("the history in {} cannot be opened", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Events are neither in memory nor in the file.
    #[error("events of this run were lost: they could not be written")]
    Lost,
    /// The threads that write or read it are gone.
    #[error("the history is closed")]
    Closed,
}

/// The file below a state directory.
pub(crate) fn file_in(state: &Path) -> PathBuf {
    state.join("history.db")
}

/// A run as it is listed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// The token that asked for it.
    pub owner: String,
    /// The sandbox it ran in.
    pub sandbox: String,
    /// The session it is a step of.
    pub session: Option<String>,
    /// When it was asked for: milliseconds since 1970.
    pub started_ms: i64,
    /// When it was over.
    pub ended_ms: Option<i64>,
    /// How it ended.
    pub verdict: Option<String>,
    /// What it says of its failure.
    pub error: Option<String>,
    /// The time that it took.
    pub wall_ms: Option<f64>,
    /// Processor time.
    pub cpu_ms: Option<f64>,
    /// The most memory that it had.
    pub peak_memory_bytes: Option<i64>,
    /// How many events it has so far.
    pub events: i64,
}

/// What is known of a run before it begins.
#[derive(Debug, Clone)]
pub(crate) struct Begun {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) sandbox: String,
    pub(crate) session: Option<String>,
    pub(crate) script: String,
    pub(crate) started_ms: i64,
}

/// How a run came out, for lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) verdict: String,
    pub(crate) error: Option<String>,
    pub(crate) wall_ms: f64,
    pub(crate) cpu_ms: Option<f64>,
    pub(crate) peak_memory_bytes: Option<i64>,
}

/// How far the writer is with one run.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    written: AtomicU64,
    is_lost: AtomicBool,
    changed: Notify,
}

impl Progress {
    /// Events before this number are in the file.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Waits until more are, or none can be.
    pub(crate) async fn beyond(&self, number: u64) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.written() > number || self.is_lost() {
                return;
            }
            changed.await;
        }
    }

    /// Events could not be written, and never will be.
    fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    fn advance(&self, to: u64) {
        self.written.fetch_max(to, Ordering::AcqRel);
        self.changed.notify_waiters();
    }
}

/// Writes down one run.
pub(crate) struct Chronicle {
    id: Arc<str>,
    writer: Writer,
    pub(crate) progress: Arc<Progress>,
}

impl Chronicle {
    pub(crate) async fn begin(writer: &Writer, begun: Begun) -> Self {
        let id = Arc::from(begun.id.as_str());
        writer.send(Note::Begin(begun)).await;
        Self { id, writer: writer.clone(), progress: Arc::default() }
    }

    pub(crate) async fn event(&self, number: u64, json: Arc<str>) {
        let note = Note::Event { id: self.id.clone(), number, json, progress: self.progress.clone() };
        self.writer.send(note).await;
    }

    pub(crate) async fn end(self, outcome: Outcome) {
        self.writer.send(Note::End { id: self.id, outcome, ended_ms: now_ms() }).await;
    }
}

/// A number as SQLite has it.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

impl From<HistoryError> for crate::problem::Problem {
    fn from(error: HistoryError) -> Self {
        let detail = crate::problem::with_causes(&error);
        Self::new(crate::problem::Code::Internal, detail)
    }
}
