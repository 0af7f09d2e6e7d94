//! What the engine and its proxy containers say to each other: a line of JSON each.

use std::collections::BTreeMap;
use std::net::IpAddr;

use belljar_core::{Decision, NetworkPolicy};
use serde::{Deserialize, Serialize};

/// To the proxy, on its stdin.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Order {
    /// The first word: whom cells may talk to. Values of secrets travel here and nowhere else.
    Start {
        policy: NetworkPolicy,
        secrets: BTreeMap<String, String>,
        known_hosts: BTreeMap<String, IpAddr>,
        roots_pem: Option<String>,
        /// How much of the processor may be used for each cell.
        processor_cores: f64,
    },
    /// A cell will bring its listener to the door of this name, once. Answered when the door is there and whatever an earlier use
    /// of the cell has left is at its end.
    Expect { cell: u64, token: String, answer: u64 },
    /// What the cell asked for since the last time; its next run then has its own number of bytes. There is none after
    /// the last: its connections end.
    Tell { cell: u64, is_last: bool, answer: u64 },
    /// The cell is gone.
    Forget { cell: u64 },
}

/// From the proxy, on its stdout.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Report {
    /// It listens. The authority is there when the policy opens TLS to a host.
    Ready { authority: Option<String> },
    /// It cannot.
    Failed { reason: String },
    /// The answer to an `Expect`.
    Expected { answer: u64 },
    /// The answer to a `Tell`.
    Decisions { answer: u64, decisions: Vec<Decision> },
    /// A refusal, as it happens.
    Denial { cell: u64, decision: Decision },
}

/// One line.
pub(super) fn line(word: &impl Serialize) -> String {
    let mut line = serde_json::to_string(word).expect("words are plain data");
    line.push('\n');
    line
}
