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
    /// What the script finds in `sys.argv` after its own name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The script's file name, such as `chart.py`: what tracebacks, `sys.argv[0]` and `__file__`
    /// show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
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
    /// An argument has a NUL, which no program can be given.
    #[error("argument {number} has a NUL byte, which no program can be given")]
    NulInArgument {
        /// Which one, from 1.
        number: usize,
    },
    /// The arguments are longer than Linux lets any program have them.
    #[error("the arguments are {bytes} bytes long, and at most {most} can be given")]
    LongArguments {
        /// All of them together.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// It is no name of a file.
    #[error(
        "{name:?} is no file name for a script: it must be a name without a directory, of at most 255 bytes"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// It says that it is encoded in a way that is not known here.
    #[error("the script says that it is encoded as {encoding}: save it as UTF-8")]
    Encoding {
        /// What its first lines say.
        encoding: String,
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
            args: Vec::new(),
            name: None,
            required_secrets: Vec::new(),
        }
    }

    /// Takes a script from a file or a pipe, as Python does: with or without a byte order mark, in
    /// UTF-8 or in the encoding that one of its first two lines names. UTF-8, ASCII and Latin-1 are
    /// known.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ScriptError> {
        let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => rest.to_vec(),
            None => bytes,
        };
        match encoding_of(&bytes).as_deref() {
            Some("latin-1" | "latin1" | "iso-8859-1" | "iso8859-1") => {
                return Ok(Self::new(bytes.iter().map(|byte| char::from(*byte)).collect::<String>()));
            }
            None | Some("utf-8" | "utf8" | "ascii" | "us-ascii" | "utf-8-sig") => {}
            Some(encoding) => return Err(ScriptError::Encoding { encoding: encoding.to_owned() }),
        }
        String::from_utf8(bytes).map(Self::new).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            ScriptError::NotUtf8 { byte: bytes[offset], offset, line: line_of(bytes, offset) }
        })
    }

    fn check_args(&self) -> Result<(), ScriptError> {
        /// As much as Linux gives to one string of a new program.
        const MOST: usize = 128 << 10;
        if let Some(index) = self.args.iter().position(|arg| arg.contains('\0')) {
            return Err(ScriptError::NulInArgument { number: index + 1 });
        }
        let bytes = self.args.iter().map(String::len).sum();
        if bytes > MOST { Err(ScriptError::LongArguments { bytes, most: MOST }) } else { Ok(()) }
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

    /// Sets what the script finds in `sys.argv` after its own name.
    #[must_use]
    pub fn with_args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// Names the script's file. It is not read: the script is the one given here.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Refuses a script that no interpreter could run, before a cell is spent on it.
    pub fn check(&self) -> Result<(), ScriptError> {
        self.check_args()?;
        if let Some(name) = self.name.as_ref().filter(|name| !is_file_name(name)) {
            return Err(ScriptError::Name { name: name.clone() });
        }
        if self.script.trim().is_empty() {
            return Err(ScriptError::Empty);
        }
        match self.script.bytes().position(|byte| byte == 0) {
            Some(offset) => Err(ScriptError::Nul { line: line_of(self.script.as_bytes(), offset) }),
            None => Ok(()),
        }
    }
}

/// Whether a file in a directory can be called that.
fn is_file_name(name: &str) -> bool {
    const LONGEST: usize = 255;
    !name.is_empty() && name.len() <= LONGEST && !name.contains(['/', '\0']) && !matches!(name, "." | "..")
}

/// The encoding that a comment in one of the first two lines names (PEP 263), in small letters.
fn encoding_of(script: &[u8]) -> Option<String> {
    script.split(|byte| *byte == b'\n').take(2).find_map(|line| {
        let line = String::from_utf8_lossy(line);
        let (before, rest) = line.split_once("coding")?;
        let rest = rest.strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = rest.chars().take_while(|c| is_part(*c)).collect();
        let is_comment = before.trim_start().starts_with('#');
        (is_comment && !name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
    })
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
