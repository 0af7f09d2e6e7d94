//! What a caller asks for: one script, run once.

use std::time::Duration;

use crate::ExecutionId;
use crate::config::ExecutionMode;

/// One script to run. Built at the edge (CLI, server, SDK), passed through unchanged.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExecutionRequest {
    /// The Python source, exactly as it should be compiled.
    pub script: String,
    /// Names the execution; made up by the host when absent.
    pub execution_id: Option<ExecutionId>,
    /// Overrides the config's mode.
    pub mode: Option<ExecutionMode>,
    /// Overrides the config's `execution_timeout_sec`.
    pub timeout: Option<Duration>,
    /// Names that must be in the guest's environment before the script may start, besides the config's secrets.
    pub required_secrets: Vec<String>,
}

/// A script that cannot be a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// Nothing but white space.
    #[error("the script is empty: there is nothing to run")]
    Empty,
    /// Python refuses a NUL in source text.
    #[error("the script has a NUL byte at line {line}: Python source text cannot hold one")]
    Nul {
        /// The line, from 1.
        line: usize,
    },
    /// Not text.
    #[error("the script is not UTF-8: byte {byte:#04x} at offset {offset} (line {line})")]
    NotUtf8 {
        /// The first bad byte.
        byte: u8,
        /// Where it is.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },
}

impl ExecutionRequest {
    /// A request for `script` with everything else left to the config.
    pub fn new(script: impl Into<String>) -> Self {
        Self {
            script: script.into(),
            execution_id: None,
            mode: None,
            timeout: None,
            required_secrets: Vec::new(),
        }
    }

    /// Takes a script as it came from a file or a pipe.
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

    /// Gives this execution a time limit of its own.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Runs it in this mode whatever the config says.
    #[must_use]
    pub fn with_mode(mut self, mode: ExecutionMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Refuses what no interpreter could run, before a cell is spent on it.
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
}
