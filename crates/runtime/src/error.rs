//! When Belljar itself cannot do what was asked.

use belljar_core::{CellId, ScriptError};
use belljar_engine::pool::CheckoutError;
use belljar_engine::{EngineError, Fault};

/// A failure of ours or of the request's; a script's failure is a verdict instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The engine could not make what was asked for.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No cell could be had.
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
    /// The script is none.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A time limit that is no limit.
    #[error("a time limit of {seconds} s is invalid: must be more than 0 and at most 86400")]
    Timeout {
        /// What was asked for.
        seconds: f64,
    },
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
    /// A secret that would be hidden from all the text it is part of by chance.
    #[error(
        "the value of secret {name} is too short: must be at least {least} bytes, or it could not be told from ordinary output"
    )]
    ShortSecret {
        /// Its name.
        name: String,
        /// How long it must be.
        least: usize,
    },
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
            Self::Checkout(CheckoutError::Spawn(error)) => error.fault(),
            Self::Checkout(_) => Fault::Backend,
            Self::Script(_)
            | Self::Timeout { .. }
            | Self::SessionOver { .. }
            | Self::StepUnderWay { .. }
            | Self::ShortSecret { .. }
            | Self::NoEngine => Fault::Caller,
        }
    }
}
