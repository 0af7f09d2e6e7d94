//! What can go wrong: which artifact, what happened, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why something with an artifact did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// Nobody keeps artifacts here.
    #[error("artifact service not in context")]
    NoService,
    /// There is none of that name.
    #[error("artifact not found: {name}")]
    NotFound {
        /// The name that was asked for.
        name: String,
    },
    /// The artifact exists, but not in that version.
    #[error("artifact {name:?} has no version {version}: the latest is {latest}")]
    UnknownVersion {
        /// Which artifact.
        name: String,
        /// The version that was asked for.
        version: u64,
        /// The last one there is.
        latest: u64,
    },
    /// A reference names nothing.
    #[error("invalid artifact ref: {reference}")]
    InvalidRef {
        /// The reference.
        reference: String,
    },
    /// A reference has a version that no artifact can have.
    #[error("invalid artifact ref: {reference}: a version is at most {}", u64::MAX)]
    RefVersionTooLarge {
        /// The reference.
        reference: String,
    },
    /// What is stored is not what was saved.
    #[error("artifact {name:?}, version {version}, in {place} is damaged: {problem}; save it again")]
    Damaged {
        /// Which artifact.
        name: String,
        /// Which version.
        version: u64,
        /// Where it is kept.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The content that was to be saved ended in an error. Nothing was saved.
    #[error("artifact {name:?} was not saved: its content could not be read to the end: {source}")]
    Content {
        /// Which artifact.
        name: String,
        /// What the stream said.
        source: io::Error,
    },
    /// Content came for so long that it might be taken for a leftover. Nothing was saved.
    #[error("artifact {name:?} was not saved: its content came for more than {hours} hours; save it faster")]
    TookTooLong {
        /// Which artifact.
        name: String,
        /// How long a save may take.
        hours: u64,
    },
    /// The store says that a version exists, and does not list it.
    #[error(
        "artifact {name:?}: {place} refuses each new version as if it existed already; \
         check that nothing else writes there"
    )]
    Contended {
        /// Which artifact.
        name: String,
        /// Where it is kept.
        place: String,
    },
    /// The place failed.
    #[error("{doing} failed in {place}: {source}; check that it can be reached and written to")]
    Storage {
        /// What was tried, with the name of the artifact.
        doing: String,
        /// Where.
        place: String,
        /// What it said.
        source: Box<object_store::Error>,
    },
    /// The directory for artifacts cannot be used.
    #[error(
        "artifacts cannot be kept in {}: {source}; it must be a directory that this user may write to",
        path.display()
    )]
    Directory {
        /// Which directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A server overwrites where it was asked to create only. Versions would be lost.
    #[error(
        "artifacts cannot be kept in {place}: the server ignores `If-None-Match: *`, so two saves could \
         overwrite each other; use a server with conditional writes"
    )]
    NoConditionalPut {
        /// Which bucket.
        place: String,
    },
    /// No store can be made of that URL and those options.
    #[error("no place for artifacts: {url}: {problem}")]
    Url {
        /// The URL, without keys in it.
        url: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}
