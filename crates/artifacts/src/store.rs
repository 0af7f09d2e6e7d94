//! Keeps artifacts as objects: in memory, in a directory, or in a bucket.
//!
//! ```text
//!  save:  note it ─► upload data, unique key ─► create a small record ─► remove the note
//!                    (nothing shows it)         (if absent: this is the commit)
//!  load:  list the records ─► read one ─► read its data, and check it
//! ```
//!
//! * A version exists when its record does. Records are numbered, and each is created only if it
//!   does not exist: by a hard link in a directory, by a conditional write in a bucket. Who loses
//!   takes the next number. So no version is lost or given twice, whoever saves at the same time.
//! * A deletion is a record as well, so it has its place among the saves ([`history`]). A save that
//!   races with it either comes before, and is deleted, or comes after, as version 0.
//! * A save that is interrupted has no record. What it uploaded is removed at once if somebody is
//!   left to do it, otherwise by a later save ([`pending`], [`sweep`]).
//! * Any strings make a key, and no two of them the same ([`keys`]).

mod commit;
mod download;
mod history;
mod keys;
mod pending;
mod place;
mod read;
mod record;
#[cfg(feature = "s3")]
mod s3;
mod save;
mod service;
mod sweep;
#[cfg(test)]
mod tests;
mod upload;
mod url;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use self::url::StoreOptions;

use self::place::Place;
use self::sweep::Housekeeping;
use crate::ArtifactError;

/// Keeps artifacts in memory, in a directory or in a bucket. Clones share what they keep.
///
/// Any number of stores, in any number of processes, may use the same directory or bucket.
#[derive(Clone)]
pub struct ArtifactStore {
    place: Arc<Place>,
    housekeeping: Arc<Housekeeping>,
}

impl ArtifactStore {
    /// Keeps artifacts in this process, until it ends.
    pub fn in_memory() -> Self {
        Self::in_place(Place::memory())
    }

    /// Keeps artifacts in a directory of a local file system. It is made when something is first
    /// saved, readable by nobody else. A directory that exists keeps its mode.
    pub fn local(directory: impl AsRef<Path>) -> Self {
        Self::in_place(Place::directory(directory.as_ref()))
    }

    /// Keeps artifacts where a URL says: `file:///path`, or `s3://bucket/prefix` with the feature
    /// `s3`. Nothing is read or written yet.
    ///
    /// The server of a bucket must honour `If-None-Match: *`, as Amazon S3 does. The first save
    /// tries it, and fails if it does not.
    pub fn from_url(url: &str, options: StoreOptions) -> Result<Self, ArtifactError> {
        self::url::place(url, options).map(Self::in_place)
    }

    fn in_place(place: Place) -> Self {
        Self { place: Arc::new(place), housekeeping: Arc::default() }
    }
}

impl fmt::Debug for ArtifactStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactStore").field("place", &self.place.name).finish_non_exhaustive()
    }
}
