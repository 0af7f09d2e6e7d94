//! What can go wrong while a proxy is set up. What a guest does wrong is a decision, not an error.

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
    /// A secret that a policy injects was not given.
    #[error("the secret {name} that is to be injected is missing")]
    MissingSecret {
        /// Its name.
        name: String,
    },
    /// A secret that cannot stand in a header.
    #[error("the secret {name} cannot be the value of a header")]
    UnusableSecret {
        /// Its name.
        name: String,
    },
    /// The template's own authority cannot be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[from] rustls::Error),
    /// TLS is to be opened, but the machine trusts nobody.
    #[error("no root certificates on this machine to check hosts by")]
    NoRoots,
    /// What was given as root certificates is none.
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
    /// Whether it is the policy, or what it was given, that has to change.
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
