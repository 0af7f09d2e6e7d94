//! Why something could not be done in a workspace.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use crate::OutputManifest;

/// Something could not be done as asked. A program that fails is no error: its
/// [`RunResult`](crate::RunResult) says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// A path leads out of the workspace.
    #[error("path escapes workspace: {path}")]
    Escapes {
        /// The path as it was given.
        path: String,
    },
    /// A path is empty.
    #[error("empty file path")]
    EmptyPath,
    /// Something that must exist does not.
    #[error("{what} does not exist: {name}")]
    NotFound {
        /// What was looked for: `file`, `directory`, `workspace`, `session`.
        what: &'static str,
        /// Its name or path.
        name: String,
    },
    /// Something is in the way: a file where a directory must be, or the other way round.
    #[error("{path} is {found}, not {wanted}")]
    WrongKind {
        /// The path, below the workspace.
        path: String,
        /// What is there.
        found: &'static str,
        /// What must be there.
        wanted: &'static str,
    },
    /// An input's source has a scheme that nobody knows.
    #[error("unsupported input: {from}")]
    UnsupportedScheme {
        /// The source as it was given.
        from: String,
    },
    /// An input's source is of a known scheme, but cannot be read.
    #[error("invalid input {from}: {reason}")]
    InvalidInput {
        /// The source as it was given.
        from: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The caller may not have that.
    #[error("{what} is not granted: {name}")]
    NotGranted {
        /// What was asked for: `host path`.
        what: &'static str,
        /// Its name or path.
        name: String,
    },
    /// No language has that name.
    #[error("unsupported language: {language}")]
    UnsupportedLanguage {
        /// The name as it was given.
        language: String,
    },
    /// A language is known, but nothing that runs it was found.
    #[error("cannot run {language}: it needs {program}; {advice}")]
    Toolchain {
        /// The language.
        language: String,
        /// The programs that were looked for.
        program: String,
        /// How to provide one.
        advice: String,
    },
    /// A glob pattern is malformed.
    #[error("bad pattern `{pattern}`: {reason}")]
    Pattern {
        /// The pattern as it was given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A program's name, argument, variable or limit cannot be used.
    #[error("invalid program: {reason}")]
    InvalidProgram {
        /// What is wrong with it.
        reason: String,
    },
    /// The caller gave up.
    #[error("cancelled")]
    Cancelled,
    /// The caller's time was over.
    #[error("deadline exceeded")]
    DeadlineExceeded,
    /// A session's program has exited.
    #[error("session is not running")]
    NotRunning,
    /// A session's program has no open standard input.
    #[error("stdin is not available")]
    NoStdin,
    /// An operation that this engine or session does not have.
    #[error("{what} is not supported by {engine}")]
    Unsupported {
        /// The operation.
        what: &'static str,
        /// The engine.
        engine: String,
    },
    /// A limit that this engine cannot enforce. It refuses, so that nobody relies on it.
    #[error("the {engine} engine cannot enforce {what}; leave it out, or use another engine")]
    Limit {
        /// The limit.
        what: &'static str,
        /// The engine.
        engine: String,
    },
    /// The workspace is full.
    #[error("the workspace may hold {limit} bytes, and would hold {wanted}")]
    DiskFull {
        /// How many it may hold.
        limit: u64,
        /// How many it would hold.
        wanted: u64,
    },
    /// The instance that the workspace was in is gone, so the workspace is gone too.
    #[error("the workspace {id} is stale: {reason}")]
    Stale {
        /// The workspace.
        id: String,
        /// How that was found out.
        reason: String,
    },
    /// A manager says that its workspaces depend on an instance, but not on which.
    #[error("cannot tell which instance the workspace {id} is in: its manager gave an empty name")]
    NoInstance {
        /// The workspace.
        id: String,
    },
    /// As many workspaces as there may be are in use.
    #[error("all {limit} workspaces are in use; release one, or raise the limit")]
    TooManyWorkspaces {
        /// How many there may be.
        limit: usize,
    },
    /// There is no tokio runtime where one is needed.
    #[error("a registry of workspaces is only used inside a tokio runtime")]
    NoRuntime,
    /// The task that should have done it is gone: it panicked, or its runtime was shut down.
    #[error("cannot {doing}: the task that did it is gone")]
    Abandoned {
        /// What was tried.
        doing: &'static str,
    },
    /// Outputs were saved, but that they were could not be recorded.
    #[error("{} outputs are saved, but not recorded: {source}", manifest.files.len())]
    PartialOutputCommit {
        /// What was saved.
        manifest: Box<OutputManifest>,
        /// Why it could not be recorded.
        source: Box<WorkspaceError>,
    },
    /// A file is longer than may be read, and half a file is never saved.
    #[error("cannot save truncated output file: {name}")]
    Truncated {
        /// The file.
        name: String,
    },
    /// No artifact service was given, and something refers to artifacts.
    #[error("artifact service not in context")]
    NoArtifacts,
    /// The record of a workspace is not one.
    #[error("{} is not a record of a workspace: {reason}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file system failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried: `read`, `create`.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// An engine failed in its own way.
    #[error("the {engine} engine cannot {doing}: {source}")]
    Engine {
        /// The engine.
        engine: String,
        /// What was tried.
        doing: &'static str,
        /// What went wrong.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Somebody else made the same attempt, and it failed for both.
    #[error(transparent)]
    Shared(std::sync::Arc<WorkspaceError>),
}

impl WorkspaceError {
    /// A failure of the file system, for `map_err`.
    pub fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// A failure of an engine, for `map_err`.
    pub fn engine<E>(engine: impl Into<String>, doing: &'static str) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let engine = engine.into();
        move |source| Self::Engine { engine, doing, source: source.into() }
    }

    /// What went wrong, also if somebody else tried.
    pub fn original(&self) -> &Self {
        match self {
            Self::Shared(shared) => shared.original(),
            other => other,
        }
    }

    /// Whether the workspace is gone, so that the same call may succeed in a new one. It is not if
    /// something has already happened that must not happen twice.
    pub fn is_worth_a_new_workspace(&self) -> bool {
        matches!(self.original(), Self::Stale { .. })
    }
}
