//! What can go wrong while a proxy is set up. What a guest does wrong is a decision, not an error.

use std::io;

use belljar_core::config::ConfigError;

use crate::resolve::ResolveError;

/// Why a proxy cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EgressError {
    /// The policy contradicts itself.
    #[error("the network policy is invalid")]
    Policy(#[from] ConfigError),
    /// There is no resolver.
    #[error("no resolver for names")]
    Resolver(#[from] ResolveError),
    /// The cell's listener cannot be used.
    #[error("cannot accept on the cell's listener")]
    Listener(#[source] io::Error),
}
