//! The variables that the command itself reads. Their names are in [`belljar::environment`].
//!
//! The library reads `BELLJAR_CACHE` and `BELLJAR_PYTHON`. Every name given to `--secret`, or
//! listed under `secrets` in a sandbox file, is looked up as well.

pub(crate) use belljar::environment::{
    ANTHROPIC_API_KEY, ARTIFACTS, ENGINE, HOME, HOST_PATH_MAP, LOG, MEMORY, MODEL_KEY, OPENAI_API_KEY,
    RUST_LOG, SANDBOX, STATE, STATE_DIRECTORY, TERM, TIMEOUT, WORKSPACES, XDG_DATA_HOME, XDG_STATE_HOME,
};
