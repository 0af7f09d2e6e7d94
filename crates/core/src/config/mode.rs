//! How an agent works with a sandbox.

use serde::{Deserialize, Serialize};

/// How an agent works with a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// One whole script, one final result.
    #[default]
    Plan,
    /// One step after another in a session that keeps its variables.
    Interactive,
    /// What `python FILE` does: no result is needed, and the exit code is the script's own.
    Script,
}
