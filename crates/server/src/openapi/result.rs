//! How a run ended, as it is written in JSON: the library's `ExecutionResult`.

#![expect(dead_code, reason = "these types only describe what the library writes")]

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// How a run ended, and everything that it gave.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ExecutionResult {
    /// The id of the run.
    execution_id: String,
    /// Whether the script completed and gave its result.
    success: bool,
    verdict: Verdict,
    /// The script's exit code, if the verdict is `exited`.
    #[serde(default)]
    exit_code: i32,
    /// The signal that ended it, if the verdict is `signaled`.
    #[serde(default)]
    signal: i32,
    /// What it passed to `emit_result`.
    final_data: Value,
    intermediates: Vec<Intermediate>,
    /// What it showed: each thing in one or more forms, by their types.
    displays: Vec<BTreeMap<String, Value>>,
    /// Calls of tools of the server's that were answered.
    tool_calls: Vec<ToolCall>,
    logs: Vec<LogLine>,
    stdout: String,
    stderr: String,
    /// The files that were to be collected.
    files: Vec<CollectedFile>,
    /// What went wrong.
    error: Option<String>,
    /// The traceback, if the script raised.
    traceback: Option<String>,
    /// What the server noticed.
    warnings: Vec<String>,
    /// Which hosts it asked for.
    network: Vec<Decision>,
    duration_ms: u64,
    /// Bytes that it sent: events, stdout and stderr.
    output_bytes: u64,
    usage: Usage,
    /// What ran it: `native`, `docker` or `local`.
    engine: String,
    /// Where it ran, as the engine calls it: the id of a container.
    place: Option<String>,
}

/// How a run ended.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Ok,
    Exception,
    NoResult,
    Exited,
    Signaled,
    TimeoutWall,
    TimeoutCpu,
    Oom,
    Pids,
    Disk,
    Output,
    Cancelled,
    Infra,
}

/// What the script passed to `emit_intermediate`.
#[derive(Deserialize, ToSchema)]
pub(crate) struct Intermediate {
    label: String,
    data: Value,
}

/// What it passed to `emit_log`.
#[derive(Deserialize, ToSchema)]
pub(crate) struct LogLine {
    level: LogLevel,
    message: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

/// A call of a tool of the server's.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ToolCall {
    call_id: u64,
    tool: String,
    success: bool,
    duration_ms: f64,
    /// Bytes of its arguments, as JSON.
    bytes_in: u64,
    /// Bytes of its answer, as JSON.
    bytes_out: u64,
}

/// A file that the script wrote and the request wanted.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CollectedFile {
    /// Its path below the script's directory.
    name: String,
    size: u64,
    sha256: String,
    media_type: String,
    #[serde(default)]
    is_executable: bool,
    #[schema(content_encoding = "base64")]
    base64: String,
}

/// Connections and requests to one host and port that had the same outcome.
#[derive(Deserialize, ToSchema)]
pub(crate) struct Decision {
    host: String,
    port: u16,
    verdict: NetworkVerdict,
    /// The rule that denied it.
    #[serde(default)]
    rule: String,
    /// Why it failed.
    #[serde(default)]
    reason: String,
    count: u64,
    bytes_sent: u64,
    bytes_received: u64,
    ms: f64,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NetworkVerdict {
    Allowed,
    Denied,
    Failed,
}

/// What a run used. A figure that cannot be measured is absent.
#[derive(Deserialize, ToSchema)]
pub(crate) struct Usage {
    wall_ms: f64,
    cpu_ms: Option<f64>,
    peak_memory_bytes: Option<u64>,
    /// Processes that the kernel killed because memory ran out.
    oom_kills: Option<u64>,
    /// Processes that the kernel refused to make.
    forks_refused: Option<u64>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use belljar::{ExecutionId, ExecutionResult as Ours, Verdict as OurVerdict};
    use serde_json::Value;
    use utoipa::{PartialSchema, ToSchema};

    use super::*;

    fn properties<T: ToSchema>() -> BTreeSet<String> {
        let schema = serde_json::to_value(<T as PartialSchema>::schema()).unwrap();
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }

    fn written(value: &impl serde::Serialize) -> BTreeSet<String> {
        let Value::Object(fields) = serde_json::to_value(value).unwrap() else { panic!("no object") };
        fields.keys().cloned().collect()
    }

    #[test]
    fn a_result_has_the_fields_that_are_described() {
        let result = |verdict| Ours::new(ExecutionId::new("x"), verdict, "native");
        let exited = written(&result(OurVerdict::Exited { code: 3 }));
        let signaled = written(&result(OurVerdict::Signaled { signal: 9 }));
        assert_eq!(properties::<ExecutionResult>(), &exited | &signaled);
        assert_eq!(properties::<Usage>(), written(&result(OurVerdict::Ok).usage));
    }

    #[test]
    fn every_verdict_is_described_and_no_other() {
        const PAGE: &str = include_str!("../../../../docs/reference/exit-codes.md");
        let verdicts = PAGE.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit_once("| "));
        let ours: BTreeSet<_> = verdicts.flat_map(|(_, cell)| cell.split('`').skip(1).step_by(2)).collect();
        let schema = serde_json::to_value(Verdict::schema()).unwrap();
        let described: BTreeSet<_> =
            schema["enum"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
        assert_eq!(described, ours);
    }
}
