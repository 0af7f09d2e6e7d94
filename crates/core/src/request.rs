//! What a caller asks for: one script, run once.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ExecutionId;
use crate::config::ExecutionMode;

/// One script to run. The edge (CLI, server, SDK) builds it, and nothing changes it on the way.
///
/// In JSON, only `script` is required. An unknown field is an error, because it would be a wish
/// that nobody fulfils.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExecutionRequest {
    /// The Python source, exactly as it is compiled.
    pub script: String,
    /// Names the execution. Without it the host makes up a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<ExecutionId>,
    /// Overrides the config's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ExecutionMode>,
    /// Overrides the config's `execution_timeout_sec`. In JSON it is a number of seconds, with
    /// fractions.
    #[serde(default, with = "seconds", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Variables that must be in the guest's environment before the script may start, besides the
    /// config's secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_secrets: Vec<String>,
}

/// Why a script cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is empty, or has only white space.
    #[error("the script is empty: there is nothing to run")]
    Empty,
    /// It has a NUL, which Python refuses in source text.
    #[error("the script has a NUL byte at line {line}: Python source text cannot hold one")]
    Nul {
        /// The line, from 1.
        line: usize,
    },
    /// It is not UTF-8.
    #[error("the script is not UTF-8: byte {byte:#04x} at offset {offset} (line {line})")]
    NotUtf8 {
        /// The first bad byte.
        byte: u8,
        /// The offset of that byte.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },
}

impl ExecutionRequest {
    /// A request for `script`. The config decides everything else.
    pub fn new(script: impl Into<String>) -> Self {
        Self {
            script: script.into(),
            execution_id: None,
            mode: None,
            timeout: None,
            required_secrets: Vec::new(),
        }
    }

    /// Takes a script from a file or a pipe.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ScriptError> {
        String::from_utf8(bytes).map(Self::new).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            ScriptError::NotUtf8 { byte: bytes[offset], offset, line: line_of(bytes, offset) }
        })
    }

    /// Names the execution.
    #[must_use]
    pub fn with_execution_id(mut self, id: impl Into<String>) -> Self {
        self.execution_id = Some(ExecutionId::new(id));
        self
    }

    /// Sets a time limit for this execution.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the mode of this execution. The config's mode does not count.
    #[must_use]
    pub fn with_mode(mut self, mode: ExecutionMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Refuses a script that no interpreter could run, before a cell is spent on it.
    pub fn check(&self) -> Result<(), ScriptError> {
        if self.script.trim().is_empty() {
            return Err(ScriptError::Empty);
        }
        match self.script.bytes().position(|byte| byte == 0) {
            Some(offset) => Err(ScriptError::Nul { line: line_of(self.script.as_bytes(), offset) }),
            None => Ok(()),
        }
    }
}

impl From<&str> for ExecutionRequest {
    fn from(script: &str) -> Self {
        Self::new(script)
    }
}

impl From<String> for ExecutionRequest {
    fn from(script: String) -> Self {
        Self::new(script)
    }
}

/// A time as a number of seconds.
mod seconds {
    use std::time::Duration;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        timeout: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        timeout.map(|timeout| timeout.as_secs_f64()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let Some(seconds) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
        let timeout = Duration::try_from_secs_f64(seconds);
        let refused =
            |_| D::Error::custom(format!("timeout = {seconds} is invalid: must be seconds, 0 or more"));
        timeout.map(Some).map_err(refused)
    }
}

fn line_of(bytes: &[u8], offset: usize) -> usize {
    1 + bytes[..offset].iter().filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_cannot_run_are_refused_with_the_place() {
        assert_eq!(ExecutionRequest::new(" \n\t").check(), Err(ScriptError::Empty));
        assert_eq!(ExecutionRequest::new("a\nb\0").check(), Err(ScriptError::Nul { line: 2 }));
        assert_eq!(
            ExecutionRequest::from_bytes(b"x = 1\n\xff".to_vec()),
            Err(ScriptError::NotUtf8 { byte: 0xff, offset: 6, line: 2 })
        );
        assert_eq!(ExecutionRequest::new("# only a comment").check(), Ok(()));
    }

    #[test]
    fn a_request_in_json_needs_a_script_and_takes_nothing_unknown() {
        let read = |text: &str| serde_json::from_str::<ExecutionRequest>(text);
        assert_eq!(read(r#"{"script":"1"}"#).unwrap(), ExecutionRequest::new("1"));
        for (text, said) in [
            ("{}", "missing field `script`"),
            (r#"{"script":"1","time_out":3}"#, "unknown field `time_out`"),
            (r#"{"script":"1","timeout":-1}"#, "timeout = -1 is invalid: must be seconds, 0 or more"),
            (r#"{"script":"1","timeout":1e300}"#, "is invalid"),
            (r#"{"script":"1","mode":"batch"}"#, "unknown variant `batch`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
