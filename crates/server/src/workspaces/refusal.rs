//! What the library refuses, as clients are told. No path of this machine is in it.

use std::io::{Error, ErrorKind};
use std::path::Path;

use belljar::RuntimeError;
use belljar::workspace::WorkspaceError;
use rustix::io::Errno;

use crate::problem::{Code, Problem, with_causes};

impl From<WorkspaceError> for Problem {
    fn from(error: WorkspaceError) -> Self {
        let detail = error.to_string();
        match error {
            WorkspaceError::NotFound { .. } => Self::new(Code::NotFound, detail),
            WorkspaceError::NotRunning
            | WorkspaceError::NoStdin
            | WorkspaceError::WrongKind { .. }
            | WorkspaceError::Stale { .. } => Self::new(Code::Conflict, detail),
            WorkspaceError::DiskFull { .. } => Self::new(Code::NoRoom, detail),
            WorkspaceError::Escapes { .. }
            | WorkspaceError::EmptyPath
            | WorkspaceError::InvalidProgram { .. }
            | WorkspaceError::Unsupported { .. }
            | WorkspaceError::Limit { .. } => Self::new(Code::Invalid, detail),
            WorkspaceError::Io { doing, path, source } => of_io(doing, &path, &source),
            WorkspaceError::Engine { source, .. } => match source.downcast::<RuntimeError>() {
                Ok(error) => (*error).into(),
                Err(error) => Self::new(Code::Sandbox, with_causes(&*error)),
            },
            _ => {
                tracing::error!(error = detail, "a workspace failed");
                Self::new(Code::Internal, "the workspace cannot be used: see the server's log")
            }
        }
    }
}

/// What the file system says about a path in a workspace, or about one of ours, which is not named.
pub(super) fn of_io(doing: &str, path: &Path, error: &Error) -> Problem {
    let named = if path.is_absolute() { "it".into() } else { path.display().to_string() };
    let told = |code, reason: &str| Problem::new(code, format!("cannot {doing} {named}: {reason}"));
    match (error.kind(), Errno::from_io_error(error)) {
        (ErrorKind::NotFound, _) if path.is_absolute() => told(Code::NotFound, "it is gone"),
        (ErrorKind::NotFound, _) => Problem::no_such("file", &named),
        (_, Some(Errno::LOOP)) => {
            told(Code::Conflict, "it is or leads through a link, and links are not followed")
        }
        (_, Some(Errno::XDEV)) => told(Code::Conflict, "it is on another file system"),
        (ErrorKind::NotADirectory, _) => told(Code::Conflict, "something above it is no directory"),
        (ErrorKind::IsADirectory | ErrorKind::DirectoryNotEmpty, _) => {
            told(Code::Conflict, "it is a directory")
        }
        (ErrorKind::AlreadyExists, _) => told(Code::Conflict, "there is one already"),
        (ErrorKind::PermissionDenied, _) => told(Code::Conflict, "its permissions do not allow that"),
        (ErrorKind::ResourceBusy, _) => told(Code::Conflict, "somebody else works in it"),
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge, _) => {
            told(Code::NoRoom, "there is no room left")
        }
        (ErrorKind::InvalidInput | ErrorKind::InvalidFilename, _) => {
            told(Code::Invalid, &error.to_string()).at("path")
        }
        // What a client sends.
        (ErrorKind::TimedOut | ErrorKind::UnexpectedEof | ErrorKind::ConnectionAborted, _) => {
            told(Code::Invalid, &error.to_string())
        }
        _ => {
            tracing::error!(%error, doing, path = %path.display(), "a file of a workspace failed");
            told(Code::Internal, "see the server's log")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_of_this_machine_is_told() {
        for kind in
            [ErrorKind::NotFound, ErrorKind::AlreadyExists, ErrorKind::Other, ErrorKind::PermissionDenied]
        {
            let error = WorkspaceError::io("fork to", "/var/lib/secret-place/x")(kind.into());
            let problem = Problem::from(error);
            assert!(!problem.to_string().contains("secret-place"), "{problem}");
        }
        let inside = Problem::from(WorkspaceError::io("read", "out/a.txt")(ErrorKind::IsADirectory.into()));
        assert_eq!((inside.code, inside.to_string().contains("out/a.txt")), (Code::Conflict, true));
    }
}
