//! What a caller asks for: one script, run once.
//!
//! * `source` takes scripts from files and pipes.
//! * `input` is what goes in besides: files and stdin.
//! * `collection` is what is to come out: which files, how many, and where to.
//! * `error` is what is refused.

mod collection;
mod error;
mod input;
mod seconds;
mod source;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::collection::CollectLimits;
pub use self::error::ScriptError;
pub use self::input::{FileContent, InputFile, Stdin, StdinStream};
use self::source::line_of;
use crate::config::{ExecutionMode, check_environment};
use crate::{ExecutionId, GuestPath};

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
    /// show. `-` says that the script was read from stdin: `sys.argv[0]` is `-`, and there is no
    /// file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Variables for this execution, besides the config's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// What the script reads from descriptor 0. In JSON it is text, or `{"base64": …}`.
    #[serde(default, skip_serializing_if = "Stdin::is_empty")]
    pub stdin: Stdin,
    /// Files that are in the script's directory before it starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<InputFile>,
    /// Which files of the script's directory are part of the result, as patterns: `*.png`,
    /// `out/**`. Files that were given and are as they were given are left out. A pattern without
    /// a slash is for names in every directory. Names that begin with a dot need a pattern with
    /// the dot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collect: Vec<String>,
    /// How much may be collected.
    #[serde(default, skip_serializing_if = "CollectLimits::is_default")]
    pub collect_limits: CollectLimits,
    /// A directory of this machine that collected files are written to. Without it the result holds
    /// their bytes. Not in JSON: who sends a request does not choose places on this machine.
    #[serde(skip)]
    pub collect_into: Option<PathBuf>,
    /// Whether files that are in that directory stay as they are. By default they are replaced.
    #[serde(skip)]
    pub keep_existing: bool,
    /// Lowers the config's `max_output_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
    /// Lowers the config's `cpu_time_sec`. In JSON it is a number of seconds, with fractions.
    #[serde(default, with = "seconds", skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<Duration>,
    /// Variables that must be in the guest's environment before the script may start, besides the
    /// config's secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_secrets: Vec<String>,
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
            env: BTreeMap::new(),
            stdin: Stdin::default(),
            files: Vec::new(),
            collect: Vec::new(),
            collect_limits: CollectLimits::default(),
            collect_into: None,
            keep_existing: false,
            max_output_bytes: None,
            cpu_time: None,
            required_secrets: Vec::new(),
        }
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

    /// The name of a script that was read from stdin. It has no file.
    pub const FROM_STDIN: &str = "-";

    /// The name of the script's file, if it has one.
    pub fn file_name(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| *name != Self::FROM_STDIN)
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

    /// Sets a variable for this execution.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets what the script reads from descriptor 0: text, bytes, or a stream.
    #[must_use]
    pub fn with_stdin(mut self, stdin: impl Into<Stdin>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Puts a file into the script's directory before it starts: text, bytes, or the path of a file
    /// or directory of this machine. The script owns a copy. At `.`, a directory of this machine
    /// means what is in it.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<String>, content: impl Into<FileContent>) -> Self {
        self.files.push(InputFile::new(path, content));
        self
    }

    /// Makes files that match these patterns part of the result: `*.png`, `out/**`.
    #[must_use]
    pub fn collecting(mut self, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.collect.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Has collected files written to a directory of this machine.
    #[must_use]
    pub fn collecting_into(mut self, directory: impl Into<PathBuf>) -> Self {
        self.collect_into = Some(directory.into());
        self
    }

    /// Refuses a script that no interpreter could run, before a cell is spent on it.
    pub fn check(&self) -> Result<(), ScriptError> {
        self.check_args()?;
        if !self.env.is_empty() {
            let refused = |error: crate::config::ConfigError| ScriptError::Env { reason: error.to_string() };
            check_environment(&self.env).map_err(refused)?;
        }
        for file in &self.files {
            let is_all_of_it = file.path == "." && matches!(file.content, FileContent::Host(_));
            if !is_all_of_it {
                GuestPath::new(&file.path)?;
            }
        }
        let mut places: Vec<_> = self.files.iter().map(|file| file.path.as_str()).collect();
        places.sort_unstable();
        if let Some(twice) = places.windows(2).find(|pair| pair[0] == pair[1] && pair[0] != ".") {
            return Err(ScriptError::SamePlace { path: twice[0].to_owned() });
        }
        collection::check(&self.collect)?;
        if let Some(name) = self.name.as_ref().filter(|name| !is_file_name(name)) {
            return Err(ScriptError::Name { name: name.clone() });
        }
        // An empty program does nothing, and succeeds at it.
        if self.script.trim().is_empty() && self.mode != Some(ExecutionMode::Script) {
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
            (r#"{"script":"1","timeout":-1}"#, "-1 s is invalid: must be seconds, 0 or more"),
            (r#"{"script":"1","timeout":1e300}"#, "is invalid"),
            (r#"{"script":"1","mode":"batch"}"#, "unknown variant `batch`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
