//! What is in the file.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use belljar::{Event, EventKind, ExecutionId, ExecutionResult, Verdict};
use rusqlite::{Connection, OpenFlags, params};

use super::{HistoryError, now_ms};

/// Raised when what is in the file changes.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE runs (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        sandbox TEXT NOT NULL,
        session TEXT,
        script TEXT NOT NULL,
        started_ms INTEGER NOT NULL,
        ended_ms INTEGER,
        verdict TEXT,
        error TEXT,
        wall_ms REAL,
        cpu_ms REAL,
        peak_memory_bytes INTEGER,
        events INTEGER NOT NULL DEFAULT 0,
        bytes INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX runs_by_time ON runs (started_ms);
    CREATE INDEX runs_open ON runs (key) WHERE ended_ms IS NULL;
    CREATE TABLE events (
        run INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (run, number)
    ) WITHOUT ROWID;
";

/// How long somebody waits for somebody else's transaction.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes the file if it is not there, so that only its owner can read it: it has everybody's
/// scripts, and may be in a directory that others can enter. SQLite makes those beside it alike.
fn make_private(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map(drop)
}

/// Opens the file to write it, and makes it if it is not there.
pub(super) fn open(path: &Path) -> Result<Connection, HistoryError> {
    let failed = |source| HistoryError::Database { path: path.to_owned(), action: "opened", source };
    make_private(path).map_err(|source| HistoryError::Io { path: path.to_owned(), source })?;
    let connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    // Before the first table is made: pages of what goes are given back.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    // A killed process loses nothing that it has written, a machine without power the last moments.
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
    match found {
        VERSION => {}
        0 => {
            let made = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;");
            connection.execute_batch(&made).map_err(failed)?;
        }
        found => return Err(HistoryError::Newer { path: path.to_owned(), found, known: VERSION }),
    }
    Ok(connection)
}

/// Writes a page, and changes nothing.
pub(super) fn touch(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "user_version", VERSION)
}

/// Opens the file to read it.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, HistoryError> {
    let failed = |source| HistoryError::Database { path: path.to_owned(), action: "read", source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    Ok(connection)
}

/// Ends the runs that a server left open when it was killed. Their cells ended with it. Returns how
/// many there were.
pub(super) fn end_what_was_left(connection: &mut Connection) -> rusqlite::Result<usize> {
    const REASON: &str = "the server ended before this run did";
    let transaction = connection.transaction()?;
    let open: Vec<(i64, String, i64)> = transaction
        .prepare("SELECT key, id, events FROM runs WHERE ended_ms IS NULL")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    for (key, id, events) in &open {
        let id = ExecutionId::new(id.as_str());
        let mut result = ExecutionResult::new(id.clone(), Verdict::Infra, "");
        result.error = Some(REASON.to_owned());
        let number = u64::try_from(*events).unwrap_or_default();
        let ended = Event::new(id, number, EventKind::Ended { result: result.into() });
        let json = serde_json::to_string(&ended).expect("an event is plain data");
        transaction
            .execute("INSERT OR REPLACE INTO events VALUES (?1, ?2, ?3)", params![key, events, json])?;
        transaction.execute(
            "UPDATE runs SET ended_ms = ?2, verdict = 'infra', error = ?3, events = ?4 WHERE key = ?1",
            params![key, now_ms(), REASON, events + 1],
        )?;
    }
    transaction.commit()?;
    Ok(open.len())
}
