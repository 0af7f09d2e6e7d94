//! Why a layer could not be made.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use belljar_core::config::RequirementFault;

use super::hint::Hint;
use super::installer::Installer;
use crate::Fault;
use crate::trust::Distrust;

/// A layer that could not be made or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// A config without dependencies needs no layer. The caller must not ask for one.
    #[error("a layer needs at least one requirement")]
    NoRequirements,
    /// A requirement that is never given to an installer.
    #[error("requirement {requirement:?} is refused: it {reason}")]
    Requirement {
        /// The requirement as it was written.
        requirement: String,
        /// The rule it breaks.
        reason: RequirementFault,
    },
    /// The installer could not be started.
    #[error("cannot start {installer} ({})", program.display())]
    Start {
        /// The installer.
        installer: Installer,
        /// The program that was executed.
        program: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The installer ran and failed.
    #[error("{installer} could not install {} ({status}){}", requirements.join(", "), explain(*hint, tail))]
    Install {
        /// The installer.
        installer: Installer,
        /// The requirements it should install.
        requirements: Vec<String>,
        /// How it ended.
        status: ExitStatus,
        /// The last lines it wrote.
        tail: Vec<String>,
        /// The likely cause.
        hint: Option<Hint>,
    },
    /// It was stopped, because nobody waits for it any more.
    #[error("the installation was stopped")]
    Stopped,
    /// Others could have changed the store, or the layer in it.
    #[error(
        "the cache of packages is not used: {source}. Remove it, take away others' right to write (chmod go-w, setfacl -b), or choose another (BELLJAR_CACHE)"
    )]
    Untrusted {
        /// The path and the reason.
        source: Distrust,
    },
    /// One of the store's own files could not be used.
    #[error("cannot {action} {}", path.display())]
    Store {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl LayerError {
    /// A path that cannot be looked at is an I/O error, not a reason for distrust.
    pub(super) fn distrust(source: Distrust) -> Self {
        match source {
            Distrust::Io { action, path, source } => Self::Store { action, path, source },
            source => Self::Untrusted { source },
        }
    }

    /// Whose fault it is: the backend's if the machine or the network has to change, else the
    /// caller's.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Install { hint, .. } if hint.is_some_and(Hint::blames_the_machine) => Fault::Backend,
            Self::Start { .. } | Self::Store { .. } => Fault::Backend,
            Self::Install { .. }
            | Self::NoRequirements
            | Self::Requirement { .. }
            | Self::Stopped
            | Self::Untrusted { .. } => Fault::Caller,
        }
    }

    /// For `map_err`: names what was tried on which path.
    pub(super) fn store(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Store { action, path: path.to_owned(), source }
    }
}

/// What it means. If the installer's own words add something, also its last lines.
fn explain(hint: Option<Hint>, tail: &[String]) -> String {
    let meaning = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
    let tail = if hint.is_some_and(Hint::is_enough) { &[] } else { tail };
    tail.iter().fold(meaning, |text, line| format!("{text}\n    {line}"))
}
