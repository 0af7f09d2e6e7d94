//! What is wrong with a script.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that a model should change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The line of the script, from 1.
    pub line: u32,
    /// Which rule it breaks.
    pub rule: Rule,
    /// What is wrong, and what to do instead.
    pub message: String,
}

impl Finding {
    /// A finding.
    pub fn new(line: u32, rule: Rule, message: impl Into<String>) -> Self {
        Self { line, rule, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// What a script is looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// It must compile.
    Syntax,
    /// It must not be endless.
    Length,
    /// It must not call certain functions.
    ForbiddenCall,
    /// A tool must be called: `x = search` gives the function itself.
    ToolNotCalled,
    /// It must not define its own function in a tool's place.
    HidesTool,
    /// It must give a result.
    NoResult,
    /// The reply must have a script in it.
    NoScript,
    /// The reply must be whole.
    CutOff,
}
