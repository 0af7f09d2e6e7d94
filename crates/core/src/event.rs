//! What happens during a run, reported as it happens.

use std::fmt;
use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{Display, ExecutionId, ExecutionResult, Json, ToolCallRecord};

/// One thing that happened in one execution. Events come in the order in which the host learned of
/// them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The execution it belongs to.
    pub execution_id: ExecutionId,
    /// Its position in that execution's stream, counted from 0.
    pub seq: u64,
    /// What happened.
    pub kind: EventKind,
}

impl Event {
    /// An event: `kind` happened as number `seq` of an execution.
    pub fn new(execution_id: ExecutionId, seq: u64, kind: EventKind) -> Self {
        Self { execution_id, seq, kind }
    }
}

/// The kinds of event. The same type reaches a callback, a stream, `--events` and the server.
///
/// Only the host makes `ToolProgress`, `ToolResult`, `Denied`, `Leftover`, `Warning` and `Ended`.
/// No guest can make one. The other kinds report what the guest sent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// The script, a child process or C code wrote to descriptor 1.
    Stdout {
        /// The text. Bytes that are not UTF-8 are replaced by U+FFFD.
        text: String,
    },
    /// The same for descriptor 2.
    Stderr {
        /// The text.
        text: String,
    },
    /// `emit_log`, or a message from the harness.
    Log {
        /// The severity.
        level: LogLevel,
        /// The text.
        message: String,
    },
    /// `emit_intermediate`.
    Intermediate {
        /// The label that the script chose.
        label: String,
        /// The partial result.
        data: Json,
    },
    /// `emit_result`. Only the first call of a run counts.
    FinalResult {
        /// The result.
        data: Json,
    },
    /// The script showed something: by `display`, as a figure, or as the value of its last line.
    Display {
        /// What it showed.
        display: Display,
    },
    /// The script calls a tool of the host's.
    ToolCall {
        /// The number of the call in its execution's cell.
        call_id: u64,
        /// The name of the tool.
        tool: String,
        /// Its arguments by name.
        args: Json,
    },
    /// A tool of the host's says how far it has come.
    ToolProgress {
        /// The number of the call.
        call_id: u64,
        /// The name of the tool.
        tool: String,
        /// How much is done. It only means something beside `total`, or beside what came before.
        progress: f64,
        /// How much there is to do, if that is known.
        total: Option<f64>,
        /// What the tool says about it.
        message: String,
    },
    /// A tool of the host's has answered.
    ToolResult {
        /// The call that it answers.
        call: ToolCallRecord,
        /// What the tool had to say, on success or failure.
        message: String,
    },
    /// The script failed.
    Error {
        /// One line, written for a person or a model.
        message: String,
        /// The Python traceback, which quotes lines of the script.
        traceback: Option<String>,
    },
    /// The script asked for a host that its config does not allow, or asked in a way that is not
    /// allowed.
    Denied {
        /// The host, as far as it could be read, and the port: `evil.example:443`.
        target: String,
        /// The rule that forbids it, as a sentence.
        rule: String,
    },
    /// The script ran to its last line, or failed. There is nothing left to wait for.
    ScriptDone,
    /// Only in a session: output of threads and processes that earlier steps left behind. It was
    /// printed after those steps had ended, so it is in no result.
    Leftover {
        /// Which stream it was printed to.
        stream: OutputStream,
        /// The text.
        text: String,
    },
    /// Something about the run that the caller should know. It is in the result's `warnings` too.
    Warning {
        /// One line.
        message: String,
    },
    /// The run is over. This is the last event of every stream, however the run ended. If it is
    /// missing, the stream was cut off because Belljar itself failed or was ended. Then there is no
    /// result either.
    Ended {
        /// The result that the caller gets.
        result: Arc<ExecutionResult>,
    },
}

/// One of a script's two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

