//! Claims the next number of an artifact, against everybody else who wants it.

use std::time::Duration;

use bytes::Bytes;

use super::history::History;
use super::keys::Keys;
use super::place::{Objects, Place};
use super::record::{DELETED, Record};
use crate::ArtifactError;

/// How often a listing is repeated that seems to miss something.
const LISTINGS: usize = 4;
/// How often the same number may be refused without being listed.
const REFUSALS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(5);

/// An artifact, in a place.
pub(super) struct Shelf<'a> {
    pub(super) place: &'a Place,
    pub(super) objects: Objects,
    pub(super) keys: Keys,
    pub(super) name: &'a str,
}

impl Shelf<'_> {
    /// Everything that happened to it.
    pub(super) async fn history(&self) -> Result<History, ArtifactError> {
        let mut tries = 1;
        loop {
            let listed = self.objects.list(&self.keys.records).await;
            let listed = listed.map_err(|error| self.failed("listing the versions of", error))?;
            let mut history = History::default();
            listed.iter().for_each(|object| history.add(object));
            // If it stays like this, somebody removed a record by hand. The others still count.
            if !history.has_a_gap() || tries == LISTINGS {
                return Ok(history);
            }
            tries += 1;
        }
    }

    /// Makes a record the next version. Returns the version, and what happened before it.
    pub(super) async fn append(&self, record: &Record) -> Result<(u64, History), ArtifactError> {
        let body = record.to_bytes();
        let _turn = self.place.turns.take(&self.keys.records).await;
        let mut refused = Refused::default();
        loop {
            let history = self.history().await?;
            let (next, version) = history.next();
            if self.create(next, body.clone()).await? || self.is_at(record, next).await? {
                return Ok((version, history));
            }
            refused.again(next, self).await?;
        }
    }

    /// Makes a deletion the next record, unless there is nothing to delete. Returns what is left.
    pub(super) async fn delete(&self) -> Result<History, ArtifactError> {
        let _turn = self.place.turns.take(&self.keys.records).await;
        let mut refused = Refused::default();
        loop {
            let history = self.history().await?;
            if history.latest().is_none() {
                return Ok(history);
            }
            let (next, _) = history.next();
            if !self.create(next, Bytes::from_static(DELETED)).await? {
                refused.again(next, self).await?;
            }
        }
    }

    async fn create(&self, sequence: u64, body: Bytes) -> Result<bool, ArtifactError> {
        let created = self.objects.create(&self.keys.record(sequence), body).await;
        created.map_err(|error| self.failed("adding a version of", error))
    }

    /// Whether a number that is taken was taken by this very record: a request that was sent again,
    /// because its answer was lost, finds itself there.
    async fn is_at(&self, record: &Record, sequence: u64) -> Result<bool, ArtifactError> {
        let found = self.objects.read(&self.keys.record(sequence)).await;
        let found = found.map_err(|error| self.failed("adding a version of", error))?;
        let found = found.and_then(|bytes| Record::from_bytes(&bytes).ok());
        Ok(found.is_some_and(|found| found.data == record.data))
    }

    pub(super) fn failed(&self, doing: &str, error: object_store::Error) -> ArtifactError {
        self.place.failed(format!("{doing} artifact {:?}", self.name), error)
    }
}

/// Counts refusals of one number. Losing to others is no reason to stop, because then one of them
/// got ahead, and the next number is another.
#[derive(Default)]
struct Refused {
    sequence: Option<u64>,
    times: u32,
}

impl Refused {
    async fn again(&mut self, sequence: u64, shelf: &Shelf<'_>) -> Result<(), ArtifactError> {
        if self.sequence != Some(sequence) {
            *self = Self { sequence: Some(sequence), times: 1 };
            return Ok(());
        }
        self.times += 1;
        if self.times > REFUSALS {
            let place = shelf.place.name.clone();
            return Err(ArtifactError::Contended { name: shelf.name.to_owned(), place });
        }
        tokio::time::sleep(PAUSE * self.times).await;
        Ok(())
    }
}
