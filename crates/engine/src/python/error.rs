//! Why there is no interpreter to run, and what to do about it.

use std::fmt::Write as _;
use std::path::PathBuf;

use belljar_core::config::PythonVersion;

use super::interpreter::{OLDEST, Version, dotted};
use super::search::PYTHON_ENV;
use crate::Fault;

/// A candidate that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The file.
    pub path: PathBuf,
    /// What was wrong with it.
    pub reason: String,
}

/// There is no interpreter, or none that cells could use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PythonError {
    /// This machine does not have the version that was asked for.
    #[error(
        "python {wanted} is not installed{}{}; {}",
        list_found(found),
        list_rejected(rejected),
        remedy(wanted)
    )]
    VersionMissing {
        /// What the config asks for.
        wanted: PythonVersion,
        /// What there is instead, newest first.
        found: Vec<(Version, PathBuf)>,
        /// Files that looked like Python but could not be used.
        rejected: Vec<Rejected>,
    },
    /// There is no usable interpreter.
    #[error(
        "no usable python found: {}.{} or newer is needed; looked in {}{}; install python3, or set {PYTHON_ENV} to an interpreter",
        OLDEST.0, OLDEST.1, list_places(looked_in), list_rejected(rejected)
    )]
    NoneFound {
        /// Every directory that was read.
        looked_in: Vec<PathBuf>,
        /// Files that looked like Python but could not be used.
        rejected: Vec<Rejected>,
    },
    /// The interpreter that the user named does not work.
    #[error("{} cannot be used as the interpreter: {reason}; correct or unset {PYTHON_ENV}", path.display())]
    Unusable {
        /// The file that the user named.
        path: PathBuf,
        /// What was wrong with it.
        reason: String,
    },
    /// The interpreter that the user named has another version than the config asks for.
    #[error(
        "{} is python {}, but the config asks for {wanted}; unset {PYTHON_ENV} or change python_version",
        path.display(), dotted(*version)
    )]
    Mismatch {
        /// The file that the user named.
        path: PathBuf,
        /// Its version.
        version: Version,
        /// What the config asks for.
        wanted: PythonVersion,
    },
    /// A cell's unprivileged user could not read the interpreter.
    #[error(
        "{} (mode {mode:03o}) is not readable by other users, so a cell cannot start python from it; run: chmod -R o+rX {}",
        path.display(), tree.display()
    )]
    NotReadable {
        /// The first file or directory in the way.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// The tree whose permissions must be opened.
        tree: PathBuf,
    },
    /// The machine lacked the means to run an interpreter, or to look for one.
    #[error("{} could not be asked what it is{}", path.display(), shortage_of(source))]
    Unasked {
        /// The program, or the directory to look in.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// A part of the interpreter could not be examined.
    #[error("cannot examine {}", path.display())]
    Examine {
        /// The part.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
}

fn shortage_of(error: &std::io::Error) -> String {
    let remedy = error.raw_os_error().and_then(belljar_jail::shortage);
    remedy.map(|remedy| format!(": {error}; {remedy}")).unwrap_or_default()
}

impl PythonError {
    /// Whose fault it is: the machine's if it could not look, else the caller's.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Unasked { .. } | Self::Examine { .. } => Fault::Backend,
            _ => Fault::Caller,
        }
    }
}

fn list_found(found: &[(Version, PathBuf)]) -> String {
    if found.is_empty() {
        return " and no other usable python was found".into();
    }
    let each = found.iter().map(|(version, path)| format!("{} ({})", dotted(*version), path.display()));
    format!("; found {}", each.collect::<Vec<_>>().join(", "))
}

fn list_rejected(rejected: &[Rejected]) -> String {
    let mut text = String::new();
    for (n, Rejected { path, reason }) in rejected.iter().enumerate() {
        let lead = if n == 0 { "; set aside " } else { ", " };
        let _ = write!(text, "{lead}{} ({reason})", path.display());
    }
    text
}

fn list_places(places: &[PathBuf]) -> String {
    if places.is_empty() {
        return "no directory at all".into();
    }
    places.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn remedy(wanted: &PythonVersion) -> String {
    let (major, minor) = (wanted.major(), wanted.minor());
    format!(
        "install it (apt install python{major}.{minor}, pyenv install {wanted}, or uv python install {wanted}), \
         set {PYTHON_ENV} to its path, or drop python_version from the config"
    )
}
