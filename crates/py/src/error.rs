//! Which exception is raised.
//!
//! The classes are Python's own, in `belljar.errors`. This says which error of ours is which of
//! them, by the word that is the class's name.

use std::io;

use belljar::agent::AgentError;
use belljar::artifacts::ArtifactError;
use belljar::config::ConfigError;
use belljar::pool::CheckoutError;
use belljar::tools::{DescribeError, McpError, RegistryError};
use belljar::workspace::WorkspaceError;
use belljar::{Fault, RuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// An error that Python hears of.
pub(crate) trait Raise {
    fn raise(&self, py: Python<'_>) -> PyErr;
}

/// An instance of a class of `belljar.errors`.
pub(crate) fn of_class(py: Python<'_>, class: &str, message: String) -> PyErr {
    let found = py.import("belljar.errors").and_then(|module| module.getattr(class));
    match found.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, message),
        Err(error) => error,
    }
}

/// What the system said, if it was the system.
fn kind_of(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}

/// An error and its causes, in one line.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

impl Raise for PyErr {
    fn raise(&self, py: Python<'_>) -> PyErr {
        self.clone_ref(py)
    }
}

impl Raise for RuntimeError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        let class = match self {
            Self::Checkout(CheckoutError::TimedOut { .. }) => "CheckoutTimeout",
            Self::SandboxClosed { .. } | Self::ShutDown => "Closed",
            Self::Forked(_) => "Forked",
            Self::SessionOver { .. } => "SessionOver",
            Self::StepUnderWay { .. } => "StepUnderWay",
            Self::Files(_) => "FilesError",
            Self::Abandoned => "BelljarError",
            Self::Engine(_) | Self::Checkout(_) if self.fault() != Fault::Caller => "EngineError",
            _ => "Refused",
        };
        of_class(py, class, whole(self))
    }
}

impl Raise for ConfigError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        of_class(py, "ConfigError", whole(self))
    }
}

impl Raise for WorkspaceError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        let class = match self {
            Self::NotFound { .. } => "NotFound",
            _ if kind_of(self) == Some(io::ErrorKind::PermissionDenied) => "Forbidden",
            _ if kind_of(self) == Some(io::ErrorKind::IsADirectory) => "IsDirectory",
            Self::Escapes { .. } | Self::EmptyPath | Self::WrongKind { .. } => "FilesError",
            _ => "WorkspaceError",
        };
        of_class(py, class, whole(self))
    }
}

impl Raise for ArtifactError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        of_class(py, "ArtifactError", whole(self))
    }
}

impl Raise for AgentError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        of_class(py, "BelljarError", whole(self))
    }
}

impl Raise for McpError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        of_class(py, "EngineError", whole(self))
    }
}

impl Raise for RegistryError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        of_class(py, "ToolError", whole(self))
    }
}

impl Raise for DescribeError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        of_class(py, "ToolError", whole(self))
    }
}
