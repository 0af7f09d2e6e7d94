//! What interrupted saves leave behind, and that it goes. Here a day is over at once.

#[path = "../../tests/it/s3_server.rs"]
#[allow(dead_code, reason = "the other tests use all of it")]
mod s3_server;

use std::sync::Arc;
use std::time::Duration;

use belljar_core::Secret;
use bytes::Bytes;
use futures_util::stream;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use tempfile::TempDir;

use self::s3_server::{BUCKET, Faults, KEY, KEY_ID, S3Server};
use super::keys::{self, Keys};
use super::pending::Pending;
use super::place::Objects;
use super::sweep::Housekeeping;
use super::upload::{PART, Upload};
use super::{ArtifactStore, StoreOptions};
use crate::{Artifact, ArtifactError, ArtifactService as _, ByteStream, SessionInfo};

fn hurried(store: &ArtifactStore) -> ArtifactStore {
    let housekeeping =
        Housekeeping { leftover_after: Duration::ZERO, every: Duration::ZERO, ..Housekeeping::default() };
    ArtifactStore { place: store.place.clone(), housekeeping: Arc::new(housekeeping) }
}

fn session() -> SessionInfo {
    SessionInfo::new("app", "ada", "one")
}

fn bytes(count: usize) -> ByteStream<'static> {
    Box::pin(stream::iter([Ok(Bytes::from(vec![7; count]))]))
}

async fn everything(objects: &Objects, tree: &str) -> usize {
    objects.list(&objects.prefix.clone().join(tree)).await.unwrap().len()
}

/// Saves of which each is killed at another point.
async fn leave_leftovers(objects: &Objects) {
    let keys = Keys::new(&objects.prefix, &session(), "left");
    for size in [0, 5, PART + 1] {
        let mut pending = Pending::begin(objects, &keys).await.unwrap();
        pending.upload(bytes(size)).await.ok().expect("uploaded");
        std::mem::forget(pending);
    }
    std::mem::forget(Pending::begin(objects, &keys).await.unwrap());
}

async fn leftovers_go_with_a_later_save(store: ArtifactStore) {
    store.save(&session(), "kept", Artifact::new("kept", "")).await.unwrap();
    let objects = store.place.to_write().await.unwrap();
    leave_leftovers(&objects).await;
    // A save that was killed between its commit and its end.
    let keys = Keys::new(&objects.prefix, &session(), "kept");
    let record = objects.read(&keys.record(0)).await.unwrap().unwrap();
    let data = serde_json::from_slice::<serde_json::Value>(&record).unwrap()["data"].clone();
    let note = serde_json::json!({ "data": data, "records": keys.records.to_string() });
    let pending = keys::pending(&objects.prefix);
    objects.store.put(&pending.clone().join("committed"), note.to_string().into()).await.unwrap();
    objects.store.put(&pending.join("nonsense"), "?".into()).await.unwrap();

    // Whoever does not hurry leaves it all alone: it may be going on.
    store.save(&session(), "other", Artifact::default()).await.unwrap();
    assert_eq!((everything(&objects, "data").await, everything(&objects, "pending").await), (5, 6));

    hurried(&store).save(&session(), "other", Artifact::default()).await.unwrap();
    assert_eq!((everything(&objects, "data").await, everything(&objects, "pending").await), (3, 0));
    assert_eq!(store.load(&session(), "kept", None).await.unwrap().unwrap().artifact.data, "kept");
    assert_eq!(store.list_keys(&session()).await.unwrap(), ["kept", "other"]);
}

#[tokio::test]
async fn leftovers_in_memory_go_with_a_later_save() {
    leftovers_go_with_a_later_save(ArtifactStore::in_memory()).await;
}

#[tokio::test]
async fn leftovers_in_a_directory_go_with_a_later_save() {
    let directory = TempDir::new().unwrap();
    leftovers_go_with_a_later_save(ArtifactStore::local(directory.path())).await;
}

#[tokio::test]
async fn leftovers_in_a_bucket_go_with_a_later_save() {
    let (_server, _directory, store) = bucket();
    leftovers_go_with_a_later_save(store).await;
}

fn bucket() -> (S3Server, TempDir, ArtifactStore) {
    let directory = TempDir::new().unwrap();
    let server = S3Server::start(directory.path(), Faults::default());
    let options = StoreOptions {
        endpoint: Some(server.endpoint.clone()),
        access_key_id: Some(KEY_ID.to_owned()),
        secret_access_key: Some(Secret::new(KEY)),
        ..StoreOptions::default()
    };
    let store = ArtifactStore::from_url(&format!("s3://{BUCKET}"), options).unwrap();
    (server, directory, store)
}

