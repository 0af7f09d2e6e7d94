//! What can go wrong with the command itself. A script's failure is never one of these.

use std::error::Error;
use std::io;

use belljar::RuntimeError;

/// Why a command could not do its job.
#[derive(Debug)]
pub(crate) enum CliError {
    /// What the user gave cannot be used: a file, an option, a config.
    Input(anyhow::Error),
    /// The library's word.
    Runtime(RuntimeError),
    /// Stdout or stderr cannot be written.
    Output(io::Error),
    /// The system refused something ordinary.
    System {
        /// What was tried.
        action: &'static str,
        /// What it said.
        source: io::Error,
    },
}

impl CliError {
    /// For `map_err`: what was tried.
    pub(crate) fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }

    /// Whether the only trouble is that nobody listens any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What happened, with its causes, for a person.
    pub(crate) fn explain(&self) -> String {
        match self {
            Self::Input(error) => with_causes(error.as_ref()),
            Self::Runtime(error) => with_causes(error),
            Self::Output(error) => format!("cannot write the output: {error}"),
            Self::System { action, source } => format!("cannot {action}: {source}"),
        }
    }
}

impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        Self::Input(error)
    }
}

impl From<RuntimeError> for CliError {
    fn from(error: RuntimeError) -> Self {
        Self::Runtime(error)
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// An error and its causes on one line. Some errors name their cause in their own text; it is not said twice.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let cause = anyhow::anyhow!("no such file");
        assert_eq!(with_causes(cause.context("cannot read x").as_ref()), "cannot read x: no such file");
        let cause = anyhow::anyhow!("no such file");
        let repeats = cause.context("cannot read x (no such file)");
        assert_eq!(with_causes(repeats.as_ref()), "cannot read x (no such file)");
    }
}
