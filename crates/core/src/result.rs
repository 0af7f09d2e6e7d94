//! What is left when a run is over.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::{Decision, ExecutionId, Json, LogLevel, Verdict};

/// The outcome of one execution, built by the host.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionResult {
    /// The execution it is about.
    pub execution_id: ExecutionId,
    /// How it ended.
    pub verdict: Verdict,
    /// What the script gave to `emit_result`.
    pub final_data: Option<Json>,
    /// Every `emit_intermediate`, in order; kept on failure too.
    pub intermediates: Vec<Intermediate>,
    /// Every `emit_log`, in order.
    pub logs: Vec<LogLine>,
    /// Everything written to descriptor 1.
    pub stdout: String,
    /// Everything written to descriptor 2.
    pub stderr: String,
    /// What went wrong, for a person or a model; absent on success.
    pub error: Option<String>,
    /// The Python traceback, when the script raised.
    pub traceback: Option<String>,
    /// What the host has to say about the sandbox and the run: a tool that did not load, a process that the kernel killed, data that had to be
    /// changed. No guest can put anything here.
    pub warnings: Vec<String>,
    /// Whom the script asked for and what came of it: a line for each host, port and outcome, in order; empty where it has no
    /// network.
    pub network: Vec<Decision>,
    /// Bytes the guest sent: frames, stdout and stderr.
    pub output_bytes: u64,
    /// What the run cost.
    pub usage: Usage,
    /// The engine that ran it.
    pub engine: String,
}

impl ExecutionResult {
    /// Whether the script completed and gave its result.
    pub fn success(&self) -> bool {
        self.verdict.is_ok()
    }
}

/// One `emit_intermediate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intermediate {
    /// What the script calls it.
    pub label: String,
    /// The partial result.
    pub data: Json,
}

/// One `emit_log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// How loud.
    pub level: LogLevel,
    /// The text.
    pub message: String,
}

/// What a run cost. A figure the engine cannot measure is absent, never guessed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// From request written to result built, in milliseconds.
    pub wall_ms: f64,
    /// Processor time of the whole process tree, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// Largest memory charge of the whole process tree, in bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Processes of the run that the kernel killed for memory.
    pub oom_kills: Option<u64>,
    /// Processes and threads that the kernel refused to make at the limit.
    pub forks_refused: Option<u64>,
}

impl Serialize for ExecutionResult {
    /// One flat object; `verdict` is a plain word, with `exit_code`, `signal` or `denied` beside it where it has one.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("execution_id", &self.execution_id)?;
        self.serialize_fields(&mut map)?;
        map.end()
    }
}

impl ExecutionResult {
    /// All fields but the execution's name, which an event has anyway.
    pub(crate) fn serialize_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("success", &self.success())?;
        map.serialize_entry("verdict", self.verdict.name())?;
        match &self.verdict {
            Verdict::Exited { code } => map.serialize_entry("exit_code", code)?,
            Verdict::Signaled { signal } => map.serialize_entry("signal", signal)?,
            Verdict::Denied { what } => map.serialize_entry("denied", what)?,
            _ => {}
        }
        map.serialize_entry("final_data", &self.final_data)?;
        map.serialize_entry("intermediates", &self.intermediates)?;
        map.serialize_entry("logs", &self.logs)?;
        map.serialize_entry("stdout", &self.stdout)?;
        map.serialize_entry("stderr", &self.stderr)?;
        map.serialize_entry("error", &self.error)?;
        map.serialize_entry("traceback", &self.traceback)?;
        map.serialize_entry("warnings", &self.warnings)?;
        map.serialize_entry("network", &self.network)?;
        map.serialize_entry("duration_ms", &(self.usage.wall_ms.round() as u64))?;
        map.serialize_entry("output_bytes", &self.output_bytes)?;
        map.serialize_entry("usage", &self.usage)?;
        map.serialize_entry("engine", &self.engine)
    }
}

/// A result with something in it, for tests.
#[cfg(test)]
pub(crate) fn example() -> ExecutionResult {
    ExecutionResult {
        execution_id: ExecutionId::new("e1"),
        verdict: Verdict::Exited { code: 3 },
        final_data: None,
        intermediates: vec![Intermediate {
            label: "p".into(),
            data: Json::parse("[1]").expect("a list is JSON"),
        }],
        logs: vec![LogLine { level: LogLevel::Info, message: "m".into() }],
        stdout: "out".into(),
        stderr: String::new(),
        error: Some("the process exited with code 3".into()),
        traceback: None,
        warnings: vec!["w".into()],
        network: Vec::new(),
        output_bytes: 3,
        usage: Usage { wall_ms: 1.5, ..Usage::default() },
        engine: "native".into(),
    }
}
