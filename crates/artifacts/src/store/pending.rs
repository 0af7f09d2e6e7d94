//! A save that goes on, noted in the store itself.
//!
//! The note is written before anything else and removed after the commit. So whatever an
//! interrupted save leaves behind can be found without looking through everything that is kept.
//!
//! ```text
//!  note ─► upload ─► commit ─► remove the note
//!             │         └ failed: nobody knows how it ended. The note stays, and a sweep finds out
//!             ├ failed: the data and the note are removed at once
//!             └ dropped: the data is removed, if there is a runtime to do it. The note stays
//! ```

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use super::keys::{self, Keys};
use super::place::Objects;
use super::upload::{Measured, PART, Parts, Upload, UploadError};
use crate::ByteStream;

/// What a save may leave behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Note {
    /// Where its data goes.
    pub(super) data: String,
    /// Where the records are among which its own would be.
    pub(super) records: String,
    /// The upload in parts that it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) upload: Option<String>,
}

impl Note {
    /// Removes what the save left behind. It must not be committed.
    pub(super) async fn discard(&self, objects: &Objects) -> Result<(), Error> {
        let data = Path::parse(&self.data)?;
        if let (Some(multipart), Some(upload)) = (&objects.multipart, &self.upload) {
            match multipart.abort_multipart(&data, upload).await {
                Ok(()) | Err(Error::NotFound { .. }) => {}
                // Some servers know no upload any more that is complete, and say so in their words.
                Err(error) => tracing::debug!(key = %data, %error, "an upload could not be aborted"),
            }
        }
        if let Some(file) = objects.file(&data) {
            // What the store calls a file while it writes it. It does not list it, nor delete it.
            let mut unfinished = file.into_os_string();
            unfinished.push("#1");
            let _ = std::fs::remove_file(unfinished);
        }
        objects.remove(&data).await
    }
}

/// A save that goes on.
pub(super) struct Pending {
    objects: Objects,
    key: Path,
    note: Note,
    /// Whether dropping it removes its data.
    is_armed: bool,
}

impl Pending {
    /// Notes that a save begins.
    pub(super) async fn begin(objects: &Objects, keys: &Keys) -> Result<Self, Error> {
        let id = keys::unique();
        let note = Note { data: keys.data(&id).to_string(), records: keys.records.to_string(), upload: None };
        let key = keys::pending(&objects.prefix).join(id);
        let pending = Self { objects: objects.clone(), key, note, is_armed: true };
        pending.write().await?;
        Ok(pending)
    }

    async fn write(&self) -> Result<(), Error> {
        let note = serde_json::to_vec(&self.note).expect("strings are always JSON");
        self.objects.store.put(&self.key, Bytes::from(note).into()).await.map(drop)
    }

    /// The key of the data.
    pub(super) fn data(&self) -> &str {
        &self.note.data
    }

    /// Uploads content. Nothing refers to it yet.
    pub(super) async fn upload(&mut self, content: ByteStream<'_>) -> Result<Measured, UploadError> {
        let data = Path::parse(&self.note.data).map_err(Error::from)?;
        let mut parts = Parts::new(content, PART);
        let first = parts.next().await?;
        if first.len() < PART {
            self.objects.store.put(&data, first.into()).await?;
            return Ok(parts.measured());
        }
        let mut upload = Upload::begin(&self.objects, &data).await?;
        if let Some(id) = upload.id() {
            self.note.upload = Some(id.to_owned());
            self.write().await?;
        }
        upload.send(first, &mut parts).await?;
        Ok(parts.measured())
    }

    /// Removes what was uploaded, and the note.
    pub(super) async fn undo(mut self) {
        let undone = async {
            self.note.discard(&self.objects).await?;
            self.objects.remove(&self.key).await
        };
        if let Err(error) = undone.await {
            tracing::debug!(key = %self.key, %error, "a failed save is left for a sweep");
        }
        self.is_armed = false;
    }

    /// From here on the data may be referred to, even if the commit seems to fail.
    pub(super) fn commit(&mut self) {
        self.is_armed = false;
    }

    /// Removes the note of a save that was committed.
    pub(super) async fn end(self) {
        if let Err(error) = self.objects.remove(&self.key).await {
            tracing::debug!(key = %self.key, %error, "the note of a save is left for a sweep");
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_armed {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let (objects, note) = (self.objects.clone(), self.note.clone());
            runtime.spawn(async move {
                if let Err(error) = note.discard(&objects).await {
                    tracing::debug!(key = note.data, %error, "a dropped save is left for a sweep");
                }
            });
        }
    }
}
