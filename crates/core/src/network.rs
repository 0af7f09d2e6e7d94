//! What a cell asked of the network, and what it was told.

use serde::{Deserialize, Serialize};

/// One connection or request a cell tried to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The host it asked for: in its normal spelling when it was allowed, escaped and cut when it was not.
    pub host: String,
    /// The port; 0 when the request was too broken to have one.
    pub port: u16,
    /// What came of it.
    #[serde(flatten)]
    pub verdict: NetworkVerdict,
    /// Bytes the cell sent to that host.
    pub bytes_sent: u64,
    /// Bytes that host sent to the cell.
    pub bytes_received: u64,
    /// How long it took, or has taken so far, in milliseconds.
    pub ms: f64,
}

/// What came of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
            bytes_sent: 0,
            bytes_received: 0,
            ms: 0.5,
        };
        let text = serde_json::to_string(&decision).unwrap();
        assert_eq!(
            text,
            r#"{"host":"evil.com","port":443,"verdict":"denied","rule":"not in allowed_hosts","bytes_sent":0,"bytes_received":0,"ms":0.5}"#
        );
        assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), decision);
    }
}
