//! The seam between who uses artifacts and who keeps them.

use std::fmt;
use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;

use crate::{Artifact, ArtifactError, ArtifactInfo, SessionInfo};

/// A future in a box, so that the trait is object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Content, piece by piece. What [`ArtifactService::open`] gives can be saved elsewhere as it is.
pub type ByteStream<'a> = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send + 'a>>;

/// An artifact, and which version of it this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedArtifact {
    /// The artifact.
    pub artifact: Artifact,
    /// The version, from a service that knows it. `None` from one that would have to guess.
    pub version: Option<u64>,
}

/// An artifact that is about to be read.
pub struct OpenArtifact {
    /// What is known about it.
    pub info: ArtifactInfo,
    /// Its bytes. If they are not what was saved, the stream ends in an error that holds an
    /// [`ArtifactError::Damaged`].
    pub stream: ByteStream<'static>,
}

impl fmt::Debug for OpenArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenArtifact").field("info", &self.info).finish_non_exhaustive()
    }
}

/// Keeps artifacts.
///
/// Names that start with `user:` belong to the user: every session of the same app and user sees
/// them. All others belong to one session. A version that was returned stays what it is until the
/// artifact is deleted. Futures need a tokio runtime around them.
pub trait ArtifactService: Send + Sync + 'static {
    /// Saves a new version and returns its number. The first is 0.
    fn save<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
        artifact: Artifact,
    ) -> BoxFuture<'a, Result<u64, ArtifactError>>;

    /// Saves a new version from a stream, without holding it in memory. If the stream fails, or the
    /// future is dropped, there is no new version.
    fn save_stream<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
        mime_type: &'a str,
        content: ByteStream<'a>,
    ) -> BoxFuture<'a, Result<ArtifactInfo, ArtifactError>>;

    /// Reads a version, or the latest. `None` if there is nothing of that name. A version that does
    /// not exist of a name that does is an error.
    fn load<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
        version: Option<u64>,
    ) -> BoxFuture<'a, Result<Option<LoadedArtifact>, ArtifactError>>;

    /// Like [`load`](Self::load), without holding the bytes in memory.
    fn open<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
        version: Option<u64>,
    ) -> BoxFuture<'a, Result<Option<OpenArtifact>, ArtifactError>>;

    /// The names that a session sees, its user's included, sorted.
    fn list_keys<'a>(&'a self, session: &'a SessionInfo)
    -> BoxFuture<'a, Result<Vec<String>, ArtifactError>>;

    /// The versions of an artifact, from the first to the latest. Empty if there is none.
    fn versions<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u64>, ArtifactError>>;

    /// Removes every version. What is saved afterwards starts at 0 again. If there is nothing to
    /// remove, that is no error.
    fn delete<'a>(
        &'a self,
        session: &'a SessionInfo,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), ArtifactError>>;
}
