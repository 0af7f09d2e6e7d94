//! The thread that writes. What comes in while it writes becomes its next transaction.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

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
    Event {
        id: Arc<str>,
        number: u64,
        json: Arc<str>,
        progress: Arc<Progress>,
    },
    End {
        id: Arc<str>,
        outcome: Outcome,
        ended_ms: i64,
    },
    Flush(oneshot::Sender<()>),
    /// Whether anything can be written.
    Trial(oneshot::Sender<bool>),
}

impl Note {
    /// How long it is.
    fn bytes(&self) -> usize {
        match self {
            Self::Begin(begun) => begun.script.len(),
            Self::Event { json, .. } => json.len(),
            _ => 0,
        }
    }
}

/// Takes notes.
#[derive(Clone)]
pub(crate) struct Writer {
    notes: mpsc::Sender<(Note, Option<OwnedSemaphorePermit>)>,
    /// KiB that may wait to be written.
    room: Arc<Semaphore>,
    /// Whether the last try to write has failed.
    is_failing: Arc<AtomicBool>,
}

/// KiB of notes that wait. Few notes may be very long.
const ROOM: usize = 64 << 10;
/// Bytes that are written before old runs are looked for, at the latest.
const PRUNING_BYTES: u64 = 64 << 20;

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
        let is_failing = Arc::<AtomicBool>::default();
        let failing = is_failing.clone();
        let work = move || {
            let _presence = presence;
            work(connection, notes, retention, &failing);
        };
        let thread = std::thread::Builder::new().name("belljar-history".to_owned()).spawn(work);
        thread.map_err(failed)?;
        Ok(Self { notes: sender, room: Arc::new(Semaphore::new(ROOM)), is_failing })
    }

    pub(super) async fn send(&self, note: Note) {
        let room = u32::try_from(note.bytes().div_ceil(1 << 10).min(ROOM)).unwrap_or(u32::MAX);
        let room = match room {
            0 => None,
            room => self.room.clone().acquire_many_owned(room).await.ok(),
        };
        // The thread ends with the last of these only, or by a panic that was reported.
        let _ = self.notes.send((note, room)).await;
    }

    /// Whether what comes can be written. If the last try has failed, it is tried again.
    pub(crate) async fn is_well(&self) -> bool {
        if !self.is_failing.load(Ordering::Acquire) {
            return true;
        }
        let (say, said) = oneshot::channel();
        self.send(Note::Trial(say)).await;
        said.await.unwrap_or(false)
    }

    /// Waits until everything so far is in the file.
    pub(crate) async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        self.send(Note::Flush(done)).await;
        let _ = is_done.await;
    }
}

fn work(
    mut connection: Connection,
    mut notes: mpsc::Receiver<(Note, Option<OwnedSemaphorePermit>)>,
    retention: Retention,
    is_failing: &AtomicBool,
) {
    let (mut pruned, mut since) = (Instant::now(), 0);
    let mut batch = Vec::with_capacity(BATCH);
    // How runs began and ended that could not be written then. Their events are lost.
    let mut late: Vec<Note> = Vec::new();
    while notes.blocking_recv_many(&mut batch, BATCH) > 0 {
        // A disk that is full fails today and works tomorrow. Runs go on meanwhile.
        let written = write(&mut connection, late.iter().chain(batch.iter().map(|(note, _)| note)));
        if let Err(error) = &written {
            tracing::error!(%error, notes = batch.len(), "the history could not be written");
        }
        is_failing.store(written.is_err(), Ordering::Release);
        if written.is_ok() {
            late.clear();
        }
        for (note, _room) in batch.drain(..) {
            since += note.bytes() as u64;
            match note {
                Note::Event { number, progress, .. } if written.is_ok() => progress.advance(number + 1),
                Note::Event { progress, .. } => progress.lose(),
                Note::Flush(done) => drop(done.send(())),
                Note::Trial(say) => drop(say.send(written.is_ok())),
                note if written.is_err() && late.len() < WAITING => late.push(note),
                Note::Begin(_) | Note::End { .. } => {}
            }
        }
        let much = (retention.bytes / 4).clamp(1 << 20, PRUNING_BYTES);
        if pruned.elapsed() >= PRUNING || since >= much {
            (pruned, since) = (Instant::now(), 0);
            if let Err(error) = retention.apply(&mut connection) {
                tracing::error!(%error, "old runs could not be removed from the history");
            }
        }
    }
    let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
}

fn write<'a>(connection: &mut Connection, batch: impl Iterator<Item = &'a Note>) -> rusqlite::Result<()> {
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
            // It changes nothing, and takes a page to do so.
            Note::Trial(_) => schema::touch(&transaction)?,
            Note::Flush(_) => {}
        }
    }
    transaction.commit()
}

fn length(text: &str) -> i64 {
    whole(text.len() as u64)
}
