//! What clients are told about runs.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::history::RunSummary;
use crate::openapi::result::ExecutionResult;

/// A run as it is listed.
#[derive(Serialize, ToSchema)]
pub(super) struct ListedRun {
    id: String,
    status: RunStatus,
    /// How it ended, once it has.
    verdict: Option<String>,
    error: Option<String>,
    sandbox: String,
    /// The session that it is a step of.
    session: Option<String>,
    /// The id of the token that began it.
    owner: String,
    started_at: String,
    ended_at: Option<String>,
    usage: RunUsage,
    /// How many events it has so far.
    events: i64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum RunStatus {
    Running,
    Ended,
}

/// What it used, once it has ended.
#[derive(Serialize, ToSchema)]
struct RunUsage {
    wall_ms: Option<f64>,
    cpu_ms: Option<f64>,
    peak_memory_bytes: Option<i64>,
}

impl ListedRun {
    pub(super) fn of(run: &RunSummary) -> Self {
        Self {
            id: run.id.clone(),
            status: if run.ended_ms.is_some() { RunStatus::Ended } else { RunStatus::Running },
            verdict: run.verdict.clone(),
            error: run.error.clone(),
            sandbox: run.sandbox.clone(),
            session: run.session.clone(),
            owner: run.owner.clone(),
            started_at: time(run.started_ms),
            ended_at: run.ended_ms.map(time),
            usage: RunUsage {
                wall_ms: run.wall_ms,
                cpu_ms: run.cpu_ms,
                peak_memory_bytes: run.peak_memory_bytes,
            },
            events: run.events,
        }
    }
}

fn time(ms: i64) -> String {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since).to_string()
}

/// Runs, the last first.
#[derive(Serialize, ToSchema)]
pub(super) struct RunList {
    pub(super) runs: Vec<ListedRun>,
    /// There may be more: ask with this as `before`.
    pub(super) next: Option<String>,
}

/// A run with what it ran, and what came of it.
#[derive(Serialize, ToSchema)]
pub(super) struct ShownRun {
    #[serde(flatten)]
    pub(super) run: ListedRun,
    pub(super) script: String,
    /// `null` until it has ended.
    #[schema(value_type = Option<ExecutionResult>)]
    pub(super) result: Value,
}

/// A run that goes on by itself.
#[derive(Serialize, ToSchema)]
pub(crate) struct AcceptedRun {
    pub(super) id: String,
    pub(super) status: Accepted,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Accepted {
    Accepted,
}

/// A run that was to be cancelled.
#[derive(Serialize, ToSchema)]
pub(super) struct CancelledRun {
    pub(super) id: String,
}
