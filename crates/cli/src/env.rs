//! What the command reads from its environment by itself. The names are in [`belljar::environment`].
//!
//! The library itself reads `BELLJAR_CACHE` and `BELLJAR_PYTHON`. Besides these, every name given to `--secret` or listed under `secrets` in a sandbox file is looked up.

pub(crate) use belljar::environment::{ENGINE, HOST_PATH_MAP, LOG, MEMORY, RUST_LOG, SANDBOX, TIMEOUT};
