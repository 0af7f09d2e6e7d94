//! Why a file did not get where it should.

use std::io;
use std::path::PathBuf;

use belljar_core::GuestPathError;
use belljar_engine::Fault;

/// Why a file did not get into a cell, or out of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// A file of this machine cannot be read, or a directory not be written to.
    #[error("{}: {error}", .path.display())]
    Host {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It is not for files of scripts.
    #[error("{}: {reason}", .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The workspace cannot hold it.
    #[error(
        "there is no room for {path} in the workspace: scratch_size_mb (--disk) limits all files of a run together"
    )]
    NoRoom {
        /// Where it was to be.
        path: String,
    },
    /// There cannot be such a path in a workspace.
    #[error(transparent)]
    Path(#[from] GuestPathError),
    /// The script has something else there, or nothing.
    #[error("{path} in the workspace: {error}")]
    Inside {
        /// The path in the workspace.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// The cell does not hand out its workspace.
    #[error("the workspace cannot be opened: {0}")]
    Workspace(io::Error),
}

impl FilesError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Workspace(_) => Fault::Backend,
            _ => Fault::Caller,
        }
    }

    pub(super) fn inside(path: &str, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoRoom { path },
            io::ErrorKind::NotConnected | io::ErrorKind::TimedOut => Self::Workspace(error),
            _ => Self::Inside { path, error },
        }
    }
}
