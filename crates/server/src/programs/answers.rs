//! What clients are told about programs.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A program as it is listed.
#[derive(Serialize, ToSchema)]
pub(super) struct ListedProgram {
    pub(super) id: String,
    /// The id of its workspace.
    pub(super) workspace: String,
    /// The id of the token that began it.
    pub(super) owner: String,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// `waiting`, `running`, `ended` or `failed`.
    pub(super) status: &'static str,
    /// Whether its input stays open.
    pub(super) is_interactive: bool,
    pub(super) has_terminal: bool,
    pub(super) asked_at: String,
    /// Why it could not be begun.
    pub(super) error: Option<String>,
}

/// Programs.
#[derive(Serialize, ToSchema)]
pub(super) struct ProgramList {
    pub(super) programs: Vec<ListedProgram>,
}

/// A program, and what it has printed from a byte on.
#[derive(Serialize, ToSchema)]
pub(super) struct PolledProgram {
    #[serde(flatten)]
    pub(super) program: ListedProgram,
    /// What it printed, as text.
    pub(super) output: String,
    /// The same as bytes, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(content_encoding = "base64")]
    pub(super) output_base64: Option<String>,
    /// The number of the first byte. It is more than was asked for if that is not kept any more.
    pub(super) offset: u64,
    /// What to ask for next.
    pub(super) next_offset: u64,
    /// `null` until it has ended.
    #[schema(value_type = Option<ProgramResult>)]
    pub(super) result: Value,
}

/// How a program ended, and what it printed, up to a limit.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what the library writes")]
pub(super) struct ProgramResult {
    stdout: String,
    /// The same as bytes, if it is not text.
    #[schema(content_encoding = "base64")]
    stdout_base64: Option<String>,
    stderr: String,
    #[schema(content_encoding = "base64")]
    stderr_base64: Option<String>,
    /// 128 + n if signal n ended it, -1 if its time was over or it did not start.
    exit_code: i32,
    signal: Option<i32>,
    timed_out: bool,
    duration_seconds: f64,
    /// The engine's word for how it ended, such as `oom`, where it has one.
    verdict: Option<String>,
    /// What is missing of the streams.
    truncated: Option<Truncated>,
}

/// Streams of which there is only the beginning.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what the library writes")]
struct Truncated {
    stdout: Option<CutStream>,
    stderr: Option<CutStream>,
}

/// A stream that was cut.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what the library writes")]
struct CutStream {
    total_bytes: u64,
    /// The file of the workspace that has more.
    spill: Option<String>,
}
