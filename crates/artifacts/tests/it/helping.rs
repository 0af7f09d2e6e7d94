//! Places to keep artifacts in, and content for them.

use std::io;
use std::path::{Path, PathBuf};

use belljar_artifacts::{Artifact, ArtifactService, ArtifactStore, ByteStream, SessionInfo, StoreOptions};
use belljar_core::Secret;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tempfile::TempDir;

use crate::s3_server::{BUCKET, Faults, KEY, KEY_ID, S3Server};

/// A place with two stores in it, as two processes would have.
pub(crate) struct Place {
    pub(crate) store: ArtifactStore,
    pub(crate) other: ArtifactStore,
    server: Option<S3Server>,
    directory: Option<TempDir>,
}

impl Place {
    pub(crate) fn memory() -> Self {
        let store = ArtifactStore::in_memory();
        Self { other: store.clone(), store, server: None, directory: None }
    }

    pub(crate) fn directory() -> Self {
        let directory = TempDir::new().unwrap();
        let kept = directory.path().join("kept/here");
        let url = format!("file://{}", kept.display());
        let other = ArtifactStore::from_url(&url, StoreOptions::default()).unwrap();
        Self { store: ArtifactStore::local(&kept), other, server: None, directory: Some(directory) }
    }

    pub(crate) fn bucket() -> Self {
        Self::faulty_bucket(Faults::default())
    }

    pub(crate) fn faulty_bucket(faults: Faults) -> Self {
        let directory = TempDir::new().unwrap();
        let server = S3Server::start(directory.path(), faults);
        let store = || store_in_bucket(&server.endpoint);
        Self { store: store(), other: store(), server: Some(server), directory: Some(directory) }
    }

    /// Every file below the place, in a directory or behind a bucket.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        files(self.directory.as_ref().expect("not in memory").path())
    }

    /// Files whose path has a part with this name.
    pub(crate) fn files_in(&self, part: &str) -> Vec<PathBuf> {
        self.files().into_iter().filter(|path| path.iter().any(|one| one == part)).collect()
    }

    pub(crate) fn kept(&self) -> PathBuf {
        self.directory.as_ref().expect("a directory").path().join("kept/here")
    }

    pub(crate) fn is_bucket(&self) -> bool {
        self.server.is_some()
    }

    pub(crate) fn server(&self) -> &S3Server {
        self.server.as_ref().expect("a bucket")
    }
}

pub(crate) fn store_in_bucket(endpoint: &str) -> ArtifactStore {
    let options = StoreOptions {
        endpoint: Some(endpoint.to_owned()),
        region: Some("us-east-1".to_owned()),
        access_key_id: Some(KEY_ID.to_owned()),
        secret_access_key: Some(Secret::new(KEY)),
        session_token: None,
    };
    ArtifactStore::from_url(&format!("s3://{BUCKET}/some/prefix"), options).unwrap()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found
}

pub(crate) fn session() -> SessionInfo {
    SessionInfo::new("app", "ada", "one")
}

pub(crate) fn text(text: impl Into<Bytes>) -> Artifact {
    Artifact::new(text, "text/plain")
}

/// The bytes of a version.
pub(crate) async fn read(store: &ArtifactStore, name: &str, version: Option<u64>) -> Bytes {
    store.load(&session(), name, version).await.unwrap().expect(name).artifact.data
}

/// Content of so many chunks of one mebibyte, each different.
pub(crate) fn mebibytes(count: u64) -> ByteStream<'static> {
    Box::pin(stream::iter(0..count).map(|at| Ok(mebibyte(at))))
}

pub(crate) fn mebibyte(at: u64) -> Bytes {
    let mut chunk = vec![(at % 251) as u8; 1 << 20];
    chunk[..8].copy_from_slice(&at.to_le_bytes());
    chunk.into()
}

/// The same, and then a failure.
pub(crate) fn failing_after(count: u64) -> ByteStream<'static> {
    let failure = io::Error::new(io::ErrorKind::ConnectionReset, "the guest went away");
    Box::pin(mebibytes(count).chain(stream::iter([Err(failure)])))
}
