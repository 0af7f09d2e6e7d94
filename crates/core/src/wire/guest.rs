//! Frames the guest sends. Without the right seal they are hostile bytes. With it they are still
//! not trusted.
//!
//! ```text
//!  line ──► Fields (flat, everything optional) ──► Envelope { seal, printed, frame: GuestFrame }
//! ```
//!
//! A line is read in one pass into a flat struct that borrows from it. An enum with a `type` tag
//! would make serde keep every value in memory until it has seen the tag, and `data` must stay
//! unread text.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::LogLevel;

/// One line from the guest: a frame, and what every frame carries beside its own fields.
///
/// A guest can omit any field, whatever the schema says. What a missing field means is decided
/// here.
#[derive(Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(transform = super::schema::close))]
pub struct Envelope<'a> {
    /// The seal of the execution the frame claims to belong to. `ready` has none.
    pub seal: Option<Cow<'a, str>>,
    /// How much the execution had printed before this frame.
    #[cfg_attr(test, schemars(flatten))]
    pub printed: PrintedBefore,
    /// The frame itself.
    #[cfg_attr(test, schemars(flatten))]
    pub frame: GuestFrame<'a>,
}

/// How many bytes the execution had printed before a frame, as far as the harness knows.
///
/// It serves to put frames and output in order, and nothing else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PrintedBefore {
    /// Bytes on descriptor 1.
    pub stdout: Option<u64>,
    /// Bytes on descriptor 2.
    pub stderr: Option<u64>,
}

/// What a guest can send, by the frame's `type`.
#[derive(Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(tag = "type", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum GuestFrame<'a> {
    /// The cell is ready for a request.
    Ready {
        /// The number of the protocol that the guest speaks. 0 if it does not say.
        protocol: u32,
        /// What the guest has prepared. Only a guest without a zygote or a supervisor says it:
        /// theirs have told the host before.
        #[cfg_attr(test, schemars(flatten))]
        report: Option<GuestReport>,
    },
    /// `emit_log`.
    Log {
        /// The severity: `debug`, `info`, `warning` or `error`. Any other name counts as `info`.
        #[cfg_attr(test, schemars(with = "String"))]
        level: LogLevel,
        /// The text.
        message: Cow<'a, str>,
    },
    /// `emit_intermediate`.
    Intermediate {
        /// The label that the script chose.
        label: Cow<'a, str>,
        /// The payload, not parsed.
        #[cfg_attr(test, schemars(with = "serde_json::Value"))]
        data: &'a RawValue,
    },
    /// `emit_result`.
    FinalResult {
        /// The payload, not parsed.
        #[cfg_attr(test, schemars(with = "serde_json::Value"))]
        data: &'a RawValue,
    },
    /// `display`, a figure, or the value of a last line.
    Display {
        /// Forms by MIME type, not parsed.
        #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
        data: &'a RawValue,
        /// How many forms and displays the harness did not send, since it last said so: too many,
        /// or too large.
        #[cfg_attr(test, schemars(default))]
        left_out: u64,
    },
    /// The script failed.
    Error {
        /// One line, written for a person or a model.
        message: Cow<'a, str>,
        /// The Python traceback.
        traceback: Option<Cow<'a, str>>,
        /// Whether the guest's own alarm ended the script.
        #[cfg_attr(test, schemars(default))]
        timed_out: bool,
        /// What the script called `sys.exit` with, if it did.
        exit_code: Option<i32>,
    },
    /// The script calls a tool of the host's. A `tool_result` with the same number answers it.
    ToolCall {
        /// The number of the call. Each is higher than the one before. 0 if the guest does not say.
        call_id: u64,
        /// The name of the tool.
        tool: Cow<'a, str>,
        /// Its arguments by name, not parsed.
        #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
        args: &'a RawValue,
    },
    /// The guest is ready for the descriptor that the script reads from.
    Stdin,
    /// The script is over.
    ScriptDone,
    /// The answer to a question of the host's. It belongs to no script.
    Answer {
        /// What was found, not parsed. `null` if nothing was found in time.
        #[cfg_attr(test, schemars(with = "serde_json::Value"))]
        data: &'a RawValue,
    },
}

/// What a guest has prepared for its scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GuestReport {
    /// The interpreter's version.
    pub python: String,
    /// Names of the tools that scripts can call.
    pub tools: Vec<String>,
    /// A tool that did not load, or a preload that failed.
    pub warnings: Vec<String>,
    /// Modules that the next guest of the same kind can preload without trying them first.
    #[cfg_attr(test, schemars(default))]
    pub vouched: Option<Vec<String>>,
}

/// A line as it is on the wire: the fields of all frames side by side.
#[derive(Deserialize)]
struct Fields<'a> {
    r#type: Kind,
    #[serde(borrow, default)]
    seal: Option<Cow<'a, str>>,
    #[serde(default)]
    stdout: Option<u64>,
    #[serde(default)]
    stderr: Option<u64>,
    #[serde(default)]
    protocol: Option<u32>,
    #[serde(default)]
    python: Option<String>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    vouched: Option<Vec<String>>,
    #[serde(borrow, default)]
    level: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    traceback: Option<Cow<'a, str>>,
    #[serde(default)]
    timed_out: bool,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(borrow, default)]
    label: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    left_out: u64,
    #[serde(default)]
    call_id: u64,
    #[serde(borrow, default)]
    tool: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Ready,
    Log,
    Intermediate,
    FinalResult,
    Display,
    Error,
    ToolCall,
    Stdin,
    ScriptDone,
    Answer,
}

