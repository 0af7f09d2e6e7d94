//! Where to look for interpreters.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

pub use belljar_core::environment::PYTHON as PYTHON_ENV;
use belljar_core::environment::{HOME, PATH, PYENV_ROOT, UV_PYTHON_INSTALL_DIR, XDG_DATA_HOME};

const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// Where to look, and where to remember what was found. Nothing else is read, so tests can give
/// their own.
#[derive(Debug, Clone)]
pub struct Search {
    /// The only candidate, if the user forces one.
    pub explicit: Option<PathBuf>,
    /// Directories with interpreters, the preferred one first.
    pub path: Vec<PathBuf>,
    /// A home directory, where pyenv and uv keep interpreters.
    pub home: Option<PathBuf>,
    /// Directories in which every sub-directory is an installation
    /// (`<root>/3.11.7/bin/python3.11`).
    pub installations: Vec<PathBuf>,
    /// Where `pythons.json` is kept. Without it nothing is remembered.
    pub cache: Option<PathBuf>,
    /// How long one interpreter may take to describe itself.
    pub probe_limit: Duration,
}

impl Default for Search {
    /// Looks nowhere and remembers nothing.
    fn default() -> Self {
        Self {
            explicit: None,
            path: Vec::new(),
            home: None,
            installations: Vec::new(),
            cache: None,
            probe_limit: PROBE_LIMIT,
        }
    }
}

impl Search {
    /// The directories of this machine and user: `PATH`, the system's, pyenv's, uv's,
    /// `/opt/python*`.
    pub fn from_env(cache: Option<PathBuf>) -> Self {
        let directory = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let mut path: Vec<PathBuf> =
            env::var_os(PATH).map(|value| env::split_paths(&value).collect()).unwrap_or_default();
        // A relative entry would make the choice depend on the directory that belljar was started
        // in.
        path.retain(|entry| entry.is_absolute());
        path.extend(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
        path.extend(opt_pythons());

        let mut installations: Vec<PathBuf> = Vec::new();
        installations.extend(directory(PYENV_ROOT).map(|root| root.join("versions")));
        installations.extend(directory(UV_PYTHON_INSTALL_DIR));
        installations.extend(directory(XDG_DATA_HOME).map(|data| data.join("uv/python")));
        installations.push("/opt/python".into());

        Self {
            explicit: env::var_os(PYTHON_ENV).filter(|value| !value.is_empty()).map(PathBuf::from),
            path,
            home: directory(HOME),
            installations,
            cache,
            ..Self::default()
        }
    }
}

fn opt_pythons() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/opt") else {
        return Vec::new();
    };
    let named = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("python"));
    let mut bins: Vec<PathBuf> = named.map(|entry| entry.path().join("bin")).collect();
    bins.sort();
    bins
}
