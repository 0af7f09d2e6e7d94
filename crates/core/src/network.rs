//! What a cell asked of the network, and the answers.

use serde::{Deserialize, Serialize};

/// The host of a line that sums up many hosts without their names. A guest cannot ask for it,
/// because hosts that a guest asks for are shown in ASCII.
pub const OTHER_HOSTS: &str = "…";

/// Connections and requests to one host and port that had the same outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decision {
    /// The host. If it was allowed, it is in its normal spelling. If not, it is escaped and cut. A
    /// run may ask for too many hosts to name. Then this is the entry of `allowed_hosts` that
    /// allowed them, or [`OTHER_HOSTS`].
    pub host: String,
    /// The port. It is 0 if the request was too broken to have one, and for [`OTHER_HOSTS`].
    pub port: u16,
    /// The outcome.
    #[serde(flatten)]
    pub verdict: NetworkVerdict,
    /// How many connections and requests this line sums up. It is 0 if all of its bytes flowed on
    /// connections that an earlier step of the session made.
    pub count: u64,
    /// Bytes that the cell sent to that host.
    pub bytes_sent: u64,
    /// Bytes that the host sent to the cell.
    pub bytes_received: u64,
    /// How long they took, or have taken so far, in milliseconds. The times are added up.
    pub ms: f64,
}

impl Decision {
    /// A line for this host, port and outcome. The other fields are filled in one by one.
    pub fn new(host: impl Into<String>, port: u16, verdict: NetworkVerdict) -> Self {
        Self { host: host.into(), port, verdict, count: 0, bytes_sent: 0, bytes_received: 0, ms: 0.0 }
    }

    /// Whether the line stands for hosts that it does not name.
    pub fn is_summary(&self) -> bool {
        // A guest may ask for a name that begins like an entry, but such a name is never allowed.
        let is_denied = matches!(self.verdict, NetworkVerdict::Denied { .. });
        self.host == OTHER_HOSTS || (!is_denied && self.host.starts_with("*."))
    }
}

/// The outcome of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
#[non_exhaustive]
pub enum NetworkVerdict {
    /// It was let through.
    Allowed,
    /// The policy forbids it, or forbids the way it was asked for.
    Denied {
        /// The rule, as a sentence.
        rule: String,
    },
    /// It was allowed, but it failed.
    Failed {
        /// What went wrong.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_one_flat_json_object_and_back() {
        let decision = Decision {
            host: "evil.com".into(),
            port: 443,
            verdict: NetworkVerdict::Denied { rule: "not in allowed_hosts".into() },
            count: 3,
            bytes_sent: 0,
            bytes_received: 0,
            ms: 0.5,
        };
        let text = serde_json::to_string(&decision).unwrap();
        assert_eq!(
            text,
            r#"{"host":"evil.com","port":443,"verdict":"denied","rule":"not in allowed_hosts","count":3,"bytes_sent":0,"bytes_received":0,"ms":0.5}"#
        );
        assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), decision);
    }
}
