//! The messages between the engine and its proxy containers. Each is one line of JSON.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use belljar_core::{Decision, NetworkPolicy};
use serde::{Deserialize, Serialize};

/// To the proxy, on its stdin.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Order {
    /// Instead of all others, to a program that may become a proxy: what does it run with?
    Describe,
    /// The first message: which hosts cells may reach. Only this message carries the values of
    /// secrets.
    Start {
        policy: NetworkPolicy,
        secrets: BTreeMap<String, String>,
        known_hosts: BTreeMap<String, IpAddr>,
        roots_pem: Option<String>,
        /// How many processor cores may be used for each cell.
        processor_cores: f64,
    },
    /// A cell will bring its listener to the door with this name, once. Answered when the door is
    /// open and everything that an earlier use of the cell left has ended.
    Expect { cell: u64, token: String, answer: u64 },
    /// Asks for the cell's decisions since the last `Tell`. The cell's next run then gets the full
    /// byte allowance again. After the last `Tell` there is no next run: the cell's connections
    /// end.
    Tell { cell: u64, is_last: bool, answer: u64 },
    /// The cell is gone.
    Forget { cell: u64 },
}

/// From the proxy, on its stdout.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Report {
    /// The answer to a `Describe`: the shared libraries that the program runs with.
    Description { libraries: Vec<PathBuf> },
    /// The proxy listens. The authority is there if the policy terminates TLS for a host.
    Ready { authority: Option<String> },
    /// The proxy cannot serve.
    Failed { reason: String },
    /// The answer to an `Expect`.
    Expected { answer: u64 },
    /// The answer to a `Tell`.
    Decisions { answer: u64, decisions: Vec<Decision> },
    /// A refusal, as it happens.
    Denial { cell: u64, decision: Decision },
}

/// One message as a line.
pub(super) fn line(word: &impl Serialize) -> String {
    let mut line = serde_json::to_string(word).expect("words are plain data");
    line.push('\n');
    line
}
