//! What can go wrong with a model.

use std::time::Duration;

/// In seconds.
const DAY: u64 = 24 * 60 * 60;

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
    #[error("{endpoint} cannot be reached after {}: {reason}", counted(*tries))]
    Unreachable {
        /// Where it was asked.
        endpoint: String,
        /// How often.
        tries: u32,
        /// What the system says.
        reason: String,
    },
    /// Nothing came for too long.
    #[error("{endpoint} said nothing for {} s{}: allow more, or ask for less", within.as_secs_f64(), times(*tries))]
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
        "{endpoint} wants fewer requests (status 429, {}{}): {message}",
        counted(*tries),
        again_after.map_or_else(String::new, again_in)
    )]
    RateLimited {
        /// Where it was asked.
        endpoint: String,
        /// How often.
        tries: u32,
        /// When it may be asked again, if the server says so. At most a year.
        again_after: Option<Duration>,
        /// What the server says.
        message: String,
    },
    /// The server failed.
    #[error("{endpoint} failed (status {status}, {}): {message}", counted(*tries))]
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
    #[error("the reply of {endpoint} broke off{} after {bytes} bytes: {reason}", times_and_last(*tries))]
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
    /// What a server that wants to be asked even later is taken to say.
    pub(crate) const LONGEST_ASKED: Duration = Duration::from_secs(365 * DAY);

    /// Whether the one who asks has to change something: the key, the name, the address.
    pub fn is_callers(&self) -> bool {
        matches!(self, Self::Setup { .. } | Self::Key { .. } | Self::Refused { .. })
    }
}

fn counted(tries: u32) -> String {
    if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") }
}

fn times(tries: u32) -> String {
    if tries == 1 { String::new() } else { format!(", {tries} times") }
}

fn times_and_last(tries: u32) -> String {
    if tries == 1 { String::new() } else { format!(" {tries} times, last") }
}

fn again_in(wait: Duration) -> String {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    match seconds / DAY {
        365.. => ", again in a year or never".to_owned(),
        days @ 2.. => format!(", again in {days} days"),
        _ => format!(", again in {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_and_waits_are_said_as_people_say_them() {
        let limited = |tries, milliseconds| {
            let again_after = Some(Duration::from_millis(milliseconds));
            let (endpoint, message) = ("http://h".to_owned(), "slow".to_owned());
            ModelError::RateLimited { endpoint, tries, again_after, message }.to_string()
        };
        let said = "http://h wants fewer requests (status 429, ";
        assert_eq!(limited(1, 1_500), format!("{said}1 try, again in 2 s): slow"));
        assert_eq!(limited(2, 3 * 86_400_000), format!("{said}2 tries, again in 3 days): slow"));
        let never = limited(5, ModelError::LONGEST_ASKED.as_millis() as u64);
        assert_eq!(never, format!("{said}5 tries, again in a year or never): slow"));
        for (tries, said) in [(1, "broke off after 7 bytes"), (3, "broke off 3 times, last after 7 bytes")] {
            let (endpoint, reason) = ("http://h".to_owned(), "x".to_owned());
            let error = ModelError::Truncated { endpoint, tries, bytes: 7, reason };
            assert_eq!(error.to_string(), format!("the reply of http://h {said}: x"));
        }
    }
}
