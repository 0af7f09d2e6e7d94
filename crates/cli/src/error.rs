//! What can go wrong with the command itself. A script's failure is never one of these errors.

use std::error::Error;
use std::io;

use belljar::artifacts::ArtifactError;
use belljar::engine::host::shortage;
use belljar::workspace::WorkspaceError;
use belljar::{Fault, RuntimeError};

/// Why a command could not do its job.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The user gave something that cannot be used: a file, an option, a config.
    Input(anyhow::Error),
    /// The library reported an error.
    Runtime(RuntimeError),
    /// Something could not be done in a workspace.
    Workspace(WorkspaceError),
    /// Something could not be done with an artifact.
    Artifact(ArtifactError),
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

    /// Whose fault it is.
    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Input(_) => Fault::Caller,
            Self::Runtime(error) => error.fault(),
            Self::Workspace(error) => fault_of_workspace(error),
            Self::Artifact(ArtifactError::Storage { .. } | ArtifactError::Damaged { .. }) => Fault::Backend,
            Self::Artifact(_) => Fault::Caller,
            Self::Output(_) | Self::System { .. } => Fault::Backend,
        }
    }

    /// What happened and why, written for a person.
    pub(crate) fn explain(&self) -> String {
        match self {
            Self::Input(error) => with_causes(error.as_ref()),
            Self::Runtime(error) => with_causes(error),
            Self::Workspace(error) => with_causes(error),
            Self::Artifact(error) => with_causes(error),
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

impl From<WorkspaceError> for CliError {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(error)
    }
}

impl From<ArtifactError> for CliError {
    fn from(error: ArtifactError) -> Self {
        Self::Artifact(error)
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// A file that is not there, or may not be read, is named by the caller. A disk that fails is not.
fn fault_of_workspace(error: &WorkspaceError) -> Fault {
    use io::ErrorKind as Kind;
    match error.original() {
        WorkspaceError::Engine { source, .. } => match source.downcast_ref::<RuntimeError>() {
            Some(error) => error.fault(),
            None => Fault::Backend,
        },
        WorkspaceError::Io { source, .. } => match source.kind() {
            Kind::NotFound
            | Kind::PermissionDenied
            | Kind::AlreadyExists
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::InvalidInput
            | Kind::ResourceBusy => Fault::Caller,
            _ => Fault::Backend,
        },
        WorkspaceError::Stale { .. } | WorkspaceError::Abandoned { .. } => Fault::Backend,
        _ => Fault::Caller,
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
