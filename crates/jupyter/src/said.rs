//! What the gateway's program says when it has started, or has not.

use serde::Deserialize;

use crate::JupyterError;
use crate::error::printable;

/// The program's one line.
#[derive(Deserialize)]
struct Said {
    status: String,
    #[serde(default)]
    token: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    stderr: Vec<String>,
}

/// The token in what [`GATEWAY_PROGRAM`](crate::GATEWAY_PROGRAM) has printed, or why it has not
/// started. Lines that are not its own may be around.
pub fn gateway_token(printed: &[u8]) -> Result<String, JupyterError> {
    let said =
        printed.split(|byte| *byte == b'\n').find_map(|line| serde_json::from_slice::<Said>(line).ok());
    let Some(said) = said else {
        let printed = String::from_utf8_lossy(printed);
        let last = printed.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(gave_up("it ended without a word", last));
    };
    if said.status == "ready" {
        return Ok(said.token);
    }
    let lines = said.stderr[said.stderr.len().saturating_sub(3)..].join(" / ");
    Err(gave_up(&said.reason, &lines))
}

fn gave_up(reason: &str, words: &str) -> JupyterError {
    let said = if words.is_empty() { String::new() } else { format!("; it said: {}", printable(words, 600)) };
    JupyterError::Gateway { reason: printable(reason, 200), said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_among_other_lines() {
        let printed = b"a warning\n{\"status\": \"ready\", \"token\": \"t\", \"port\": 1}\n";
        assert_eq!(gateway_token(printed).unwrap(), "t");
    }

    #[test]
    fn a_start_that_failed_says_why() {
        let failed = br#"{"status": "failed", "reason": "no port", "stderr": ["a", "b", "c", "d"]}"#;
        let error = gateway_token(failed).unwrap_err().to_string();
        assert!(error.contains("no port; it said: b / c / d"), "{error}");
        let error = gateway_token(b"python3: not found\n\n").unwrap_err().to_string();
        assert!(error.contains("without a word; it said: python3: not found"), "{error}");
    }
}
