//! Why a tool, or a set of tools, was refused.

use serde::Serialize;

use crate::config::ConfigError;
use crate::json_line;

/// Why a tool, or a set of tools, was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// A value breaks a rule.
    #[error("tool {tool:?}: {field} = {value} is invalid: {rule}")]
    Invalid {
        /// The tool's name.
        tool: String,
        /// The field with its path: `parameters[1].default`.
        field: String,
        /// The value as a document would have it. Long ones are cut short.
        value: String,
        /// The rule it breaks.
        rule: String,
    },
    /// There is a tool of that name.
    #[error(
        "tool {name:?} ({place} tool of sandbox {sandbox:?}) has the same name as the {other_place} tool of \
         sandbox {other_sandbox:?}: a script can call only one of them by that name"
    )]
    Duplicate {
        /// The name of both.
        name: String,
        /// Where the new one runs.
        place: &'static str,
        /// The new one's sandbox.
        sandbox: String,
        /// Where the one that was there runs.
        other_place: &'static str,
        /// The sandbox of the one that was there.
        other_sandbox: String,
    },
    /// A tool belongs to a sandbox that is not there.
    #[error("tool {tool:?} belongs to sandbox {sandbox:?}, which is unknown: there are {known}")]
    HomelessTool {
        /// The tool.
        tool: String,
        /// The sandbox it names.
        sandbox: String,
        /// Those that are known.
        known: String,
    },
    /// A caller asks for a sandbox that is not there.
    #[error("sandbox {sandbox:?} is unknown: there are {known}")]
    UnknownSandbox {
        /// The sandbox.
        sandbox: String,
        /// Those that are known.
        known: String,
    },
    /// Two want the same package in different ways.
    #[error(transparent)]
    DependencyConflict(#[from] Box<DependencyConflict>),
    /// Two tools come from files of one name that are not the same.
    #[error(
        "tools {first:?} and {second:?} of sandbox {sandbox:?} both come from {file_name:?}, but the two \
         files differ"
    )]
    SourceConflict {
        /// The sandbox.
        sandbox: String,
        /// The file's name.
        file_name: String,
        /// The tool that came first.
        first: String,
        /// The other one.
        second: String,
    },
    /// A sandbox's config breaks a rule, by itself or with what its tools need.
    #[error("sandbox {sandbox:?}: {error}")]
    Config {
        /// The sandbox.
        sandbox: String,
        /// The rule.
        #[source]
        error: ConfigError,
    },
}

/// Two want the same package in different ways.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "sandbox {sandbox:?} cannot have two versions of {package}: {first} wants {first_requirement:?} and \
     {second} wants {second_requirement:?}; make them the same, or give one tool another sandbox"
)]
#[non_exhaustive]
pub struct DependencyConflict {
    /// The sandbox.
    pub sandbox: String,
    /// The package, by its normal name.
    pub package: String,
    /// Who came first: `tool "plot"`, or the sandbox's config.
    pub first: String,
    /// What it wants.
    pub first_requirement: String,
    /// Who came second.
    pub second: String,
    /// What that one wants.
    pub second_requirement: String,
}

impl ToolError {
    /// An error about a value that breaks a rule.
    pub(super) fn invalid(
        tool: &str,
        field: impl Into<String>,
        value: impl Serialize,
        rule: impl Into<String>,
    ) -> Self {
        let value = json_line(&value).unwrap_or_else(|_| "(not shown)".to_owned());
        Self::Invalid { tool: cut(tool), field: field.into(), value: cut(&value), rule: rule.into() }
    }
}

/// The beginning of a text that may be long.
pub(super) fn cut(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
