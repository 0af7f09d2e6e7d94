//! The thread that writes. What comes in while it writes becomes its next transaction.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use super::presence::Opening;
use super::{Begun, HistoryError, Outcome, Progress, Retention, file_in, schema, whole};

/// Notes that wait. Whoever has another waits too, so that a disk that is too slow slows down runs
/// and fills no memory.
const WAITING: usize = 1024;
/// Notes in one transaction.
const BATCH: usize = 512;
/// How often old runs are looked for.
const PRUNING: Duration = Duration::from_secs(60);

/// Something to write down.
pub(super) enum Note {
    Begin(Begun),
    Event { id: Arc<str>, number: u64, json: Arc<str>, progress: Arc<Progress> },
    End { id: Arc<str>, outcome: Outcome, ended_ms: i64 },
    Flush(oneshot::Sender<()>),
}

/// Takes notes.
#[derive(Clone)]
pub(crate) struct Writer(mpsc::Sender<Note>);

impl Writer {
    /// Opens the history below a state directory, ends what was left open, and begins to write.
    pub(crate) fn start(state: &Path, retention: Retention) -> Result<Self, HistoryError> {
        let path = file_in(state);
        let failed = |source| HistoryError::Io { path: path.clone(), source };
        crate::tokens::make_private(state).map_err(failed)?;
        let opening = Opening::wait(state).map_err(failed)?;
        let mut connection = schema::open(&path)?;
        let database = |action| {
            let path = path.clone();
            move |source| HistoryError::Database { path, action, source }
        };
        if opening.is_alone() {
            let left = schema::end_what_was_left(&mut connection).map_err(database("repaired"))?;
            if left > 0 {
                tracing::info!(runs = left, "runs that an earlier server left were ended");
            }
        }
        let presence = opening.stay().map_err(failed)?;
        retention.apply(&mut connection).map_err(database("pruned"))?;
        let (sender, notes) = mpsc::channel(WAITING);
        let work = move || {
            let _presence = presence;
            work(connection, notes, retention);
        };
        let thread = std::thread::Builder::new().name("belljar-history".to_owned()).spawn(work);
        thread.map_err(failed)?;
        Ok(Self(sender))
    }

    pub(super) async fn send(&self, note: Note) {
        // The thread ends with the last of these only, or by a panic that was reported.
        let _ = self.0.send(note).await;
    }

    /// Waits until everything so far is in the file.
    pub(crate) async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        self.send(Note::Flush(done)).await;
        let _ = is_done.await;
    }
}

fn work(mut connection: Connection, mut notes: mpsc::Receiver<Note>, retention: Retention) {
    let mut pruned = Instant::now();
    let mut batch = Vec::with_capacity(BATCH);
    while notes.blocking_recv_many(&mut batch, BATCH) > 0 {
        // A disk that is full fails today and works tomorrow. Runs go on meanwhile.
        if let Err(error) = write(&mut connection, &batch) {
            tracing::error!(%error, notes = batch.len(), "the history could not be written");
        }
        for note in batch.drain(..) {
            match note {
                Note::Event { number, progress, .. } => progress.advance(number + 1),
                Note::Flush(done) => drop(done.send(())),
                Note::Begin(_) | Note::End { .. } => {}
            }
        }
        if pruned.elapsed() >= PRUNING {
            pruned = Instant::now();
            if let Err(error) = retention.apply(&mut connection) {
                tracing::error!(%error, "old runs could not be removed from the history");
            }
        }
    }
    let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
}

fn write(connection: &mut Connection, batch: &[Note]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for note in batch {
        match note {
            Note::Begin(Begun { id, owner, sandbox, session, script, started_ms }) => {
                transaction
                    .prepare_cached(
                        "INSERT INTO runs (id, owner, sandbox, session, script, started_ms, bytes)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    )?
                    .execute(params![id, owner, sandbox, session, script, started_ms, length(script)])?;
            }
            Note::Event { id, number, json, .. } => {
                transaction
                    .prepare_cached(
                        "INSERT INTO events (run, number, json) SELECT key, ?2, ?3 FROM runs WHERE id = ?1",
                    )?
                    .execute(params![&**id, whole(*number), &**json])?;
                transaction
                    .prepare_cached("UPDATE runs SET events = ?2, bytes = bytes + ?3 WHERE id = ?1")?
                    .execute(params![&**id, whole(number + 1), length(json)])?;
            }
            Note::End { id, outcome, ended_ms } => {
                let Outcome { verdict, error, wall_ms, cpu_ms, peak_memory_bytes } = outcome;
                transaction
                    .prepare_cached(
                        "UPDATE runs SET ended_ms = ?2, verdict = ?3, error = ?4, wall_ms = ?5, cpu_ms = ?6,
                         peak_memory_bytes = ?7 WHERE id = ?1",
                    )?
                    .execute(params![&**id, ended_ms, verdict, error, wall_ms, cpu_ms, peak_memory_bytes])?;
            }
            Note::Flush(_) => {}
        }
    }
    transaction.commit()
}

fn length(text: &str) -> i64 {
    whole(text.len() as u64)
}
