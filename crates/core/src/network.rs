//! What a cell asked of the network, and what it was told.

use serde::{Deserialize, Serialize};

/// Stands for the host in a line that sums up many hosts without their names. A guest cannot ask for it: what it asks for is
/// shown in ASCII.
pub const OTHER_HOSTS: &str = "…";

/// Connections and requests to one host and port that came to the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decision {
    /// The host: in its normal spelling when it was allowed, escaped and cut when it was not. Where a run asks for too many
    /// hosts to name, the entry of `allowed_hosts` that allowed them, or [`OTHER_HOSTS`].
    pub host: String,
    /// The port; 0 when the request was too broken to have one, and for [`OTHER_HOSTS`].
    pub port: u16,
    /// What came of it.
    #[serde(flatten)]
    pub verdict: NetworkVerdict,
    /// How many connections and requests this line sums up. 0 where all of its bytes flowed on connections that an earlier
    /// step of the session has made.
    pub count: u64,
    /// Bytes the cell sent to that host.
    pub bytes_sent: u64,
    /// Bytes that host sent to the cell.
    pub bytes_received: u64,
    /// How long they took, or have taken so far, added up, in milliseconds.
    pub ms: f64,
}

impl Decision {
    /// What came of asking for this host and port. How often, and what it took, is filled in field by field.
    pub fn new(host: impl Into<String>, port: u16, verdict: NetworkVerdict) -> Self {
        Self { host: host.into(), port, verdict, count: 0, bytes_sent: 0, bytes_received: 0, ms: 0.0 }
    }

    /// Whether it stands for hosts that it does not name.
    pub fn is_summary(&self) -> bool {
        // A guest may ask for a name that begins like an entry, but is never allowed to.
        let is_denied = matches!(self.verdict, NetworkVerdict::Denied { .. });
        self.host == OTHER_HOSTS || (!is_denied && self.host.starts_with("*."))
    }
}

/// What came of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
#[non_exhaustive]
pub enum NetworkVerdict {
    /// It was let through.
    Allowed,
    /// The policy, or the way it was asked for, forbids it.
    Denied {
        /// The rule in words.
        rule: String,
    },
    /// It was allowed but could not be done.
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
