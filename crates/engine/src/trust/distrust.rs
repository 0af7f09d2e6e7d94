//! Why something is not used.

use std::io;
use std::path::{Path, PathBuf};

/// Why something is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Distrust {
    /// It belongs to another user.
    #[error("{} belongs to user {owner}, who could change what is kept in it", path.display())]
    Owner {
        /// What.
        path: PathBuf,
        /// Whose.
        owner: u32,
    },
    /// Others may write to it.
    #[error("{} can be written by others (mode {mode:o}), who could change what is kept in it", path.display())]
    Writable {
        /// What.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It has an access control list, and its mode alone does not keep others out.
    #[error(
        "{} has an access control list that may let others write to it, who could change what is kept in it", path.display()
    )]
    AccessList {
        /// What.
        path: PathBuf,
    },
    /// It is not a file, a directory or a link.
    #[error("{} is {kind}, which nobody put there with good intent", path.display())]
    Kind {
        /// What.
        path: PathBuf,
        /// In words.
        kind: &'static str,
    },
    /// It cannot be looked at, or made.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Distrust {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source: source.into() }
    }
}
