//! Which files of a run are part of its result.

use glob::Pattern;
use serde::{Deserialize, Serialize};

use super::ScriptError;

/// How many files may be collected, and how much of them. What is left out is named in a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CollectLimits {
    /// How many.
    pub files: usize,
    /// How many bytes together.
    pub bytes: u64,
}

impl Default for CollectLimits {
    fn default() -> Self {
        Self { files: 1000, bytes: 64 << 20 }
    }
}

impl CollectLimits {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Refuses what is no pattern.
pub(super) fn check(patterns: &[String]) -> Result<(), ScriptError> {
    for pattern in patterns {
        let refused =
            |reason: &str| ScriptError::Pattern { pattern: pattern.clone(), reason: reason.to_owned() };
        Pattern::new(pattern).map_err(|error| refused(error.msg))?;
        if pattern.is_empty() {
            return Err(refused("it is empty: say \"*\" for all files"));
        }
        if pattern.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(refused("it must not have the components `.` and `..`"));
        }
        if pattern.starts_with('/') {
            return Err(refused("it must be relative to the workspace"));
        }
    }
    Ok(())
}
