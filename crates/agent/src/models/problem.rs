//! What goes wrong with one request.

use std::time::Duration;

use serde::Deserialize;

use crate::model::ModelError;

/// What went wrong with one request. No text in it has the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// Nobody answers.
    Unreachable { reason: String },
    /// Nothing came for so long.
    Silent { within: Duration },
    /// An answer with another status than 200.
    Status { status: u16, message: String, again_after: Option<Duration> },
    /// The server says in the middle of a reply that it failed.
    Failed { message: String },
    /// The server says in the middle of a reply that it has too much to do.
    Busy { message: String },
    /// The reply ends before its end.
    Truncated { bytes: u64, reason: String },
    /// That is no reply.
    Malformed { reason: String },
    /// It has no end.
    TooLong { limit: u64 },
}

impl Problem {
    /// Whether another try may help.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            // A time-out, a conflict, too many requests, and whatever is the server's own fault.
            Self::Status { status, .. } => matches!(status, 408 | 409 | 429 | 500..),
            Self::Malformed { .. } | Self::TooLong { .. } => false,
            _ => true,
        }
    }

    /// When the server wants to be asked again.
    pub(super) fn again_after(&self) -> Option<Duration> {
        match self {
            Self::Status { again_after, .. } => *again_after,
            _ => None,
        }
    }

    /// One line, for those who watch.
    pub(super) fn brief(&self) -> String {
        match self {
            Self::Unreachable { reason } => reason.clone(),
            Self::Silent { within } => format!("nothing came for {} s", within.as_secs_f64()),
            Self::Status { status, message, .. } => format!("status {status}: {message}"),
            Self::Failed { message } | Self::Busy { message } => message.clone(),
            Self::Truncated { reason, .. } | Self::Malformed { reason } => reason.clone(),
            Self::TooLong { limit } => format!("it is longer than {limit} bytes"),
        }
    }

    /// The error after so many tries.
    pub(super) fn into_error(self, endpoint: &str, tries: u32) -> ModelError {
        let endpoint = endpoint.to_owned();
        match self {
            Self::Unreachable { reason } => ModelError::Unreachable { endpoint, tries, reason },
            Self::Silent { within } => ModelError::Silent { endpoint, within, tries },
            Self::Status { status: status @ (401 | 403), message, .. } => {
                ModelError::Key { endpoint, status, message }
            }
            Self::Status { status: 429, message, again_after } => {
                ModelError::RateLimited { endpoint, tries, again_after, message }
            }
            Self::Status { status: status @ (300..=399), .. } => ModelError::Malformed {
                endpoint,
                reason: format!("it sends elsewhere (status {status}), where no key is taken"),
            },
            Self::Status { status: status @ (408 | 409 | 500..), message, .. } => {
                ModelError::Server { endpoint, status, tries, message }
            }
            Self::Status { status, message, .. } => ModelError::Refused { endpoint, status, message },
            Self::Failed { message } | Self::Busy { message } => {
                ModelError::Server { endpoint, status: 200, tries, message }
            }
            Self::Truncated { bytes, reason } => ModelError::Truncated { endpoint, tries, bytes, reason },
            Self::Malformed { reason } => ModelError::Malformed { endpoint, reason },
            Self::TooLong { limit } => ModelError::TooLong { endpoint, limit },
        }
    }
}

/// What both kinds of server say about a failure.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Said {
    /// `{"type": …, "message": …}`
    Object {
        #[serde(default, rename = "type")]
        kind: Option<String>,
        message: String,
    },
    /// Only a sentence.
    Text(String),
}

impl Said {
    /// What it is about, in the server's own word.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Object { kind: Some(kind), .. } => kind,
            _ => "",
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            Self::Object { message, .. } | Self::Text(message) => excerpt(message),
        }
    }
}

/// The message of a body that came with a status.
pub(super) fn message_of(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Body {
        error: Option<Said>,
        message: Option<String>,
        detail: Option<String>,
    }
    let text = String::from_utf8_lossy(body);
    let said = serde_json::from_slice::<Body>(body).ok().and_then(|body| {
        body.error.map(|said| said.message()).or(body.message).or(body.detail).map(|text| excerpt(&text))
    });
    match said {
        Some(message) => message,
        None if text.trim().is_empty() => "it gives no reason".to_owned(),
        None => excerpt(&text),
    }
}

/// The beginning of a stranger's text, on one line.
pub(super) fn excerpt(text: &str) -> String {
    const MOST: usize = 400;
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_found_wherever_it_says_it() {
        for (body, message) in [
            (r#"{"error":{"message":"no\n such model","type":"x"}}"#, "no such model"),
            (r#"{"type":"error","error":{"type":"x","message":"no key"}}"#, "no key"),
            (r#"{"error":"model not found"}"#, "model not found"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            ("<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
            ("", "it gives no reason"),
        ] {
            assert_eq!(message_of(body.as_bytes()), message);
        }
        assert_eq!(message_of("é ".repeat(1000).as_bytes()).chars().count(), 401);
    }
}
