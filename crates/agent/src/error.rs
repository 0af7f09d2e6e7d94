//! Failures of Belljar itself, or of a request. A model's failure is an outcome instead.

use belljar_engine::{EngineError, Fault, Forked};
use belljar_runtime::{DescribeError, RuntimeError};

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// There is nothing to do.
    #[error("the task is empty: say what is to be done")]
    NoTask,
    /// A limit leaves no room for anything.
    #[error("{limit} is 0: nothing could be done")]
    Limit {
        /// Which.
        limit: &'static str,
    },
    /// Scripts cannot be run.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The sandbox's tools could not be described to the model.
    #[error(transparent)]
    Tools(Box<DescribeError>),
    /// The tokio runtime that it was started on has been dropped, and the work with it.
    #[error("the task ended with the tokio runtime that it was started on")]
    Abandoned,
}

impl AgentError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Runtime(error) => error.fault(),
            Self::Tools(error) if matches!(**error, DescribeError::Unanswered { .. }) => Fault::Internal,
            Self::Tools(_) => Fault::Caller,
            Self::NoTask | Self::Limit { .. } | Self::Abandoned => Fault::Caller,
        }
    }
}

impl From<DescribeError> for AgentError {
    fn from(error: DescribeError) -> Self {
        match error {
            DescribeError::Runtime(error) => Self::Runtime(error),
            other => Self::Tools(Box::new(other)),
        }
    }
}

impl From<Forked> for AgentError {
    fn from(forked: Forked) -> Self {
        Self::Runtime(forked.into())
    }
}

impl From<EngineError> for AgentError {
    fn from(error: EngineError) -> Self {
        Self::Runtime(error.into())
    }
}
