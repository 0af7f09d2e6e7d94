//! Removes what interrupted saves and deletions left behind.
//!
//! It runs now and then at the end of a save, does a bounded amount of work, and never fails it.
//! What it must never do is remove the data of a version. So it looks only at saves that were noted
//! a day ago or more, and a save that takes half a day gives up before it commits.

use std::path::Path as FilePath;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{Error, ObjectMeta};

use super::history::History;
use super::keys::{self, Keys};
use super::pending::Note;
use super::place::Objects;
use super::record::{DELETED, Record};

/// How many notes are looked at in one sweep, and how many of them are dealt with.
const LOOKED_AT: usize = 1000;
const DEALT_WITH: usize = 20;
/// How many records are read to find out whether a save was committed.
const RECORDS_READ: usize = 1000;
/// How far two clocks may differ.
const SKEW: Duration = Duration::from_secs(3600);

/// When what is done.
pub(super) struct Housekeeping {
    /// How old a note must be before what it names is removed.
    pub(super) leftover_after: Duration,
    /// How long a save may take.
    pub(super) save_within: Duration,
    /// How often a store sweeps.
    pub(super) every: Duration,
    /// When it last did.
    pub(super) last: Mutex<Option<Instant>>,
}

impl Default for Housekeeping {
    fn default() -> Self {
        Self {
            leftover_after: Duration::from_secs(24 * 3600),
            save_within: Duration::from_secs(12 * 3600),
            every: Duration::from_secs(3600),
            last: Mutex::default(),
        }
    }
}

impl Housekeeping {
    fn is_due(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= self.every);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }

    /// Tidies up after a save of an artifact, if it is time.
    pub(super) async fn after_a_save(&self, objects: &Objects, keys: &Keys, history: &History) {
        let done = async {
            remove_deleted(objects, keys, history, DEALT_WITH).await?;
            if self.is_due() { self.sweep(objects, keys).await } else { Ok(()) }
        };
        if let Err(error) = done.await {
            tracing::debug!(%error, "leftovers of artifacts could not be swept");
        }
    }

    async fn sweep(&self, objects: &Objects, keys: &Keys) -> Result<(), Error> {
        let Some(before) = SystemTime::now().checked_sub(self.leftover_after) else { return Ok(()) };
        let pending = keys::pending(&objects.prefix);
        let notes = objects.store.list(Some(&pending)).take(LOOKED_AT).collect::<Vec<_>>().await;
        let mut left = DEALT_WITH;
        for note in notes {
            let note = note?;
            if SystemTime::from(note.last_modified) <= before && left > 0 {
                left -= 1;
                settle(objects, &note).await?;
            }
        }
        for directory in [&pending, &keys.records] {
            if let Some(directory) = objects.file(directory) {
                remove_unfinished(&directory, before);
            }
        }
        Ok(())
    }
}

/// Removes what a note names, unless it was committed, and the note.
async fn settle(objects: &Objects, found: &ObjectMeta) -> Result<(), Error> {
    let Some(text) = objects.read(&found.location).await? else { return Ok(()) };
    match serde_json::from_slice::<Note>(&text) {
        Ok(note) => match is_committed(objects, &note, found).await? {
            Some(true) => {}
            Some(false) => {
                note.discard(objects).await?;
                tracing::debug!(key = note.data, "removed what an interrupted save left");
            }
            None => return Ok(()),
        },
        Err(error) => tracing::debug!(key = %found.location, %error, "removed a note that says nothing"),
    }
    objects.remove(&found.location).await
}

/// Whether a record refers to the data of a note. `None` if there is too much to look through.
async fn is_committed(objects: &Objects, note: &Note, found: &ObjectMeta) -> Result<Option<bool>, Error> {
    let since = SystemTime::from(found.last_modified).checked_sub(SKEW).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut records = objects.list(&Path::parse(&note.records)?).await?;
    records.retain(|record| {
        record.size != DELETED.len() as u64 && SystemTime::from(record.last_modified) >= since
    });
    if records.len() > RECORDS_READ {
        return Ok(None);
    }
    for record in records {
        if let Some(bytes) = objects.read(&record.location).await?
            && Record::from_bytes(&bytes).is_ok_and(|record| record.data == note.data)
        {
            return Ok(Some(true));
        }
    }
    Ok(Some(false))
}

/// Removes versions that were deleted, at most so many. Data goes first: a record without data is
/// deleted anyway, but data without a record would never be found again.
pub(super) async fn remove_deleted(
    objects: &Objects,
    keys: &Keys,
    history: &History,
    at_most: usize,
) -> Result<(), Error> {
    let deleted = history.deleted();
    // A record that lost all but a few bytes looks like a deletion in a listing, so it is read.
    let Some(deletion) = history.deletion().filter(|_| !deleted.is_empty()) else { return Ok(()) };
    if objects.read(&keys.record(deletion)).await?.is_none_or(|bytes| bytes != DELETED) {
        return Ok(());
    }
    for (sequence, is_deletion) in deleted.into_iter().take(at_most) {
        let key = keys.record(sequence);
        if !is_deletion
            && let Some(bytes) = objects.read(&key).await?
            && let Ok(record) = Record::from_bytes(&bytes)
            && let Ok(data) = record.data()
        {
            objects.remove(&data).await?;
        }
        objects.remove(&key).await?;
    }
    Ok(())
}

/// Removes files that the store was writing when its process was killed. It does not list them.
fn remove_unfinished(directory: &FilePath, before: SystemTime) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let is_unfinished = entry.file_name().to_string_lossy().contains('#');
        let modified = || entry.metadata().and_then(|metadata| metadata.modified());
        if is_unfinished && modified().is_ok_and(|modified| modified <= before) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
