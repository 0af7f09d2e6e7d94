//! Answers questions about what has run.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use tokio::sync::oneshot;

use super::{HistoryError, RunSummary, file_in, schema, whole};

/// Which runs are asked for. `None`: any.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Only those of this token.
    pub owner: Option<String>,
    /// Only those that ended so. `running`: those that have not.
    pub verdict: Option<String>,
    /// Only those in this sandbox.
    pub sandbox: Option<String>,
    /// Only the steps of this session.
    pub session: Option<String>,
    /// Only those asked for at this time or later: milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Only those asked for before this one: an id.
    pub before: Option<String>,
    /// At most so many, the newest first.
    pub limit: usize,
}

const SUMMARY: &str = "id, owner, sandbox, session, started_ms, ended_ms, verdict, error, wall_ms, cpu_ms,
    peak_memory_bytes, events";

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    Ok(RunSummary {
        id: row.get(0)?,
        owner: row.get(1)?,
        sandbox: row.get(2)?,
        session: row.get(3)?,
        started_ms: row.get(4)?,
        ended_ms: row.get(5)?,
        verdict: row.get(6)?,
        error: row.get(7)?,
        wall_ms: row.get(8)?,
        cpu_ms: row.get(9)?,
        peak_memory_bytes: row.get(10)?,
        events: row.get(11)?,
    })
}

type Question = Box<dyn FnOnce(&Connection) + Send>;

/// Reads the history. Cheap to clone.
#[derive(Clone)]
pub struct HistoryReader {
    questions: std::sync::mpsc::Sender<Question>,
    path: Arc<Path>,
}

impl HistoryReader {
    /// Opens the history below a state directory.
    pub fn open(state: &Path) -> Result<Self, HistoryError> {
        /// Enough that a long answer does not hold up a short one.
        const THREADS: usize = 2;
        let path = file_in(state);
        let (questions, asked) = std::sync::mpsc::channel::<Question>();
        let asked = Arc::new(Mutex::new(asked));
        for _ in 0..THREADS {
            let (connection, asked) = (schema::open_to_read(&path)?, asked.clone());
            let work = move || {
                loop {
                    let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(question) = next else { return };
                    question(&connection);
                }
            };
            let thread = std::thread::Builder::new().name("belljar-history-reader".to_owned()).spawn(work);
            thread.map_err(|source| HistoryError::Io { path: path.clone(), source })?;
        }
        Ok(Self { questions, path: path.into() })
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, HistoryError> {
        let (answer, answered) = oneshot::channel();
        let question: Question = Box::new(move |connection| {
            // The one who asked may have gone.
            let _ = answer.send(question(connection));
        });
        self.questions.send(question).map_err(|_| HistoryError::Closed)?;
        let failed =
            |source| HistoryError::Database { path: self.path.to_path_buf(), action: "read", source };
        answered.await.map_err(|_| HistoryError::Closed)?.map_err(failed)
    }

    /// The runs that fit, the newest first.
    pub async fn list(&self, filter: RunFilter) -> Result<Vec<RunSummary>, HistoryError> {
        self.ask(move |connection| {
            let (mut conditions, mut values) = (vec!["1".to_owned()], Vec::<Value>::new());
            let mut demand = |condition: &str, value: Value| {
                values.push(value);
                conditions.push(condition.replace('?', &format!("?{}", values.len())));
            };
            for (condition, value) in [
                ("owner = ?", filter.owner),
                ("sandbox = ?", filter.sandbox),
                ("session = ?", filter.session),
                ("key < (SELECT key FROM runs WHERE id = ?)", filter.before),
                ("COALESCE(verdict, 'running') = ?", filter.verdict),
            ] {
                if let Some(value) = value {
                    demand(condition, value.into());
                }
            }
            if let Some(since) = filter.since_ms {
                demand("started_ms >= ?", since.into());
            }
            let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
            let conditions = conditions.join(" AND ");
            let query =
                format!("SELECT {SUMMARY} FROM runs WHERE {conditions} ORDER BY key DESC LIMIT {limit}");
            connection.prepare_cached(&query)?.query_map(params_from_iter(values), summary)?.collect()
        })
        .await
    }

    /// One run, and its script.
    pub async fn find(&self, id: &str) -> Result<Option<(RunSummary, String)>, HistoryError> {
        let id = id.to_owned();
        self.ask(move |connection| {
            let query = format!("SELECT {SUMMARY}, script FROM runs WHERE id = ?1");
            let with_script = |row: &Row<'_>| Ok((summary(row)?, row.get(12)?));
            connection.prepare_cached(&query)?.query_row([id], with_script).optional()
        })
        .await
    }

    /// Events of a run from a number on, at most so many.
    pub async fn events(&self, id: &str, from: u64, most: usize) -> Result<Vec<Arc<str>>, HistoryError> {
        let id = id.to_owned();
        let (from, most) = (whole(from), whole(most as u64));
        self.ask(move |connection| {
            connection
                .prepare_cached(
                    "SELECT json FROM events WHERE run = (SELECT key FROM runs WHERE id = ?1) AND number >= ?2
                     ORDER BY number LIMIT ?3",
                )?
                .query_map(params![id, from, most], |row| row.get::<_, Arc<str>>(0))?
                .collect()
        })
        .await
    }

    /// The last event of a run.
    pub async fn last_event(&self, id: &str) -> Result<Option<Arc<str>>, HistoryError> {
        let id = id.to_owned();
        self.ask(move |connection| {
            connection
                .prepare_cached(
                    "SELECT json FROM events WHERE run = (SELECT key FROM runs WHERE id = ?1)
                     ORDER BY number DESC LIMIT 1",
                )?
                .query_row([id], |row| row.get(0))
                .optional()
        })
        .await
    }
}
