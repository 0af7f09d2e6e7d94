//! Named, versioned files that outlive the cells that made them.
//!
//! ```
//! # async fn example() -> Result<(), belljar_artifacts::ArtifactError> {
//! use belljar_artifacts::{Artifact, ArtifactService, ArtifactStore, SessionInfo};
//!
//! let store = ArtifactStore::local("artifacts");
//! let session = SessionInfo::new("reports", "ada", "2026-10");
//! let version = store.save(&session, "chart.png", Artifact::new("…", "image/png")).await?;
//! let latest = store.load(&session, "chart.png", None).await?.expect("it was just saved");
//! assert_eq!((version, latest.version), (0, Some(0)));
//! # Ok(()) }
//! ```
//!
//! ```text
//!  save_artifact ─┐                      ┌─► memory
//!  load_artifact ─┴► ArtifactService ────┼─► a local directory
//!  (an ArtifactContext)  = ArtifactStore └─► a bucket of S3      (the feature `s3`)
//! ```
//!
//! * [`ArtifactService`] is what callers know: save, load, list, delete, all in one piece or as a
//!   stream. Others may implement it.
//! * [`ArtifactStore`] implements it on any of three places. Its module docs say how versions are
//!   claimed, and why an interrupted save cannot be seen.
//! * [`ArtifactContext`] is a service and a session. [`save_artifact`] and [`load_artifact`] take
//!   it.
//! * [`parse_artifact_ref`] reads `name@version`.
//!
//! An artifact is only ever added or deleted, never changed: what a version holds stays the same.

mod artifact;
mod context;
mod error;
mod reference;
mod service;
mod store;

pub use artifact::{Artifact, ArtifactInfo, DEFAULT_MIME_TYPE, SessionInfo};
pub use context::{ArtifactContext, load_artifact, save_artifact};
pub use error::ArtifactError;
pub use reference::{ArtifactRef, parse_artifact_ref};
pub use service::{ArtifactService, BoxFuture, ByteStream, LoadedArtifact, OpenArtifact};
pub use store::{ArtifactStore, StoreOptions};
