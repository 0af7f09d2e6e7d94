//! Why a path is not trusted.

use std::io;
use std::path::{Path, PathBuf};

/// Why a path is not trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Distrust {
    /// It belongs to another user.
    #[error("{} belongs to user {owner}, who could change what is kept in it", path.display())]
    Owner {
        /// The path.
        path: PathBuf,
        /// The owner.
        owner: u32,
    },
    /// Others may write to it.
    #[error("{} can be written by others (mode {mode:o}), who could change what is kept in it", path.display())]
    Writable {
        /// The path.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It has an access control list, and its mode alone does not keep others out.
    #[error(
        "{} has an access control list that may let others write to it, who could change what is kept in it", path.display()
    )]
    AccessList {
        /// The path.
        path: PathBuf,
    },
    /// It is not a file, a directory or a link.
    #[error("{} is {kind}, but only files, directories and links belong there", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
        /// Its kind, in words.
        kind: &'static str,
    },
    /// It cannot be examined, or made.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl Distrust {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source: source.into() }
    }
}