impl EventKind {
    /// The event's name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stdout { .. } => "stdout",
            Self::Stderr { .. } => "stderr",
            Self::Log { .. } => "log",
            Self::Intermediate { .. } => "intermediate",
            Self::FinalResult { .. } => "final_result",
            Self::Display { .. } => "display",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolProgress { .. } => "tool_progress",
            Self::ToolResult { .. } => "tool_result",
            Self::Error { .. } => "error",
            Self::Denied { .. } => "denied",
            Self::ScriptDone => "script_done",
            Self::Leftover { .. } => "leftover",
            Self::Warning { .. } => "warning",
            Self::Ended { .. } => "ended",
        }
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind.name())?;
        map.serialize_entry("execution_id", &self.execution_id)?;
        map.serialize_entry("seq", &self.seq)?;
        match &self.kind {
            EventKind::Stdout { text } | EventKind::Stderr { text } => map.serialize_entry("text", text)?,
            EventKind::Log { level, message } => {
                map.serialize_entry("level", level)?;
                map.serialize_entry("message", message)?;
            }
            EventKind::Intermediate { label, data } => {
                map.serialize_entry("label", label)?;
                map.serialize_entry("data", data)?;
            }
            EventKind::FinalResult { data } => map.serialize_entry("data", data)?,
            EventKind::Display { display } => map.serialize_entry("data", display.data())?,
            EventKind::ToolCall { call_id, tool, args } => {
                map.serialize_entry("call_id", call_id)?;
                map.serialize_entry("tool", tool)?;
                map.serialize_entry("args", args)?;
            }
            EventKind::ToolProgress { call_id, tool, progress, total, message } => {
                map.serialize_entry("call_id", call_id)?;
                map.serialize_entry("tool", tool)?;
                map.serialize_entry("progress", progress)?;
                map.serialize_entry("total", total)?;
                map.serialize_entry("message", message)?;
            }
            EventKind::ToolResult { call, message } => {
                call.serialize_fields(&mut map)?;
                map.serialize_entry("message", message)?;
            }
            EventKind::Error { message, traceback } => {
                map.serialize_entry("message", message)?;
                map.serialize_entry("traceback", traceback)?;
            }
            EventKind::Denied { target, rule } => {
                map.serialize_entry("target", target)?;
                map.serialize_entry("rule", rule)?;
            }
            EventKind::ScriptDone => {}
            EventKind::Leftover { stream, text } => {
                map.serialize_entry("stream", stream)?;
                map.serialize_entry("text", text)?;
            }
            EventKind::Warning { message } => map.serialize_entry("message", message)?,
            EventKind::Ended { result } => result.serialize_fields(&mut map)?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Event {
    /// Reads JSON only. `data` stays text, and no other format can provide that.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            r#type: String,
            execution_id: ExecutionId,
            seq: u64,
            text: Option<String>,
            level: Option<LogLevel>,
            message: Option<String>,
            label: Option<String>,
            #[serde(default, deserialize_with = "present")]
            data: Option<Json>,
            traceback: Option<String>,
            target: Option<String>,
            rule: Option<String>,
            stream: Option<OutputStream>,
            call_id: Option<u64>,
            tool: Option<String>,
            progress: Option<f64>,
            total: Option<f64>,
            #[serde(default, deserialize_with = "present")]
            args: Option<Json>,
        }
        /// Here `null` is a value, not a missing field.
        fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
            Json::deserialize(deserializer).map(Some)
        }
        fn need<T, E: serde::de::Error>(field: Option<T>, name: &'static str) -> Result<T, E> {
            field.ok_or_else(|| E::missing_field(name))
        }
        // The text is parsed twice: `ended` has the fields of a result beside its own, and
        // `serde(flatten)` would parse `data`.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let fields: Fields = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        let kind = match fields.r#type.as_str() {
            "stdout" => EventKind::Stdout { text: need(fields.text, "text")? },
            "stderr" => EventKind::Stderr { text: need(fields.text, "text")? },
            "log" => EventKind::Log {
                level: need(fields.level, "level")?,
                message: need(fields.message, "message")?,
            },
            "intermediate" => EventKind::Intermediate {
                label: need(fields.label, "label")?,
                data: need(fields.data, "data")?,
            },
            "final_result" => EventKind::FinalResult { data: need(fields.data, "data")? },
            "display" => {
                let display = Display::from_data(&need(fields.data, "data")?).map_err(D::Error::custom)?;
                EventKind::Display { display }
            }
            "tool_call" => EventKind::ToolCall {
                call_id: need(fields.call_id, "call_id")?,
                tool: need(fields.tool, "tool")?,
                args: need(fields.args, "args")?,
            },
            "tool_progress" => EventKind::ToolProgress {
                call_id: need(fields.call_id, "call_id")?,
                tool: need(fields.tool, "tool")?,
                progress: need(fields.progress, "progress")?,
                total: fields.total,
                message: need(fields.message, "message")?,
            },
            "tool_result" => {
                let call = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
                EventKind::ToolResult { call, message: need(fields.message, "message")? }
            }
            "error" => {
                EventKind::Error { message: need(fields.message, "message")?, traceback: fields.traceback }
            }
            "denied" => {
                EventKind::Denied { target: need(fields.target, "target")?, rule: need(fields.rule, "rule")? }
            }
            "script_done" => EventKind::ScriptDone,
            "leftover" => EventKind::Leftover {
                stream: need(fields.stream, "stream")?,
                text: need(fields.text, "text")?,
            },
            "warning" => EventKind::Warning { message: need(fields.message, "message")? },
            "ended" => {
                let result = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
                EventKind::Ended { result: Arc::new(result) }
            }
            other => {
                return Err(D::Error::custom(format!("{other:?} is not an event that this version knows")));
            }
        };
        Ok(Self { execution_id: fields.execution_id, seq: fields.seq, kind })
    }
}

