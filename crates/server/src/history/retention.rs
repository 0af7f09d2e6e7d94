//! What goes: runs that are too old, and the oldest while there is too much.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::now_ms;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// For how long.
    pub age: Duration,
    /// How many bytes of scripts and events.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: Duration::from_secs(30 * 24 * 60 * 60), bytes: 1 << 30 }
    }
}

impl Retention {
    /// Removes what is over. A run that goes on stays.
    pub(super) fn apply(self, connection: &mut Connection) -> rusqlite::Result<()> {
        let age = i64::try_from(self.age.as_millis()).unwrap_or(i64::MAX);
        let oldest = now_ms().saturating_sub(age);
        let most = i64::try_from(self.bytes).unwrap_or(i64::MAX);
        let transaction = connection.transaction()?;
        transaction.execute("DELETE FROM runs WHERE started_ms < ?1 AND ended_ms IS NOT NULL", [oldest])?;
        // The newest whose sum is within bounds stay.
        transaction.execute(
            "DELETE FROM runs WHERE ended_ms IS NOT NULL AND key IN (
                 SELECT key FROM (SELECT key, SUM(bytes) OVER (ORDER BY key DESC) AS so_far FROM runs)
                 WHERE so_far > ?1)",
            params![most],
        )?;
        transaction.commit()?;
        // Each step gives one page back, so all of them are taken.
        let mut vacuum = connection.prepare("PRAGMA incremental_vacuum")?;
        let mut pages = vacuum.query([])?;
        while pages.next()?.is_some() {}
        Ok(())
    }
}
