//! What can go wrong with a model.

use std::time::Duration;

/// Why a model gave no reply. No message has a key in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// How it is to be reached is wrong.
    #[error("the model cannot be asked: {reason}")]
    Setup {
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// Nobody answers there.
    #[error("{endpoint} cannot be reached after {tries} tries: {reason}")]
    Unreachable {
        /// Where it was asked.
        endpoint: String,
        /// How often.
        tries: u32,
        /// What the system says.
        reason: String,
    },
    /// Nothing came for too long.
    #[error("{endpoint} said nothing for {} s, {tries} times: allow more, or ask for less", within.as_secs_f64())]
    Silent {
        /// Where it was asked.
        endpoint: String,
        /// How long was waited.
        within: Duration,
        /// How often.
        tries: u32,
    },
    /// The key is wrong, or may not do this.
    #[error("{endpoint} does not accept the key (status {status}): {message}")]
    Key {
        /// Where it was asked.
        endpoint: String,
        /// The status of the answer.
        status: u16,
        /// What the server says.
        message: String,
    },
    /// The request is wrong: another model's name, too many tokens, an unknown field.
    #[error("{endpoint} refused the request (status {status}): {message}")]
    Refused {
        /// Where it was asked.
        endpoint: String,
        /// The status of the answer.
        status: u16,
        /// What the server says.
        message: String,
    },
    /// There were too many requests.
    #[error(
        "{endpoint} wants fewer requests (status 429, {tries} tries{}): {message}",
        again_after.map_or_else(String::new, |after| format!(", again in {} s", after.as_secs_f64().ceil()))
    )]
    RateLimited {
        /// Where it was asked.
        endpoint: String,
        /// How often.
        tries: u32,
        /// When it may be asked again, if the server says so.
        again_after: Option<Duration>,
        /// What the server says.
        message: String,
    },
    /// The server failed.
    #[error("{endpoint} failed (status {status}, {tries} tries): {message}")]
    Server {
        /// Where it was asked.
        endpoint: String,
        /// The status of the answer, or 200 if it failed in the middle of one.
        status: u16,
        /// How often it was asked.
        tries: u32,
        /// What the server says.
        message: String,
    },
    /// The reply broke off.
    #[error("the reply of {endpoint} broke off {tries} times, last after {bytes} bytes: {reason}")]
    Truncated {
        /// Where it was asked.
        endpoint: String,
        /// How often.
        tries: u32,
        /// How many bytes came.
        bytes: u64,
        /// What was missing.
        reason: String,
    },
    /// The answer is not what such a server says.
    #[error("{endpoint} does not answer as a model does: {reason}. Is the base URL right?")]
    Malformed {
        /// Where it was asked.
        endpoint: String,
        /// What it said, or a part of it.
        reason: String,
    },
    /// The answer is too long.
    #[error("the reply of {endpoint} is longer than {limit} bytes")]
    TooLong {
        /// Where it was asked.
        endpoint: String,
        /// The most it may have.
        limit: u64,
    },
    /// A scripted model has said all it was given.
    #[error("the scripted model was asked for reply {asked}, and has {given}")]
    NothingLeft {
        /// Which reply it was asked for, from 1.
        asked: usize,
        /// How many it has.
        given: usize,
    },
    /// A model of your own failed.
    #[error("{reason}")]
    Failed {
        /// What it says.
        reason: String,
    },
}

impl ModelError {
    /// Whether the one who asks has to change something: the key, the name, the address.
    pub fn is_callers(&self) -> bool {
        matches!(self, Self::Setup { .. } | Self::Key { .. } | Self::Refused { .. })
    }
}
