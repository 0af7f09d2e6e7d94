//! Names of the environment variables that the command understands, and nothing else about them.
//!
//! The library itself reads `BELLJAR_CACHE` and `BELLJAR_PYTHON`. Besides these, every name given to `--secret` or listed under `secrets` in a sandbox file is looked up.

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
/// What to log to stderr, as `tracing` filters are written: `debug`, `belljar_engine=trace`.
pub(crate) const LOG: &str = "BELLJAR_LOG";
