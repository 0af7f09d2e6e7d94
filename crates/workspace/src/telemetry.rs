//! Names of spans and of their fields.
//!
//! All engines use the same names, so one dashboard serves them all.
//!
//! ```
//! use belljar_workspace::telemetry;
//!
//! let _span = tracing::info_span!(telemetry::SPAN_RUN, { telemetry::CMD } = "python3").entered();
//! ```

/// The span of code blocks that run.
pub(crate) fn inline(input: &crate::CodeExecutionInput) -> tracing::Span {
    tracing::info_span!(SPAN_INLINE, { EXEC_ID } = input.execution_id, { COUNT } = input.code_blocks.len())
}

/// A workspace is made.
pub const SPAN_CREATE: &str = "workspace.create";
/// A workspace is removed.
pub const SPAN_CLEANUP: &str = "workspace.cleanup";
/// Files are put, or inputs are staged.
pub const SPAN_STAGE_FILES: &str = "workspace.stage.files";
/// A directory is staged.
pub const SPAN_STAGE_DIRECTORY: &str = "workspace.stage.dir";
/// A program runs.
pub const SPAN_RUN: &str = "workspace.run";
/// Files are collected.
pub const SPAN_COLLECT: &str = "workspace.collect";
/// Code blocks run.
pub const SPAN_INLINE: &str = "workspace.inline";

/// The caller's id of an execution.
pub const EXEC_ID: &str = "exec_id";
/// A path in the workspace, or the workspace's own.
pub const PATH: &str = "path";
/// How many files, inputs or blocks.
pub const COUNT: &str = "count";
/// How many glob patterns.
pub const PATTERNS: &str = "patterns";
/// The program.
pub const CMD: &str = "cmd";
/// Where it runs, below the workspace.
pub const CWD: &str = "cwd";
/// How it ended.
pub const EXIT_CODE: &str = "exit_code";
/// Whether its time was over.
pub const TIMED_OUT: &str = "timed_out";
/// A path on the host.
pub const HOST_PATH: &str = "host_path";
/// Where something is staged.
pub const TO: &str = "to";
/// Whether a mount was used in place of a copy.
pub const MOUNT_USED: &str = "mount_used";
