//! Where objects are: in memory, in a directory, or in a bucket.
//!
//! Making a [`Place`] touches nothing. A directory is made when something is first written to it,
//! and until then there is nothing to read. A bucket is asked, before it is first written to,
//! whether it can create without overwriting.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions};

use tokio::sync::{Mutex, MutexGuard};

use crate::ArtifactError;

/// A place for objects.
pub(super) struct Place {
    /// What to call it.
    pub(super) name: String,
    /// Who may commit now, among those of this process. The store itself decides between processes.
    pub(super) turns: Turns,
    kind: Kind,
}

enum Kind {
    Memory(Arc<InMemory>),
    Directory {
        path: PathBuf,
        opened: OnceLock<Arc<LocalFileSystem>>,
    },
    #[cfg(feature = "s3")]
    Bucket {
        store: Arc<object_store::aws::AmazonS3>,
        prefix: Path,
        is_conditional: tokio::sync::OnceCell<()>,
    },
}

impl Place {
    pub(super) fn memory() -> Self {
        Self { name: "memory".to_owned(), turns: Turns::default(), kind: Kind::Memory(Arc::default()) }
    }

    pub(super) fn directory(path: &FilePath) -> Self {
        // A program may change its directory later. An empty path fails when it is used.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let name = path.display().to_string();
        Self { name, turns: Turns::default(), kind: Kind::Directory { path, opened: OnceLock::new() } }
    }

    #[cfg(feature = "s3")]
    pub(super) fn bucket(name: String, store: object_store::aws::AmazonS3, prefix: Path) -> Self {
        let is_conditional = tokio::sync::OnceCell::new();
        Self {
            name,
            turns: Turns::default(),
            kind: Kind::Bucket { store: Arc::new(store), prefix, is_conditional },
        }
    }

    /// What can be read. `None` if nothing was ever written.
    pub(super) fn to_read(&self) -> Result<Option<Objects>, ArtifactError> {
        match &self.kind {
            Kind::Directory { path, .. } => match path.try_exists() {
                Ok(true) => self.objects().map(Some),
                Ok(false) => Ok(None),
                Err(source) => Err(ArtifactError::Directory { path: path.clone(), source }),
            },
            _ => self.objects().map(Some),
        }
    }

    /// The same, once it can be written to.
    pub(super) async fn to_write(&self) -> Result<Objects, ArtifactError> {
        if let Kind::Directory { path, .. } = &self.kind {
            // Each time: somebody may have removed it, and others must not see what is in it.
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|source| ArtifactError::Directory { path: path.clone(), source })?;
        }
        let objects = self.objects()?;
        #[cfg(feature = "s3")]
        if let Kind::Bucket { is_conditional, .. } = &self.kind {
            is_conditional.get_or_try_init(|| self.creates_without_overwriting(&objects)).await?;
        }
        Ok(objects)
    }

    fn objects(&self) -> Result<Objects, ArtifactError> {
        Ok(match &self.kind {
            Kind::Memory(store) => Objects {
                store: store.clone(),
                multipart: Some(store.clone()),
                directory: None,
                prefix: Path::default(),
            },
            Kind::Directory { path, opened } => Objects {
                store: match opened.get() {
                    Some(store) => store.clone(),
                    None => {
                        let store = open(path)
                            .map_err(|source| ArtifactError::Directory { path: path.clone(), source })?;
                        opened.get_or_init(|| Arc::new(store)).clone()
                    }
                },
                multipart: None,
                directory: Some(path.clone()),
                prefix: Path::default(),
            },
            #[cfg(feature = "s3")]
            Kind::Bucket { store, prefix, .. } => Objects {
                store: store.clone(),
                multipart: Some(store.clone()),
                directory: None,
                prefix: prefix.clone(),
            },
        })
    }

    /// Creates the same object twice. A server that lets both pass would lose versions.
    #[cfg(feature = "s3")]
    async fn creates_without_overwriting(&self, objects: &Objects) -> Result<(), ArtifactError> {
        const ABOUT: &[u8] = b"Belljar keeps artifacts below this prefix.\n";
        let key = objects.prefix.clone().join("layout-1");
        for _ in 0..2 {
            match objects.create(&key, Bytes::from_static(ABOUT)).await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => return Err(self.failed("preparing the bucket", error)),
            }
        }
        Err(ArtifactError::NoConditionalPut { place: self.name.clone() })
    }

    /// The error for what the place said.
    pub(super) fn failed(&self, doing: impl Into<String>, error: Error) -> ArtifactError {
        ArtifactError::Storage { doing: doing.into(), place: self.name.clone(), source: Box::new(error) }
    }
}

/// One commit at a time for each artifact. Many at once would all want the same number, and all but
/// one would have come in vain. Artifacts that share a turn only wait for each other.
pub(super) struct Turns(Vec<Mutex<()>>);

impl Default for Turns {
    fn default() -> Self {
        Self((0..64).map(|_| Mutex::default()).collect())
    }
}

impl Turns {
    pub(super) async fn take(&self, records: &Path) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        records.hash(&mut hasher);
        let turn = hasher.finish() % self.0.len() as u64;
        self.0[turn as usize].lock().await
    }
}

/// A file system whose writes are on the disk once they are reported: a record must not survive a
/// power cut that its data does not.
fn open(path: &FilePath) -> io::Result<LocalFileSystem> {
    if !path.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(LocalFileSystem::new_with_prefix(path)?.with_fsync(true))
}

/// Objects that can be reached now.
#[derive(Clone)]
pub(super) struct Objects {
    pub(super) store: Arc<dyn ObjectStore>,
    /// Uploads in parts that outlive who started them. A directory has none: its parts are a file.
    pub(super) multipart: Option<Arc<dyn MultipartStore>>,
    /// Where they are files.
    pub(super) directory: Option<PathBuf>,
    /// What every key starts with.
    pub(super) prefix: Path,
}

impl Objects {
    /// Creates an object in one step. False if it exists, and then it is left alone.
    pub(super) async fn create(&self, key: &Path, body: Bytes) -> Result<bool, Error> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.store.put_opts(key, body.into(), options).await {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads a small object. `None` if there is none.
    pub(super) async fn read(&self, key: &Path) -> Result<Option<Bytes>, Error> {
        match self.store.get(key).await {
            Ok(found) => found.bytes().await.map(Some),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes an object, if there is one.
    pub(super) async fn remove(&self, key: &Path) -> Result<(), Error> {
        match self.store.delete(key).await {
            Err(Error::NotFound { .. }) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Everything below a key.
    pub(super) async fn list(&self, below: &Path) -> Result<Vec<ObjectMeta>, Error> {
        self.store.list(Some(below)).try_collect().await
    }

    /// The file that an object is, in a directory.
    pub(super) fn file(&self, key: &Path) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join(key.as_ref()))
    }
}
