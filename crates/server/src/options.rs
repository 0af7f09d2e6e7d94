//! How a server is set up.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use belljar::tools::Equipped;

use crate::history::Retention;

/// How a server is set up. The default is safe: this machine only, with a token.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where it keeps tokens and history. Only its owner can enter it.
    pub state: PathBuf,
    /// The sandboxes that clients may name. `default` is used if none is named.
    pub sandboxes: BTreeMap<String, Equipped>,
    /// Whether clients need a token. Without one, only this machine may ask.
    pub needs_token: bool,
    /// Names by which clients reach it, besides `localhost` and addresses.
    pub host_names: Vec<String>,
    /// A certificate and its key, as PEM files, to speak TLS by itself.
    pub tls: Option<TlsFiles>,
    /// How much clients may have.
    pub limits: ServerLimits,
    /// What is kept of runs.
    pub retention: Retention,
}

/// A certificate and its key, as PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those between it and the authority.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl ServerOptions {
    /// The defaults, with a state directory.
    pub fn new(state: impl Into<PathBuf>) -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), Self::PORT),
            state: state.into(),
            sandboxes: BTreeMap::new(),
            needs_token: true,
            host_names: Vec::new(),
            tls: None,
            limits: ServerLimits::default(),
            retention: Retention::default(),
        }
    }

    /// Where a server listens if nothing else is said.
    pub const PORT: u16 = 8720;
}

/// How much clients may have.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Runs at the same time. The others wait.
    pub concurrency: usize,
    /// Requests that may wait.
    pub queue: usize,
    /// Bytes of one request.
    pub request_bytes: usize,
    /// Sessions at the same time.
    pub sessions: usize,
    /// How long a session stays without a step.
    pub session_idle: Duration,
    /// Workspaces of one token.
    pub workspaces: usize,
    /// Bytes of one workspace. 0 is as many as the disk has.
    pub workspace_bytes: u64,
    /// Programs that are known at the same time: those that run, and the last that have ended.
    pub programs: usize,
    /// Bytes of all artifacts of one token.
    pub artifact_bytes: u64,
    /// Files that are sent and received at the same time.
    pub transfers: usize,
    /// How long a run goes on when the client that follows it has gone and may come again.
    pub reconnect: Duration,
    /// Connections at the same time.
    pub connections: usize,
    /// How long a client may take to send the head of a request.
    pub head_time: Duration,
    /// How long nothing may come of a body that is on its way.
    pub body_time: Duration,
    /// How long a client may read nothing of an answer that waits for it.
    pub read_time: Duration,
    /// Bytes of requests in memory: those that come, and those that wait for their turn.
    pub held_bytes: u64,
    /// How long runs may go on when the server ends.
    pub drain: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            concurrency: 4 * processors,
            queue: 1024,
            request_bytes: 32 << 20,
            sessions: 64,
            session_idle: Duration::from_secs(15 * 60),
            workspaces: 64,
            workspace_bytes: 4 << 30,
            programs: 128,
            artifact_bytes: 8 << 30,
            transfers: 128,
            reconnect: Duration::from_secs(10),
            connections: 4096,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(20),
            read_time: Duration::from_secs(60),
            held_bytes: 512 << 20,
            drain: Duration::from_secs(30),
        }
    }
}
