//! How the docker engine is set up.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::Secret;
use belljar_core::config::HostPathMap;

use super::DockerEngine;
use crate::engine::{BoxFuture, Engine};
use crate::{EngineError, IntoEngine};

/// Cells made of containers, on a daemon that speaks Docker's API. The defaults are those of
/// Docker's own client.
///
/// ```no_run
/// # async fn example() -> Result<(), belljar_engine::EngineError> {
/// use belljar_engine::docker::Docker;
///
/// let engine = Docker::connect().await?;
/// let engine = Docker::new().address("tcp://build-host:2376").max_uses(10).open().await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Docker {
    pub(super) address: Option<String>,
    pub(super) host_path_map: HostPathMap,
    pub(super) max_uses: u32,
    pub(super) ready_within: Duration,
    pub(super) build_network: Option<String>,
    pub(super) egress_network: Option<String>,
    /// Hidden in debug output, because the address of an index often holds a password.
    pub(super) installer_env: Vec<(String, Secret)>,
    pub(super) known_hosts: BTreeMap<String, IpAddr>,
    pub(super) roots_pem: Option<String>,
    pub(super) proxy_program: Option<PathBuf>,
    pub(super) sweep: bool,
}

impl Default for Docker {
    fn default() -> Self {
        Self {
            address: None,
            host_path_map: HostPathMap::default(),
            max_uses: 50,
            ready_within: Duration::from_secs(90),
            build_network: None,
            egress_network: None,
            installer_env: Vec::new(),
            known_hosts: BTreeMap::new(),
            roots_pem: None,
            proxy_program: None,
            sweep: true,
        }
    }
}

impl Docker {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Connects to the daemon that Docker's own client would talk to.
    pub async fn connect() -> Result<DockerEngine, EngineError> {
        Self::new().open().await
    }

    /// The daemon's address. By default `DOCKER_HOST`, or the usual sockets.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// The names of paths on the daemon's host, for when this program itself runs in a container.
    #[must_use]
    pub fn host_path_map(mut self, map: HostPathMap) -> Self {
        self.host_path_map = map;
        self
    }

    /// How many times a container is used before another replaces it. 50 by default.
    #[must_use]
    pub fn max_uses(mut self, uses: u32) -> Self {
        self.max_uses = uses;
        self
    }

    /// How long a container may take to become ready. 90 seconds by default: it tries
    /// packages first, and imports them then.
    #[must_use]
    pub fn ready_within(mut self, time: Duration) -> Self {
        self.ready_within = time;
        self
    }

    /// The network that installers of dependencies use while an image is built. By default the
    /// daemon's own.
    #[must_use]
    pub fn build_network(mut self, name: impl Into<String>) -> Self {
        self.build_network = Some(name.into());
        self
    }

    /// The network on which proxies reach the hosts that configs allow. By default the daemon's
    /// `bridge`.
    #[must_use]
    pub fn egress_network(mut self, name: impl Into<String>) -> Self {
        self.egress_network = Some(name.into());
        self
    }

    /// Variables for the installer of dependencies, in addition to this process's own: indexes,
    /// proxies, certificates.
    #[must_use]
    pub fn installer_env<'a>(mut self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), Secret::new(value)));
        self.installer_env.extend(variables);
        self
    }

    /// Host names the proxy knows without asking its resolver.
    #[must_use]
    pub fn known_hosts(mut self, hosts: impl IntoIterator<Item = (String, IpAddr)>) -> Self {
        self.known_hosts.extend(hosts);
        self
    }

    /// Root certificates, as PEM, the proxy trusts when it terminates TLS (`terminate_tls`),
    /// instead of this machine's.
    #[must_use]
    pub fn roots_pem(mut self, pem: impl Into<String>) -> Self {
        self.roots_pem = Some(pem.into());
        self
    }

    /// Whether connecting also removes, in the background, what programs of this host that were
    /// killed have left on the daemon. True by default.
    #[must_use]
    pub fn sweep(mut self, sweep: bool) -> Self {
        self.sweep = sweep;
        self
    }

    /// The program that is put into a container to be the egress proxy. By default
    /// `$BELLJAR_PROXY_PROGRAM`, else the running program. A shared library has to name one: any
    /// program that links Belljar with the docker engine will do, such as the `belljar` command.
    #[must_use]
    pub fn proxy_program(mut self, path: impl Into<PathBuf>) -> Self {
        self.proxy_program = Some(path.into());
        self
    }

    /// Connects to the daemon. Must be called within a tokio runtime, which must outlive the
    /// engine.
    pub async fn open(self) -> Result<DockerEngine, EngineError> {
        DockerEngine::open(self).await
    }
}

impl IntoEngine for Docker {
    fn into_engine(self) -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>> {
        Box::pin(async { Ok(Arc::new(self.open().await?) as Arc<dyn Engine>) })
    }
}