/// Parts of an upload are no objects, so nothing lists them. The note knows them.
#[tokio::test]
async fn an_upload_that_was_never_completed_is_aborted() {
    let (_server, directory, store) = bucket();
    let objects = store.place.to_write().await.unwrap();
    let keys = Keys::new(&objects.prefix, &session(), "left");
    let data = keys.data("id");
    let mut upload = Upload::begin(&objects, &data).await.unwrap();
    upload.put(Bytes::from(vec![0; PART])).await.unwrap();
    let note = serde_json::json!({
        "data": data.to_string(), "records": keys.records.to_string(), "upload": upload.id().unwrap(),
    });
    let pending = keys::pending(&objects.prefix).join("note");
    objects.store.put(&pending, note.to_string().into()).await.unwrap();
    let parts = || {
        let entries = std::fs::read_dir(directory.path()).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".upload")).count()
    };
    assert!(parts() > 0);
    hurried(&store).save(&session(), "other", Artifact::default()).await.unwrap();
    assert_eq!(parts(), 0);
}

#[tokio::test]
async fn files_that_were_being_written_go_with_a_later_save() {
    let directory = TempDir::new().unwrap();
    let store = ArtifactStore::local(directory.path());
    store.save(&session(), "a", Artifact::default()).await.unwrap();
    let objects = store.place.to_write().await.unwrap();
    let keys = Keys::new(&objects.prefix, &session(), "a");
    let pending = Pending::begin(&objects, &keys).await.unwrap();
    let unfinished = |key: &Path| directory.path().join(format!("{key}#1"));
    let data = Path::parse(pending.data()).unwrap();
    std::mem::forget(pending);
    let files = [
        unfinished(&data),
        unfinished(&keys.record(1)),
        unfinished(&keys::pending(&objects.prefix).join("x")),
    ];
    for file in &files {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "half").unwrap();
    }
    assert_eq!(store.versions(&session(), "a").await.unwrap(), [0]);
    hurried(&store).save(&session(), "a", Artifact::default()).await.unwrap();
    for file in files {
        assert!(!file.exists(), "{}", file.display());
    }
}

#[tokio::test]
async fn what_a_deletion_left_goes_with_a_later_save() {
    let store = ArtifactStore::in_memory();
    for _ in 0..3 {
        store.save(&session(), "a", Artifact::default()).await.unwrap();
    }
    // A deletion that was killed once it was decided.
    let objects = store.place.to_write().await.unwrap();
    let keys = Keys::new(&objects.prefix, &session(), "a");
    assert!(objects.create(&keys.record(3), Bytes::from_static(super::record::DELETED)).await.unwrap());
    assert!(store.load(&session(), "a", None).await.unwrap().is_none());
    assert_eq!(store.save(&session(), "a", Artifact::default()).await.unwrap(), 0);
    assert_eq!((everything(&objects, "data").await, everything(&objects, "records").await), (1, 2));
}

#[tokio::test]
async fn a_save_that_takes_too_long_commits_nothing() {
    let store = ArtifactStore::in_memory();
    let housekeeping = Housekeeping { save_within: Duration::ZERO, ..Housekeeping::default() };
    let slow = ArtifactStore { place: store.place.clone(), housekeeping: Arc::new(housekeeping) };
    let error = slow.save(&session(), "a", Artifact::default()).await.unwrap_err();
    assert!(matches!(error, ArtifactError::TookTooLong { .. }), "{error}");
    assert_eq!(store.list_keys(&session()).await.unwrap(), [""; 0]);
    let objects = store.place.to_write().await.unwrap();
    assert_eq!((everything(&objects, "data").await, everything(&objects, "pending").await), (0, 0));
}

/// Whatever a dropped save uploaded is removed at once where there is a runtime to do it.
#[tokio::test]
async fn the_data_of_a_dropped_save_is_removed_at_once() {
    let directory = TempDir::new().unwrap();
    let store = ArtifactStore::local(directory.path());
    let objects = store.place.to_write().await.unwrap();
    let keys = Keys::new(&objects.prefix, &session(), "dropped");
    let mut pending = Pending::begin(&objects, &keys).await.unwrap();
    pending.upload(bytes(5)).await.ok().expect("uploaded");
    assert_eq!(everything(&objects, "data").await, 1);
    drop(pending);
    while everything(&objects, "data").await > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(everything(&objects, "pending").await, 1, "a part may still be on its way");
}
