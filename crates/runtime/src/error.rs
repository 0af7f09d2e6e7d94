//! Failures of Belljar itself, or of a request.

use std::sync::Arc;

use belljar_core::{CellId, ProgramError, ScriptError};
use belljar_engine::pool::{CheckoutError, OpenError};
use belljar_engine::{EngineError, Fault, Forked};

use crate::{FilesError, SecretError};

/// A failure of Belljar or of the request. A script's failure is a verdict instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The engine could not make what was asked for. All callers who waited for the same sandbox
    /// share the error.
    #[error(transparent)]
    Engine(Arc<EngineError>),
    /// No cell was available.
    #[error(transparent)]
    Checkout(CheckoutError),
    /// The sandbox was closed, by [`Sandbox::close`](crate::Sandbox::close).
    #[error("sandbox `{name}` is closed: make another sandbox")]
    SandboxClosed {
        /// The sandbox.
        name: String,
    },
    /// This process was forked from the one that has the runtime. Cells and threads do not follow a
    /// fork.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// The runtime was shut down, by [`Runtime::shutdown`](crate::Runtime::shutdown).
    #[error("the runtime is shut down and runs nothing more: make another runtime")]
    ShutDown,
    /// The script is empty, or not text.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The program is not valid.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The time limit is not valid.
    #[error("a time limit of {seconds} s is invalid: must be more than 0 and at most 86400")]
    Timeout {
        /// What was asked for.
        seconds: f64,
    },
    /// The tokio runtime that the run was started on has been dropped, and the run with it.
    #[error(
        "the run ended with the tokio runtime that it was started on. Keep that one until the result is there"
    )]
    Abandoned,
    /// The session's cell is gone.
    #[error("the session is over: {cell} ended in an earlier step. Start a new session")]
    SessionOver {
        /// The cell it had.
        cell: CellId,
    },
    /// A step of the session has not ended.
    #[error(
        "a step of this session is still under way in {cell}. Wait for its result, or start another session"
    )]
    StepUnderWay {
        /// The session's cell.
        cell: CellId,
    },
    /// A secret cannot be given to a sandbox, or could not be hidden.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Tools did not load. `Blueprint::lenient` goes on without them.
    #[error("{}. Repair them, or leave them out", .reasons.join("; "))]
    Tools {
        /// Which, and why.
        reasons: Vec<String>,
    },
    /// A file did not get into the cell, or out of it.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// No engine was given, and this build has no default one.
    #[error(
        "no engine: give one with Runtime::builder().engine(…), or build belljar with the feature `native`"
    )]
    NoEngine,
}

impl RuntimeError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Engine(error) => error.fault(),
            Self::Checkout(error) => error.fault(),
            Self::Files(error) => error.fault(),
            Self::SandboxClosed { .. }
            | Self::Forked(_)
            | Self::Abandoned
            | Self::ShutDown
            | Self::Script(_)
            | Self::Program(_)
            | Self::Timeout { .. }
            | Self::SessionOver { .. }
            | Self::StepUnderWay { .. }
            | Self::Secret(_)
            | Self::Tools { .. }
            | Self::NoEngine => Fault::Caller,
        }
    }
}

impl From<EngineError> for RuntimeError {
    fn from(error: EngineError) -> Self {
        Self::Engine(Arc::new(error))
    }
}

impl From<CheckoutError> for RuntimeError {
    fn from(error: CheckoutError) -> Self {
        match error {
            CheckoutError::Closed { name } => Self::SandboxClosed { name },
            CheckoutError::Forked(forked) => Self::Forked(forked),
            CheckoutError::ShutDown { .. } => Self::ShutDown,
            error => Self::Checkout(error),
        }
    }
}

impl From<OpenError> for RuntimeError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Prepare(error) => Self::Engine(error),
            OpenError::Forked(forked) => Self::Forked(forked),
            _ => Self::ShutDown,
        }
    }
}
