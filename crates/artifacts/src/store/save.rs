//! One save, from its content to its version.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::commit::Shelf;
use super::pending::Pending;
use super::record::Record;
use super::sweep::Housekeeping;
use super::upload::UploadError;
use crate::{ArtifactError, ArtifactInfo, ByteStream};

/// What a save says about its content.
pub(super) struct Label {
    pub(super) mime_type: String,
    pub(super) url: String,
    pub(super) shown_as: String,
}

/// Uploads content, and then makes it a version.
pub(super) async fn save(
    shelf: Shelf<'_>,
    label: Label,
    content: ByteStream<'_>,
    housekeeping: &Housekeeping,
) -> Result<ArtifactInfo, ArtifactError> {
    let began = (Instant::now(), SystemTime::now());
    let pending = Pending::begin(&shelf.objects, &shelf.keys).await;
    let mut pending = pending.map_err(|error| shelf.failed("saving", error))?;
    let uploaded = match pending.upload(content).await {
        Ok(measured) if since(began) <= housekeeping.save_within => Ok(measured),
        Ok(_) => Err(ArtifactError::TookTooLong {
            name: shelf.name.to_owned(),
            hours: housekeeping.save_within.as_secs() / 3600,
        }),
        Err(UploadError::Content(source)) => {
            Err(ArtifactError::Content { name: shelf.name.to_owned(), source })
        }
        Err(UploadError::Store(error)) => Err(shelf.failed("saving", error)),
    };
    let measured = match uploaded {
        Ok(measured) => measured,
        Err(error) => {
            pending.undo().await;
            return Err(error);
        }
    };
    let record = Record {
        name: shelf.name.to_owned(),
        data: pending.data().to_owned(),
        size_bytes: measured.size_bytes,
        sha256: measured.sha256,
        mime_type: label.mime_type,
        created_at: to_the_millisecond(SystemTime::now()),
        url: label.url,
        shown_as: label.shown_as,
    };
    pending.commit();
    let (version, history) = shelf.append(&record).await?;
    pending.end().await;
    housekeeping.after_a_save(&shelf.objects, &shelf.keys, &history).await;
    tracing::debug!(name = shelf.name, version, size_bytes = record.size_bytes, "artifact saved");
    Ok(record.info(version))
}

/// A moment as it is written down, so that it is the same when it is read again.
fn to_the_millisecond(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_secs(since.as_secs()) + Duration::from_millis(since.subsec_millis().into())
}

/// How long ago that was. A machine that slept knows it by one clock, one whose time was set by the
/// other.
fn since((instant, time): (Instant, SystemTime)) -> Duration {
    instant.elapsed().max(time.elapsed().unwrap_or_default())
}
