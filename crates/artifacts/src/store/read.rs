//! Finds a version and opens its data, while others may save and delete.

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::{Error, GetResult, ObjectStoreExt as _};

use super::commit::Shelf;
use super::download::{self, DownloadError};
use super::record::Record;
use crate::ArtifactError;

/// How often it is tried again to read a version that somebody deletes meanwhile.
const TRIES: usize = 8;

/// A version whose data is open.
pub(super) struct Found {
    pub(super) version: u64,
    pub(super) record: Record,
    data: GetResult,
}

impl Shelf<'_> {
    /// Opens a version, or the latest. `None` if there is no version at all.
    pub(super) async fn find(&self, wanted: Option<u64>) -> Result<Option<Found>, ArtifactError> {
        let mut problem = None;
        for _ in 0..TRIES {
            let history = self.history().await?;
            let Some((latest, last)) = history.latest() else { return Ok(None) };
            let version = wanted.unwrap_or(latest);
            let sequence = if version == latest { Some(last) } else { history.find(version) };
            let Some(sequence) = sequence else {
                return Err(ArtifactError::UnknownVersion { name: self.name.to_owned(), version, latest });
            };
            // The same version was incomplete before, and still is: nobody is deleting it.
            if let Some((before, missing)) = problem
                && before == sequence
            {
                return Err(self.damaged(version, missing));
            }
            let record = self.objects.read(&self.keys.record(sequence)).await;
            let Some(record) = record.map_err(|error| self.failed("loading", error))? else {
                problem = Some((sequence, "its record is gone"));
                continue;
            };
            let record = Record::from_bytes(&record).map_err(|why| self.damaged(version, why))?;
            let data = record.data().map_err(|why| self.damaged(version, why))?;
            match self.objects.store.get(&data).await {
                Ok(data) => return Ok(Some(Found { version, record, data })),
                Err(Error::NotFound { .. }) => problem = Some((sequence, "its data is gone")),
                Err(error) => return Err(self.failed("loading", error)),
            }
        }
        Err(ArtifactError::Contended { name: self.name.to_owned(), place: self.place.name.clone() })
    }

    fn damaged(&self, version: u64, problem: impl Into<String>) -> ArtifactError {
        let (name, place) = (self.name.to_owned(), self.place.name.clone());
        ArtifactError::Damaged { name, version, place, problem: problem.into() }
    }
}

impl Found {
    /// Its bytes, checked as they come.
    pub(super) fn stream(
        self,
        place: &str,
    ) -> Result<BoxStream<'static, Result<Bytes, ArtifactError>>, ArtifactError> {
        let Self { version, record, data } = self;
        let stream = download::checked(&record, data);
        let (name, place) = (record.name, place.to_owned());
        let told = move |error| match error {
            DownloadError::Damaged(problem) => {
                ArtifactError::Damaged { name: name.clone(), version, place: place.clone(), problem }
            }
            DownloadError::Store(source) => ArtifactError::Storage {
                doing: format!("reading artifact {name:?}"),
                place: place.clone(),
                source: Box::new(source),
            },
        };
        match stream {
            Ok(stream) => Ok(stream.map_err(told).boxed()),
            Err(error) => Err(told(error)),
        }
    }
}
