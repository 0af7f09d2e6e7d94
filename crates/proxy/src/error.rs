//! Errors while a proxy is set up. What a guest does wrong is a decision, not an error.

use std::io;

use belljar_core::config::ConfigError;

use crate::upstream::ResolveError;

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
    /// A secret that the policy injects was not given.
    #[error("the secret {name} that is to be injected is missing")]
    MissingSecret {
        /// Its name.
        name: String,
    },
    /// A secret that cannot be the value of a header.
    #[error("the secret {name} cannot be the value of a header")]
    UnusableSecret {
        /// Its name.
        name: String,
    },
    /// The template's certificate authority cannot be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[from] rustls::Error),
    /// TLS is to be terminated, but the machine has no root certificates.
    #[error(transparent)]
    NoRoots(#[from] belljar_tls::NoRoots),
    /// The given root certificates cannot be used.
    #[error("the root certificates cannot be used: {reason}")]
    BadRoots {
        /// What is wrong with them.
        reason: String,
    },
    /// The cell's listener cannot be used.
    #[error("cannot accept on the cell's listener")]
    Listener(#[source] io::Error),
}

impl EgressError {
    /// Whether the caller must change the policy, or what it was given.
    pub fn is_the_callers(&self) -> bool {
        matches!(
            self,
            Self::Policy(_)
                | Self::MissingSecret { .. }
                | Self::UnusableSecret { .. }
                | Self::BadRoots { .. }
        )
    }
}
