//! What happens in a run, as it is written in JSON: the library's `Event`.

#![expect(dead_code, reason = "these types only describe what the library writes")]

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::result::{ExecutionResult, LogLevel};

/// One thing that happened in a run. Events are numbered from 0; the last is `ended`.
#[derive(Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event {
    /// The script printed something.
    Stdout { execution_id: String, seq: u64, text: String },
    /// The same to stderr.
    Stderr { execution_id: String, seq: u64, text: String },
    /// `emit_log`.
    Log { execution_id: String, seq: u64, level: LogLevel, message: String },
    /// `emit_intermediate`.
    Intermediate { execution_id: String, seq: u64, label: String, data: Value },
    /// `emit_result`.
    FinalResult { execution_id: String, seq: u64, data: Value },
    /// It showed something, in one or more forms, by their types.
    Display { execution_id: String, seq: u64, data: BTreeMap<String, Value> },
    /// It calls a tool of the server's.
    ToolCall { execution_id: String, seq: u64, call_id: u64, tool: String, args: Value },
    /// A tool says how far it has come.
    ToolProgress {
        execution_id: String,
        seq: u64,
        call_id: u64,
        tool: String,
        progress: f64,
        total: Option<f64>,
        message: String,
    },
    /// A tool has answered.
    ToolResult {
        execution_id: String,
        seq: u64,
        call_id: u64,
        tool: String,
        success: bool,
        duration_ms: f64,
        bytes_in: u64,
        bytes_out: u64,
        message: String,
    },
    /// The script failed.
    Error { execution_id: String, seq: u64, message: String, traceback: Option<String> },
    /// It asked for a host that it may not reach.
    Denied { execution_id: String, seq: u64, target: String, rule: String },
    /// It ran to its last line, or failed.
    ScriptDone { execution_id: String, seq: u64 },
    /// What earlier steps of the session left running printed something.
    Leftover { execution_id: String, seq: u64, stream: OutputStream, text: String },
    /// The server noticed something.
    Warning { execution_id: String, seq: u64, message: String },
    /// The run is over. This is always the last event, and has everything of the result.
    Ended {
        seq: u64,
        #[serde(flatten)]
        result: Box<ExecutionResult>,
    },
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OutputStream {
    Stdout,
    Stderr,
}
