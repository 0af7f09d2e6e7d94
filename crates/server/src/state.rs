//! What all requests share.

use std::collections::BTreeMap;
use std::sync::Arc;

use belljar::tools::{Equipped, ToolSet};
use belljar::{Runtime, Sandbox};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::{OnceCell, watch};

use crate::admission::Admission;
use crate::artifacts::Artifacts;
use crate::graders::Graders;
use crate::guard::Client;
use crate::history::{HistoryReader, Writer};
use crate::mcp::Room;
use crate::options::ServerLimits;
use crate::problem::{Code, Problem};
use crate::programs::Programs;
use crate::runs::{DEFAULT, Place, Runs};
use crate::sessions::Sessions;
use crate::shares::Shares;
use crate::tokens::{Scope, TokenStore};
use crate::workspaces::WorkspaceStore;

/// What all requests share.
pub(crate) struct App {
    pub(crate) runtime: Runtime,
    pub(crate) sandboxes: Sandboxes,
    /// `None`: no token is needed.
    pub(crate) tokens: Option<TokenStore>,
    pub(crate) host_names: Vec<String>,
    pub(crate) limits: ServerLimits,
    pub(crate) admission: Arc<Admission>,
    /// Bytes of requests in memory.
    pub(crate) held: Arc<Shares>,
    pub(crate) writer: Writer,
    pub(crate) history: HistoryReader,
    pub(crate) runs: Runs,
    pub(crate) sessions: Sessions,
    pub(crate) mcp: Room,
    pub(crate) graders: Arc<Graders>,
    pub(crate) workspaces: WorkspaceStore,
    pub(crate) programs: Programs,
    pub(crate) artifacts: Artifacts,
    pub(crate) metrics: Option<PrometheusHandle>,
    pub(crate) is_draining: watch::Sender<bool>,
}

/// The sandboxes that clients may name. Each is made ready when it is first used.
pub(crate) struct Sandboxes(BTreeMap<String, Offered>);

pub(crate) struct Offered {
    pub(crate) equipped: Equipped,
    ready: OnceCell<Sandbox>,
    /// What scripts can call in it, once somebody has asked.
    pub(crate) tools: OnceCell<Arc<ToolSet>>,
}

impl Sandboxes {
    pub(crate) fn new(mut offered: BTreeMap<String, Equipped>) -> Self {
        offered.entry(DEFAULT.to_owned()).or_insert_with(|| belljar::SandboxConfig::default().into());
        let fresh = |equipped| Offered { equipped, ready: OnceCell::new(), tools: OnceCell::new() };
        Self(offered.into_iter().map(|(name, equipped)| (name, fresh(equipped))).collect())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Offered)> {
        self.0.iter().map(|(name, offered)| (name.as_str(), offered))
    }

    /// The config of a sandbox, or of the default one if there is none of that name.
    pub(crate) fn config_of(&self, name: &str) -> &belljar::SandboxConfig {
        let offered = self.0.get(name).or_else(|| self.0.get(DEFAULT));
        &offered.expect("there is always a default").equipped.config
    }

    pub(crate) fn find(&self, name: &str) -> Result<&Offered, Problem> {
        self.0.get(name).ok_or_else(|| {
            let known = self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let detail = format!("there is no sandbox {name:?}; this server has: {known}");
            Problem::new(Code::Invalid, detail).at("sandbox")
        })
    }
}

impl Offered {
    /// Makes it ready, unless it is.
    pub(crate) async fn make_ready(&self, runtime: &Runtime) -> Result<(), belljar::RuntimeError> {
        self.ready.get_or_try_init(|| runtime.sandbox(self.equipped.clone())).await.map(drop)
    }

    /// The sandbox, if it was made ready.
    pub(crate) fn ready(&self) -> Option<&Sandbox> {
        self.ready.get()
    }
}

/// A sandbox that a request may use.
pub(crate) struct Chosen {
    pub(crate) name: String,
    equipped: Equipped,
}

impl Chosen {
    /// What programs may use and reach in it.
    pub(crate) fn config(&self) -> &belljar::SandboxConfig {
        &self.equipped.config
    }

    /// The usual time limit of its runs, in seconds.
    pub(crate) fn usual_timeout(&self) -> f64 {
        self.equipped.config.resource_limits.execution_timeout_sec
    }
}

impl App {
    /// Decides whether a client may use the sandbox that it asks for. Nothing is made yet.
    pub(crate) fn choose(&self, place: Place, client: &Client) -> Result<Chosen, Problem> {
        match place {
            Place::Named(name) => {
                let equipped = self.sandboxes.find(&name)?.equipped.clone();
                Ok(Chosen { name, equipped })
            }
            // A config names files of this machine and secrets of its owner.
            Place::Config(_) if client.scope != Scope::Admin => {
                let detail = "a config in a request needs a token of scope admin: name a `sandbox` instead";
                Err(Problem::new(Code::Forbidden, detail).at("config"))
            }
            Place::Config(config) => Ok(Chosen { name: config.name.clone(), equipped: (*config).into() }),
        }
    }

    /// Makes a sandbox ready, unless it is.
    pub(crate) async fn sandbox(&self, chosen: Chosen) -> Result<Sandbox, Problem> {
        let Chosen { name, equipped } = chosen;
        let is_ours = |offered: &&Offered| offered.equipped.config == equipped.config;
        match self.sandboxes.0.get(&name).filter(is_ours) {
            Some(offered) => {
                let making = || self.runtime.sandbox(offered.equipped.clone());
                Ok(offered.ready.get_or_try_init(making).await?.clone())
            }
            None => Ok(self.runtime.sandbox(equipped).await?),
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.is_draining.borrow()
    }
}
