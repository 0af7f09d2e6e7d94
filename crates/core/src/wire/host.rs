//! Frames the host sends.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::ExecutionMode;
use crate::{ExecutionId, Secret};

/// Asks the guest to run one script.
#[derive(Debug, Clone)]
pub struct Execute<'a> {
    /// Names the execution to the script's author.
    pub execution_id: &'a ExecutionId,
    /// Must come back in every frame of this execution.
    pub seal: &'a str,
    /// The source.
    pub script: &'a str,
    /// Fresh globals, or the session's.
    pub mode: ExecutionMode,
    /// Seconds until the guest's own alarm, a courtesy.
    pub timeout: f64,
    /// How much all output together may be; larger payloads are refused where they are made.
    pub max_output_bytes: u64,
    /// Names that must be in the environment.
    pub required_secrets: &'a [String],
    /// Values to put there first.
    pub secrets: &'a BTreeMap<String, Secret>,
}

/// As it stands on the wire. Private, because it is the one shape that holds secrets in the clear.
#[derive(Serialize)]
struct Frame<'a> {
    r#type: &'static str,
    execution_id: &'a ExecutionId,
    seal: &'a str,
    script: &'a str,
    mode: ExecutionMode,
    timeout: f64,
    max_output_bytes: u64,
    required_secrets: &'a [String],
    secrets: BTreeMap<&'a str, &'a str>,
}

impl Execute<'_> {
    /// The line to write, newline included.
    pub fn to_line(&self) -> Vec<u8> {
        let frame = Frame {
            r#type: "execute",
            execution_id: self.execution_id,
            seal: self.seal,
            script: self.script,
            mode: self.mode,
            timeout: self.timeout,
            max_output_bytes: self.max_output_bytes,
            required_secrets: self.required_secrets,
            secrets: self.secrets.iter().map(|(name, value)| (name.as_str(), value.expose())).collect(),
        };
        let mut line = serde_json::to_vec(&frame).expect("strings and finite numbers always serialise");
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execute_frame_is_one_line_whatever_the_script_holds() {
        let secrets = BTreeMap::from([("KEY".to_owned(), Secret::new("v\n"))]);
        let execute = Execute {
            execution_id: &ExecutionId::new("e"),
            seal: "s",
            script: "a = 1\nb = '\u{2028}'\r\n",
            mode: ExecutionMode::Plan,
            timeout: 1.5,
            max_output_bytes: 1024,
            required_secrets: &["KEY".to_owned()],
            secrets: &secrets,
        };
        let line = execute.to_line();
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        assert_eq!(line.last(), Some(&b'\n'));
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["script"], "a = 1\nb = '\u{2028}'\r\n");
        assert_eq!(value["mode"], "plan");
        assert_eq!(value["secrets"]["KEY"], "v\n");
        assert!(!format!("{execute:?}").contains("v\\n"), "Debug shows a secret");
    }
}
