//! What can go wrong with the command itself. A script's failure is never one of these errors.

use std::error::Error;
use std::io;

use belljar::RuntimeError;
use belljar::engine::host::shortage;

/// Why a command could not do its job.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The user gave something that cannot be used: a file, an option, a config.
    Input(anyhow::Error),
    /// The library reported an error.
    Runtime(RuntimeError),
    /// Stdout or stderr cannot be written.
    Output(io::Error),
    /// The system refused something ordinary.
    System {
        /// What the command tried to do.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl CliError {
    /// For `map_err`: names what the command tried to do.
    pub(crate) fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }

    /// Whether the only problem is that nobody reads the output any longer.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What happened and why, written for a person.
    pub(crate) fn explain(&self) -> String {
        match self {
            Self::Input(error) => with_causes(error.as_ref()),
            Self::Runtime(error) => with_causes(error),
            Self::Output(error) => format!("cannot write the output: {}", with_causes(error)),
            Self::System { action, source } => format!("cannot {action}: {}", with_causes(source)),
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

/// An error and its causes on one line. If a limit of this process is the last cause, the line also
/// says what to do. Some errors name their cause in their own text. It is not repeated.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    let mut limit = limit_of(error);
    while let Some(cause) = next {
        limit = limit.or_else(|| limit_of(cause));
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    match limit {
        Some(remedy) if !text.contains(remedy) => format!("{text}: {remedy}"),
        _ => text,
    }
}

/// What to do about an error that a limit on files caused. Other shortages mean different things in
/// different places.
fn limit_of(error: &(dyn Error + 'static)) -> Option<&'static str> {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    const EFBIG: i32 = 27;
    const ETOOMANYREFS: i32 = 109;
    let number = error.downcast_ref::<io::Error>()?.raw_os_error()?;
    [ENFILE, EMFILE, EFBIG, ETOOMANYREFS].contains(&number).then(|| shortage(number))?
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
