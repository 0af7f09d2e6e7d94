//! What is left when a run is over.
//!
//! A result is one flat JSON object, both ways. `success` and `duration_ms` follow from other
//! fields. They are written for readers of the JSON, and are not read back.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{CollectedFile, Decision, Display, ExecutionId, Json, LogLevel, ToolCallRecord, Verdict};

/// The outcome of one execution, built by the host.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExecutionResult {
    /// The execution it is about.
    pub execution_id: ExecutionId,
    /// How it ended.
    pub verdict: Verdict,
    /// What the script passed to `emit_result`. JSON cannot tell `None` from a result that is
    /// `null`. Both are written as `null`, which is read as `None`.
    pub final_data: Option<Json>,
    /// Every `emit_intermediate`, in order. They are kept on failure too.
    pub intermediates: Vec<Intermediate>,
    /// Everything the script showed, in order: by `display`, as a figure, as the value of its last
    /// line. Kept on failure too.
    pub displays: Vec<Display>,
    /// Every call of a tool of the host's that was answered, in the order of the answers. At most
    /// [`MOST_TOOL_CALLS`](crate::MOST_TOOL_CALLS) are kept; a warning says how many more there
    /// were.
    pub tool_calls: Vec<ToolCallRecord>,
    /// Every `emit_log`, in order.
    pub logs: Vec<LogLine>,
    /// Everything written to descriptor 1.
    pub stdout: String,
    /// Everything written to descriptor 2.
    pub stderr: String,
    /// The files that the request wanted collected, by name.
    pub files: Vec<CollectedFile>,
    /// What went wrong, written for a person or a model. Absent on success.
    pub error: Option<String>,
    /// The Python traceback, if the script raised.
    pub traceback: Option<String>,
    /// The host's warnings about the sandbox and the run: a tool that did not load, a process that
    /// the kernel killed, data that had to be changed. No guest can put anything here.
    pub warnings: Vec<String>,
    /// Which hosts the script asked the proxy for, with the outcome. There is a line for each host,
    /// port and outcome, in the order in which they began. It is empty if the script has no
    /// network.
    ///
    /// After 500 refusals, or 500 other lines, hosts are counted without their names (see
    /// [`Decision::host`]). A connection that was dropped before it named a host has no line. Then
    /// the script hung up or sent nothing, or the run ended while the connection waited for its
    /// turn. With the docker engine there are no lines if its proxy is lost.
    pub network: Vec<Decision>,
    /// Bytes that the guest sent: frames, stdout and stderr.
    pub output_bytes: u64,
    /// What the run used.
    pub usage: Usage,
    /// The engine that ran it.
    pub engine: String,
    /// Where it ran, as the engine itself calls it: the id of the container. Absent for engines
    /// whose cells have no other name than their own.
    pub place: Option<String>,
}

impl ExecutionResult {
    /// A result that says how the run ended, and nothing else. The other fields are filled in one
    /// by one.
    pub fn new(execution_id: ExecutionId, verdict: Verdict, engine: impl Into<String>) -> Self {
        Self {
            execution_id,
            verdict,
            final_data: None,
            intermediates: Vec::new(),
            displays: Vec::new(),
            tool_calls: Vec::new(),
            logs: Vec::new(),
            stdout: String::new(),
            stderr: String::new(),
            files: Vec::new(),
            error: None,
            traceback: None,
            warnings: Vec::new(),
            network: Vec::new(),
            output_bytes: 0,
            usage: Usage::default(),
            engine: engine.into(),
            place: None,
        }
    }

    /// Whether the script completed and gave its result.
    pub fn success(&self) -> bool {
        self.verdict.is_ok()
    }
}

/// One `emit_intermediate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Intermediate {
    /// The label that the script chose.
    pub label: String,
    /// The partial result.
    pub data: Json,
}

impl Intermediate {
    /// A partial result with its label.
    pub fn new(label: impl Into<String>, data: Json) -> Self {
        Self { label: label.into(), data }
    }
}

