//! Why a config was refused.

use std::fmt::Debug;
use std::ops::RangeInclusive;

/// Why a config was refused. The caller knows which file it came from and adds that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value was read, but it breaks a rule.
    #[error("{field} = {value} is invalid: {rule}")]
    Invalid {
        /// The field with its path: `resource_limits.memory_mb`.
        field: String,
        /// The value as a document would have it.
        value: String,
        /// The rule it breaks.
        rule: String,
    },
    /// A key is unknown here.
    #[error("unknown key `{key}` at line {line}, column {column}: {hint}")]
    UnknownKey {
        /// The key with its path.
        key: String,
        /// Its line, from 1.
        line: usize,
        /// Its column, from 1.
        column: usize,
        /// A guess at what was meant.
        hint: String,
    },
    /// A value is missing, or has the wrong type or shape.
    #[error("`{key}` at line {line}, column {column}: {message}")]
    BadValue {
        /// The key with its path.
        key: String,
        /// Its line, from 1.
        line: usize,
        /// Its column, from 1.
        column: usize,
        /// What was found and what was expected.
        message: String,
    },
    /// The document is not TOML or JSON.
    #[error("syntax error at line {line}, column {column}: {message}")]
    Syntax {
        /// The parser's message.
        message: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
}

impl ConfigError {
    /// An error about a value that breaks a rule. The value is written as a document would have it.
    pub(crate) fn invalid(field: impl Into<String>, value: impl Debug, rule: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), value: format!("{value:?}"), rule: rule.into() }
    }

    /// The same error with a longer path: `memory_mb` becomes `resource_limits.memory_mb`.
    pub(super) fn within(self, parent: &str) -> Self {
        match self {
            Self::Invalid { field, value, rule } => {
                Self::Invalid { field: format!("{parent}.{field}"), value, rule }
            }
            other => other,
        }
    }

    /// Refuses a number outside `range`, with the reason for the range. Not-a-number is outside
    /// every range.
    pub(super) fn unless_in<T: PartialOrd + Debug>(
        range: RangeInclusive<T>,
        field: &str,
        value: T,
        why: &str,
    ) -> Result<(), Self> {
        if range.contains(&value) {
            return Ok(());
        }
        let rule = format!("must be from {:?} to {:?}, because {why}", range.start(), range.end());
        Err(Self::invalid(field, value, rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_one_sentence() {
        let error = ConfigError::unless_in(4..=8, "pids_limit", 3, "of a reason").unwrap_err();
        assert_eq!(
            error.within("resource_limits").to_string(),
            "resource_limits.pids_limit = 3 is invalid: must be from 4 to 8, because of a reason"
        );
    }

    #[test]
    fn not_a_number_is_outside_every_range() {
        assert!(ConfigError::unless_in(0.0..=f64::INFINITY, "x", f64::NAN, "").is_err());
    }
}
