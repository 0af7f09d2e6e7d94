//! [`ArtifactStore`] as an [`ArtifactService`].

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use bytes::BytesMut;
use futures_util::{TryStreamExt as _, stream};
use object_store::path::Path;

use super::commit::Shelf;
use super::history::History;
use super::keys::{self, Keys};
use super::place::Objects;
use super::record::Record;
use super::save::{Label, save};
use super::{ArtifactStore, sweep};
use crate::context::typed;
use crate::{
    Artifact, ArtifactError, ArtifactInfo, ArtifactService, BoxFuture, ByteStream, LoadedArtifact,
    OpenArtifact, SessionInfo,
};

impl ArtifactStore {
    fn shelf<'a>(&'a self, objects: Objects, session: &SessionInfo, name: &'a str) -> Shelf<'a> {
        let keys = Keys::new(&objects.prefix, session, name);
        Shelf { place: &self.place, objects, keys, name }
    }

    /// The artifact, if anything was ever saved here.
    fn to_read<'a>(
        &'a self,
        session: &SessionInfo,
        name: &'a str,
    ) -> Result<Option<Shelf<'a>>, ArtifactError> {
        Ok(self.place.to_read()?.map(|objects| self.shelf(objects, session, name)))
    }

    async fn save_labelled(
        &self,
        session: &SessionInfo,
        name: &str,
        label: Label,
        content: ByteStream<'_>,
    ) -> Result<ArtifactInfo, ArtifactError> {
        let objects = self.place.to_write().await?;
        save(self.shelf(objects, session, name), label, content, &self.housekeeping).await
    }

    /// The names below a directory that have a version.
    async fn names(&self, objects: &Objects, below: &Path) -> Result<BTreeSet<String>, ArtifactError> {
        let failed = |error| self.place.failed("listing artifacts", error);
        let mut histories: BTreeMap<String, History> = BTreeMap::new();
        for object in objects.list(below).await.map_err(failed)? {
            let part = object.location.prefix_match(below).and_then(|mut parts| parts.next());
            if let Some(part) = part {
                histories.entry(part.as_ref().to_owned()).or_default().add(&object);
            }
        }
        let mut names = BTreeSet::new();
        for (part, history) in histories {
            let Some((_, sequence)) = history.latest() else { continue };
            if let Some(name) = keys::decode(&part) {
                names.insert(name);
                continue;
            }
            // Its key does not tell it. If the record is gone, so is the artifact.
            let key = below.clone().join(part).join(format!("{sequence:020}"));
            let record = objects.read(&key).await.map_err(failed)?;
            names.extend(record.and_then(|bytes| Record::from_bytes(&bytes).ok()).map(|record| record.name));
        }
        Ok(names)
    }
}

impl ArtifactService for ArtifactStore {
    fn save<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
        artifact: Artifact,
    ) -> BoxFuture<'a, Result<u64, ArtifactError>> {
        Box::pin(async move {
            let Artifact { data, mime_type, url, name: shown_as } = artifact;
            let label = Label { mime_type: typed(&mime_type), url, shown_as };
            let content = Box::pin(stream::iter([Ok(data)]));
            self.save_labelled(session, name, label, content).await.map(|info| info.version)
        })
    }

    fn save_stream<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
        mime_type: &'a str,
        content: ByteStream<'a>,
    ) -> BoxFuture<'a, Result<ArtifactInfo, ArtifactError>> {
        let label = Label { mime_type: typed(mime_type), url: String::new(), shown_as: name.to_owned() };
        Box::pin(self.save_labelled(session, name, label, content))
    }

    fn load<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
        version: Option<u64>,
    ) -> BoxFuture<'a, Result<Option<LoadedArtifact>, ArtifactError>> {
        Box::pin(async move {
            let Some(shelf) = self.to_read(session, name)? else { return Ok(None) };
            let Some(found) = shelf.find(version).await? else { return Ok(None) };
            let version = Some(found.version);
            let Record { mime_type, url, shown_as, size_bytes, .. } = found.record.clone();
            let mut stream = found.stream(&self.place.name)?;
            // The stream has already compared the size with that of the object.
            let mut data = BytesMut::with_capacity(size_bytes.try_into().unwrap_or(0));
            while let Some(chunk) = stream.try_next().await? {
                data.extend_from_slice(&chunk);
            }
            let artifact = Artifact { data: data.freeze(), mime_type, url, name: shown_as };
            Ok(Some(LoadedArtifact { artifact, version }))
        })
    }

    fn open<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
        version: Option<u64>,
    ) -> BoxFuture<'a, Result<Option<OpenArtifact>, ArtifactError>> {
        Box::pin(async move {
            let Some(shelf) = self.to_read(session, name)? else { return Ok(None) };
            let Some(found) = shelf.find(version).await? else { return Ok(None) };
            let info = found.record.info(found.version);
            let stream = found.stream(&self.place.name)?.map_err(io::Error::other);
            Ok(Some(OpenArtifact { info, stream: Box::pin(stream) }))
        })
    }

    fn list_keys<'a>(
        &'a self,
        session: &'a SessionInfo,
    ) -> BoxFuture<'a, Result<Vec<String>, ArtifactError>> {
        Box::pin(async move {
            let Some(objects) = self.place.to_read()? else { return Ok(Vec::new()) };
            let mut names = BTreeSet::new();
            for below in keys::visible(&objects.prefix, session) {
                names.extend(self.names(&objects, &below).await?);
            }
            Ok(names.into_iter().collect())
        })
    }

    fn versions<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u64>, ArtifactError>> {
        Box::pin(async move {
            let Some(shelf) = self.to_read(session, name)? else { return Ok(Vec::new()) };
            let history = shelf.history().await?;
            Ok(history.versions().map(|(version, _)| version).collect())
        })
    }

    fn delete<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), ArtifactError>> {
        Box::pin(async move {
            let Some(shelf) = self.to_read(session, name)? else { return Ok(()) };
            let history = shelf.delete().await?;
            let removed = sweep::remove_deleted(&shelf.objects, &shelf.keys, &history, usize::MAX).await;
            removed.map_err(|error| shelf.failed("removing the data of", error))
        })
    }
}
