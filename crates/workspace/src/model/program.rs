//! One run of a program, and how it ended.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ResourceLimits, bytes, seconds};

/// A program to run in a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunProgramSpec {
    /// The program: a name that is looked for in the `PATH` of its own environment, or a path.
    #[serde(alias = "Cmd")]
    pub cmd: String,
    /// Its arguments.
    #[serde(alias = "Args", skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its variables. They count before all others.
    #[serde(alias = "Env", skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Where it runs, below the workspace. Empty is the workspace itself.
    #[serde(alias = "Cwd", skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// What it reads. Empty is the end at once.
    #[serde(alias = "Stdin", with = "text", skip_serializing_if = "Vec::is_empty")]
    pub stdin: Vec<u8>,
    /// How long it may run. `None` is the engine's own limit. In JSON: `timeout_seconds`.
    #[serde(rename = "timeout_seconds", with = "seconds::optional", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// What it may use.
    #[serde(alias = "Limits", skip_serializing_if = "super::is_default")]
    pub limits: ResourceLimits,
    /// Whether it starts without the engine's own environment.
    #[serde(alias = "CleanEnv", skip_serializing_if = "super::is_default")]
    pub clean_env: bool,
}

impl RunProgramSpec {
    /// A program with arguments, and nothing else said.
    pub fn new<A: Into<String>>(cmd: impl Into<String>, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { cmd: cmd.into(), args, ..Self::default() }
    }
}

/// Standard input in JSON is text only: a caller with other bytes puts a file.
mod text {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&String::from_utf8_lossy(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(deserializer).map(String::into_bytes)
    }
}

/// A program that is talked to while it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InteractiveProgramSpec {
    /// The program. Its standard input is written first, and stays open.
    #[serde(flatten)]
    pub program: RunProgramSpec,
    /// Whether it has a terminal. Then both of its streams are one, and what is written is echoed.
    #[serde(alias = "TTY")]
    pub tty: bool,
    /// Lines of the terminal. `None` is the engine's choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// Columns of the terminal. `None` is the engine's choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// How long it may go without being polled or written to. In JSON: `idle_timeout_seconds`.
    #[serde(
        rename = "idle_timeout_seconds",
        with = "seconds::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub idle_timeout: Option<Duration>,
}

/// How a program ended, and what it printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunResult {
    /// What it printed, up to a limit.
    pub stdout: Vec<u8>,
    /// What it printed to standard error, up to a limit.
    pub stderr: Vec<u8>,
    /// Its exit code. 128 + n if signal n ended it, -1 if its time was over or it did not start.
    pub exit_code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether its time was over.
    pub timed_out: bool,
    /// How long it ran.
    pub duration: Duration,
    /// The engine's word for how it ended, such as `out_of_memory`, where it has one.
    pub verdict: Option<String>,
    /// What is missing of the streams.
    pub truncated: Truncated,
}

/// Streams of which a result has only a part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Truncated {
    /// Standard output, if it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<CutStream>,
    /// Standard error, if it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<CutStream>,
}

impl Truncated {
    /// Whether anything is missing.
    pub fn is_any(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }
}

/// A stream that was cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CutStream {
    /// How many bytes the program printed.
    pub total_bytes: u64,
    /// A file in the workspace with all of them, or with as many from the beginning as a spill file
    /// may have, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill: Option<String>,
}

impl RunResult {
    /// The exit code for a program that a signal ended, as a shell says it.
    pub fn exit_code_of_signal(signal: i32) -> i32 {
        128 + signal
    }

    /// Whether it ran to its end and said that all is well.
    pub fn is_success(&self) -> bool {
        self.exit_code == 0 && !self.timed_out
    }

    /// What it printed, as text. What is not UTF-8 becomes replacement characters.
    pub fn stdout_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// What it printed to standard error, as text, like [`RunResult::stdout_text`].
    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }
}

/// A result in JSON.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(default)]
    stdout: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdout_base64: Option<String>,
    #[serde(default)]
    stderr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr_base64: Option<String>,
    exit_code: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(default)]
    timed_out: bool,
    #[serde(with = "seconds")]
    duration_seconds: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    #[serde(default, skip_serializing_if = "super::is_default")]
    truncated: Truncated,
}

impl Serialize for RunResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (stdout, stdout_base64) = bytes::to_json(&self.stdout);
        let (stderr, stderr_base64) = bytes::to_json(&self.stderr);
        Written {
            stdout,
            stdout_base64,
            stderr,
            stderr_base64,
            exit_code: self.exit_code,
            signal: self.signal,
            timed_out: self.timed_out,
            duration_seconds: self.duration,
            verdict: self.verdict.clone(),
            truncated: self.truncated.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RunResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        Ok(Self {
            stdout: bytes::from_json(written.stdout, written.stdout_base64)?,
            stderr: bytes::from_json(written.stderr, written.stderr_base64)?,
            exit_code: written.exit_code,
            signal: written.signal,
            timed_out: written.timed_out,
            duration: written.duration_seconds,
            verdict: written.verdict,
            truncated: written.truncated,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_is_not_text_survives_json() {
        let spill = Some("runs/1/stdout".to_owned());
        let truncated = Truncated { stdout: Some(CutStream { total_bytes: 9, spill }), stderr: None };
        let result = RunResult {
            stdout: vec![0xfe, b'a'],
            stderr: b"plain".to_vec(),
            exit_code: 137,
            signal: Some(9),
            duration: Duration::from_millis(1500),
            truncated,
            ..RunResult::default()
        };
        let json = serde_json::to_value(&result).unwrap();
        assert_eq!((&json["stdout"], &json["stderr"]), (&"\u{fffd}a".into(), &"plain".into()));
        assert_eq!((&json["duration_seconds"], json.get("stderr_base64")), (&1.5.into(), None));
        assert_eq!(serde_json::from_value::<RunResult>(json).unwrap(), result);
    }

    #[test]
    fn a_spec_reads_seconds_and_refuses_what_is_no_time() {
        let spec: InteractiveProgramSpec =
            serde_json::from_str(r#"{"cmd":"cat","stdin":"x","timeout_seconds":0.5,"tty":true}"#).unwrap();
        assert_eq!(spec.program.timeout, Some(Duration::from_millis(500)));
        assert_eq!((spec.program.stdin.as_slice(), spec.tty), (&b"x"[..], true));
        let again = serde_json::to_value(&spec).unwrap();
        assert_eq!(serde_json::from_value::<InteractiveProgramSpec>(again).unwrap(), spec);
        for bad in [r#"{"cmd":"a","timeout_seconds":-1}"#, r#"{"cmd":"a","timeout_seconds":1e300}"#] {
            assert!(serde_json::from_str::<RunProgramSpec>(bad).is_err(), "{bad}");
        }
    }
}