impl<'a> Envelope<'a> {
    /// Reads a line. `None` if it is not a frame. Such a line is ignored.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let fields: Fields<'a> = serde_json::from_slice(line).ok()?;
        let message = fields.message.unwrap_or_default();
        let frame = match fields.r#type {
            Kind::Ready => {
                let (tools, warnings, vouched) = (fields.tools, fields.warnings, fields.vouched);
                let report = fields.python.map(|python| GuestReport { python, tools, warnings, vouched });
                GuestFrame::Ready { protocol: fields.protocol.unwrap_or_default(), report }
            }
            Kind::Log => GuestFrame::Log {
                level: LogLevel::from_guest(fields.level.as_deref().unwrap_or_default()),
                message,
            },
            Kind::Intermediate => GuestFrame::Intermediate {
                label: fields.label.unwrap_or_default(),
                data: fields.data.unwrap_or(RawValue::NULL),
            },
            Kind::FinalResult => GuestFrame::FinalResult { data: fields.data.unwrap_or(RawValue::NULL) },
            Kind::Display => {
                GuestFrame::Display { data: fields.data.unwrap_or(RawValue::NULL), left_out: fields.left_out }
            }
            Kind::Error => GuestFrame::Error {
                message,
                traceback: fields.traceback,
                timed_out: fields.timed_out,
                exit_code: fields.exit_code,
            },
            Kind::ToolCall => GuestFrame::ToolCall {
                call_id: fields.call_id,
                tool: fields.tool.unwrap_or_default(),
                args: fields.args.unwrap_or(RawValue::NULL),
            },
            Kind::Stdin => GuestFrame::Stdin,
            Kind::ScriptDone => GuestFrame::ScriptDone,
            Kind::Answer => GuestFrame::Answer { data: fields.data.unwrap_or(RawValue::NULL) },
        };
        let printed = PrintedBefore { stdout: fields.stdout, stderr: fields.stderr };
        Some(Self { seal: fields.seal, printed, frame })
    }

    /// Whether the frame belongs to the execution with this seal.
    pub fn is_sealed_with(&self, seal: &str) -> bool {
        self.seal.as_deref() == Some(seal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_not_a_frame() {
        for noise in [
            &b""[..],
            b"5",
            b"[1,2]",
            b"true",
            b"null",
            b"hello",
            b"{\"type\":\"coup\"}",
            b"{\"type\":5}",
            b"{\"type\":\"log\",\"type\":\"log\"}",
            b"{\"type\":\"log\"} {}",
            b"{\"type\":\"log\",\"message\":\"\xff\"}",
            b"{\"type\":\"final_result\",\"data\":NaN}",
            // The field belongs to another frame, and has the wrong type there.
            b"{\"type\":\"log\",\"label\":5}",
            b"{\"type\":\"script_done\",\"timed_out\":null}",
        ] {
            assert!(Envelope::parse(noise).is_none(), "{:?}", String::from_utf8_lossy(noise));
        }
    }

    #[test]
    fn a_frame_without_the_right_seal_belongs_to_nobody() {
        let unsealed = Envelope::parse(b"{\"type\":\"final_result\",\"data\":1}").unwrap();
        assert!(!unsealed.is_sealed_with("abc"));
        let stale = Envelope::parse(b"{\"type\":\"final_result\",\"data\":1,\"seal\":\"abd\"}").unwrap();
        assert!(!stale.is_sealed_with("abc"));
        let right = Envelope::parse(b"{\"type\":\"final_result\",\"data\":1,\"seal\":\"abc\"}").unwrap();
        assert!(right.is_sealed_with("abc"));
    }

    #[test]
    fn deep_payloads_cost_no_stack() {
        let deep = format!(
            "{{\"type\":\"final_result\",\"data\":{}1{},\"seal\":\"s\"}}",
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        let envelope = Envelope::parse(deep.as_bytes()).unwrap();
        let GuestFrame::FinalResult { data } = envelope.frame else { panic!("{envelope:?}") };
        assert_eq!(data.get().len(), 400_001);
    }

    #[test]
    fn what_a_guest_leaves_out_has_a_meaning() {
        let frame = |line: &'static str| Envelope::parse(line.as_bytes()).unwrap().frame;
        assert!(matches!(frame(r#"{"type":"ready"}"#), GuestFrame::Ready { protocol: 0, report: None }));
        let told =
            GuestReport { python: "3.12.1".into(), tools: Vec::new(), warnings: Vec::new(), vouched: None };
        assert!(matches!(
            frame(r#"{"type":"ready","python":"3.12.1"}"#),
            GuestFrame::Ready { protocol: 0, report: Some(report) } if report == told
        ));
        assert!(matches!(
            frame(r#"{"type":"log"}"#),
            GuestFrame::Log { level: LogLevel::Info, message } if message.is_empty()
        ));
        assert!(matches!(
            frame(r#"{"type":"error"}"#),
            GuestFrame::Error { message, traceback: None, timed_out: false, exit_code: None } if message.is_empty()
        ));
        for line in [r#"{"type":"final_result"}"#, r#"{"type":"final_result","data":null}"#] {
            assert!(matches!(frame(line), GuestFrame::FinalResult { data } if data.get() == "null"));
        }
    }

    #[test]
    fn fields_that_are_not_known_are_skipped() {
        let line = br#"{"execution_id":5,"type":"script_done","new":{"a":[1]},"seal":"s","stdout":3}"#;
        let envelope = Envelope::parse(line).unwrap();
        assert!(matches!(envelope.frame, GuestFrame::ScriptDone));
        assert_eq!(envelope.printed, PrintedBefore { stdout: Some(3), stderr: None });
    }
}
