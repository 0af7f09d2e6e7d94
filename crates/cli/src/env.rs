//! The variables that the command itself reads. Their names are in [`belljar::environment`].
//!
//! The library reads `BELLJAR_CACHE` and `BELLJAR_PYTHON`. Every name given to `--secret`, or
//! listed under `secrets` in a sandbox file, is looked up as well.

#[cfg(feature = "otlp")]
pub(crate) use belljar::environment::OTEL_SERVICE_NAME;
pub(crate) use belljar::environment::{
    ANTHROPIC_API_KEY, ARTIFACTS, ENGINE, HOME, HOST_PATH_MAP, LOG, LOG_FORMAT, MEMORY, MODEL_KEY,
    OPENAI_API_KEY, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, RUST_LOG, SANDBOX,
    STATE, STATE_DIRECTORY, TERM, TIMEOUT, WORKSPACES, XDG_DATA_HOME, XDG_STATE_HOME,
};
