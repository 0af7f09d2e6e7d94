//! Names of the environment variables that the command understands, and nothing else about them.
//!
//! Besides these, every name given to `--secret` or listed under `secrets` in a sandbox file is looked up.

use std::ffi::OsString;
use std::path::PathBuf;

/// The sandbox file to use when `--sandbox` is not given.
pub(crate) const SANDBOX: &str = "BELLJAR_SANDBOX";
/// The engine to use when `--engine` is not given.
pub(crate) const ENGINE: &str = "BELLJAR_ENGINE";
/// The time limit in seconds when `--timeout` is not given.
pub(crate) const TIMEOUT: &str = "BELLJAR_TIMEOUT";
/// The memory limit in MiB when `--memory` is not given.
pub(crate) const MEMORY: &str = "BELLJAR_MEMORY";
/// What paths are called on the daemon's host when `--map-path` is not given: `HERE=THERE`, with commas between several.
pub(crate) const MAP_PATH: &str = "BELLJAR_HOST_PATH_MAP";
/// Where dependency layers are kept.
pub(crate) const CACHE: &str = "BELLJAR_CACHE";
/// What to log to stderr, as `tracing` filters are written: `debug`, `belljar_engine=trace`.
pub(crate) const LOG: &str = "BELLJAR_LOG";

const XDG_CACHE: &str = "XDG_CACHE_HOME";
const HOME: &str = "HOME";

/// Where dependency layers are kept: `$BELLJAR_CACHE`, else the user's cache directory; nothing where there is no user.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    set(CACHE)
        .or_else(|| set(XDG_CACHE).map(|cache| cache.join("belljar")))
        .or_else(|| set(HOME).map(|home| home.join(".cache/belljar")))
}