/// One `emit_log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogLine {
    /// The severity.
    pub level: LogLevel,
    /// The text.
    pub message: String,
}

impl LogLine {
    /// A line of a log.
    pub fn new(level: LogLevel, message: impl Into<String>) -> Self {
        Self { level, message: message.into() }
    }
}

/// What a run used. A figure that the engine cannot measure is absent, never guessed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Time from the request written to the result built, in milliseconds.
    pub wall_ms: f64,
    /// Processor time of the whole process tree, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// The most memory charged to the whole process tree, in bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Processes of the run that the kernel killed because memory ran out.
    pub oom_kills: Option<u64>,
    /// Processes and threads that the kernel refused to make because of the limit.
    pub forks_refused: Option<u64>,
}

impl Serialize for ExecutionResult {
    /// Writes one flat object. `verdict` is a plain word. Beside it is `exit_code` or `signal`, if
    /// the verdict has one.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("execution_id", &self.execution_id)?;
        self.serialize_fields(&mut map)?;
        map.end()
    }
}

impl ExecutionResult {
    /// Writes all fields but the execution's id, which an event has anyway.
    pub(crate) fn serialize_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("success", &self.success())?;
        map.serialize_entry("verdict", self.verdict.name())?;
        match &self.verdict {
            Verdict::Exited { code } => map.serialize_entry("exit_code", code)?,
            Verdict::Signaled { signal } => map.serialize_entry("signal", signal)?,
            _ => {}
        }
        map.serialize_entry("final_data", &self.final_data)?;
        map.serialize_entry("intermediates", &self.intermediates)?;
        map.serialize_entry("displays", &self.displays)?;
        map.serialize_entry("tool_calls", &self.tool_calls)?;
        map.serialize_entry("logs", &self.logs)?;
        map.serialize_entry("stdout", &self.stdout)?;
        map.serialize_entry("stderr", &self.stderr)?;
        map.serialize_entry("files", &self.files)?;
        map.serialize_entry("error", &self.error)?;
        map.serialize_entry("traceback", &self.traceback)?;
        map.serialize_entry("warnings", &self.warnings)?;
        map.serialize_entry("network", &self.network)?;
        map.serialize_entry("duration_ms", &(self.usage.wall_ms.round() as u64))?;
        map.serialize_entry("output_bytes", &self.output_bytes)?;
        map.serialize_entry("usage", &self.usage)?;
        map.serialize_entry("engine", &self.engine)?;
        map.serialize_entry("place", &self.place)
    }
}

impl<'de> Deserialize<'de> for ExecutionResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            execution_id: ExecutionId,
            verdict: String,
            exit_code: Option<i32>,
            signal: Option<i32>,
            final_data: Option<Json>,
            intermediates: Vec<Intermediate>,
            #[serde(default)]
            displays: Vec<Display>,
            #[serde(default)]
            tool_calls: Vec<ToolCallRecord>,
            logs: Vec<LogLine>,
            stdout: String,
            stderr: String,
            #[serde(default)]
            files: Vec<CollectedFile>,
            error: Option<String>,
            traceback: Option<String>,
            warnings: Vec<String>,
            network: Vec<Decision>,
            output_bytes: u64,
            usage: Usage,
            engine: String,
            place: Option<String>,
        }
        let fields = Fields::deserialize(deserializer)?;
        let verdict = Verdict::from_parts(&fields.verdict, fields.exit_code, fields.signal);
        Ok(Self {
            execution_id: fields.execution_id,
            verdict: verdict.map_err(D::Error::custom)?,
            final_data: fields.final_data,
            intermediates: fields.intermediates,
            displays: fields.displays,
            tool_calls: fields.tool_calls,
            logs: fields.logs,
            stdout: fields.stdout,
            stderr: fields.stderr,
            files: fields.files,
            error: fields.error,
            traceback: fields.traceback,
            warnings: fields.warnings,
            network: fields.network,
            output_bytes: fields.output_bytes,
            usage: fields.usage,
            engine: fields.engine,
            place: fields.place,
        })
    }
}
