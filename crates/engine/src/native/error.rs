//! Failures that only the native engine has.

use belljar_jail::LaunchError;
use belljar_jail::cgroup::CgroupError;
use belljar_proxy::EgressError;

use super::NAME;
use crate::provision::ProvisionError;
use crate::{EngineError, Fault};

/// A failure of the native engine. [`EngineError::downcast_ref`] finds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NativeError {
    /// No usable interpreter was found, or the packages could not be installed.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// The jail did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The kernel refused a step of the jail's set-up.
    #[error("the jail could not be built: {step}: {error}. {remedy}")]
    Jail {
        /// The step.
        step: String,
        /// The kernel's answer.
        error: String,
        /// What to do.
        remedy: String,
    },
    /// A control group could not be made.
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    /// The proxy could not be prepared, or its listener could not be opened.
    #[error("the egress proxy cannot serve")]
    Egress(#[from] EgressError),
}

impl NativeError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Provision(error) => error.fault(),
            Self::Egress(error) if error.is_the_callers() => Fault::Caller,
            Self::Launch(_) | Self::Jail { .. } | Self::Cgroup(_) | Self::Egress(_) => Fault::Backend,
        }
    }
}

impl From<NativeError> for EngineError {
    fn from(error: NativeError) -> Self {
        Self::of_engine(NAME, error.fault(), error)
    }
}
