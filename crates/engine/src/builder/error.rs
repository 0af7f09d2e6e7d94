//! Why there is no layer.

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
    /// A config without dependencies needs no layer; the caller must not ask for one.
    #[error("a layer needs at least one requirement")]
    NoRequirements,
    /// A requirement that is never handed to an installer.
    #[error("requirement {requirement:?} is refused: it {reason}")]
    Requirement {
        /// As it was written.
        requirement: String,
        /// Why.
        reason: RequirementFault,
    },
    /// The installer could not be started at all.
    #[error("cannot start {installer} ({})", program.display())]
    Start {
        /// Which one.
        installer: Installer,
        /// What was executed.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The installer ran and failed.
    #[error("{installer} could not install {} ({status}){}", requirements.join(", "), explain(*hint, tail))]
    Install {
        /// Which one.
        installer: Installer,
        /// What was asked of it.
        requirements: Vec<String>,
        /// How it ended.
        status: ExitStatus,
        /// The last lines it wrote.
        tail: Vec<String>,
        /// What it probably means.
        hint: Option<Hint>,
    },
    /// The store, or the layer in it, could have been changed by others.
    #[error(
        "the cache of packages is not used: {source}. Remove it, take away others' right to write (chmod go-w, setfacl -b), or choose another (BELLJAR_CACHE)"
    )]
    Untrusted {
        /// What and why.
        source: Distrust,
    },
    /// The store's own files.
    #[error("cannot {action} {}", path.display())]
    Store {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl LayerError {
    /// What cannot be looked at is no reason for distrust.
    pub(super) fn distrust(source: Distrust) -> Self {
        match source {
            Distrust::Io { action, path, source } => Self::Store { action, path, source },
            source => Self::Untrusted { source },
        }
    }

    /// Whose fault it is: the backend's where the machine or the network has to change, else the caller's.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Install { hint, .. } if hint.is_some_and(Hint::is_the_machines) => Fault::Backend,
            Self::Start { .. } | Self::Store { .. } => Fault::Backend,
            Self::Install { .. }
            | Self::NoRequirements
            | Self::Requirement { .. }
            | Self::Untrusted { .. } => Fault::Caller,
        }
    }

    /// For `map_err`: what was tried on which path.
    pub(super) fn store(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Store { action, path: path.to_owned(), source }
    }
}

/// What it means and, where the installer's own words add to that, what it said last.
fn explain(hint: Option<Hint>, tail: &[String]) -> String {
    let meaning = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
    let tail = if hint.is_some_and(Hint::says_it_all) { &[] } else { tail };
    tail.iter().fold(meaning, |text, line| format!("{text}\n    {line}"))
}