/// The severity of a log line. A name that the guest invents is read as `info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// For someone who debugs the script.
    Debug,
    /// The default.
    Info,
    /// Something that deserves a look.
    Warning,
    /// Something went wrong.
    Error,
}

impl LogLevel {
    /// Reads a level by the names that Python programs use.
    pub fn from_guest(name: &str) -> Self {
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        if is(&["debug"]) {
            Self::Debug
        } else if is(&["warning", "warn"]) {
            Self::Warning
        } else if is(&["error", "critical", "fatal"]) {
            Self::Error
        } else {
            Self::Info
        }
    }

    /// The level's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_flat_json_object() {
        let event = Event {
            execution_id: ExecutionId::new("e1"),
            seq: 4,
            kind: EventKind::Intermediate { label: "p".into(), data: Json::parse("[1, 2]").unwrap() },
        };
        assert_eq!(
            serde_json::to_string(&event).unwrap(),
            r#"{"type":"intermediate","execution_id":"e1","seq":4,"label":"p","data":[1, 2]}"#
        );
    }

    #[test]
    fn the_last_event_has_all_fields_of_the_result_and_each_once() {
        let result = crate::public_json::result();
        let fields = serde_json::to_value(&result).unwrap();
        let kind = EventKind::Ended { result: Arc::new(result) };
        let event = Event { execution_id: ExecutionId::new("e1"), seq: 4, kind };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(line.matches("\"execution_id\"").count(), 1, "{line}");
        let mut told: serde_json::Value = serde_json::from_str(&line).unwrap();
        let told = told.as_object_mut().unwrap();
        assert_eq!((told.remove("type"), told.remove("seq")), (Some("ended".into()), Some(4.into())));
        assert_eq!(serde_json::Value::Object(told.clone()), fields);
    }

    #[test]
    fn an_invented_log_level_is_info() {
        assert_eq!(LogLevel::from_guest("WARN"), LogLevel::Warning);
        assert_eq!(LogLevel::from_guest("loud"), LogLevel::Info);
    }
}
