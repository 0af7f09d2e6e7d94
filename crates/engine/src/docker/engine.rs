//! The engine itself: what the daemon allows, and how a blueprint is made ready.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belljar_core::Secret;
use belljar_core::config::HostPathMap;

use super::DockerError;
use super::address::{Address, Surroundings};
use super::build::{self, BuildSettings};
use super::cell::Living;
use super::context::InstallerFiles;
use super::daemon::{Daemon, Facts};
use super::grants::Grants;
use super::labels::Controller;
use super::protections::protections;
use super::prune::{Pruned, Sureness, prune};
use super::remover::Remover;
use super::sidecar::{Sidecar, SidecarSettings};
use super::template::DockerTemplate;
use crate::builder::Progress;
use crate::engine::{Blueprint, BoxFuture, Capabilities, Engine, Template, TemplateReport};
use crate::{EngineError, check};

/// How the engine is set up. The defaults are those of Docker's own client.
#[derive(Debug, Clone)]
pub struct DockerOptions {
    /// The daemon's address; `DOCKER_HOST`, or the usual sockets, when absent.
    pub address: Option<String>,
    /// What paths here are called on the daemon's host, where this program runs in a container itself.
    pub host_path_map: HostPathMap,
    /// How often a container is used before another takes its place.
    pub max_uses: u32,
    /// How long a container may take to be ready.
    pub ready_within: Duration,
    /// The network that installers of dependencies use while an image is built.
    pub build_network: Option<String>,
    /// The network on which proxies reach the hosts that configs allow; the daemon's `bridge` when absent.
    pub egress_network: Option<String>,
    /// Variables for the installer of dependencies besides this process's own: indexes, certificates.
    pub installer_env: Vec<(String, String)>,
    /// Values of the secrets that the proxy sets on the way out.
    pub secrets: BTreeMap<String, Secret>,
    /// Names the proxy knows without asking anybody, beside its resolver.
    pub known_hosts: BTreeMap<String, std::net::IpAddr>,
    /// By whom hosts are believed whose TLS is opened, as PEM; what this machine believes when absent.
    pub roots_pem: Option<String>,
}

impl Default for DockerOptions {
    fn default() -> Self {
        Self {
            address: None,
            host_path_map: HostPathMap::default(),
            max_uses: 50,
            ready_within: Duration::from_secs(30),
            build_network: None,
            egress_network: None,
            installer_env: Vec::new(),
            secrets: BTreeMap::new(),
            known_hosts: BTreeMap::new(),
            roots_pem: None,
        }
    }
}

/// Makes cells out of containers.
pub struct DockerEngine {
    options: DockerOptions,
    daemon: Daemon,
    capabilities: Capabilities,
    controller: Controller,
    remover: Remover,
}

impl DockerEngine {
    /// Connects to the daemon. Within a tokio runtime, which must outlive the engine.
    pub async fn connect(options: DockerOptions) -> Result<Self, EngineError> {
        let address = Address::find(options.address.as_deref(), &Surroundings::of_this_process())?;
        let daemon = Daemon::connect(address).await?;
        let capabilities = Capabilities {
            protections: protections(&daemon.facts),
            egress_policy: true,
            obstacles: Vec::new(),
        };
        let controller = Controller::new();
        let remover = Remover::new(daemon.clone());
        // What killed programs left here goes now, and nobody waits for it.
        let sweeping = daemon.clone();
        tokio::spawn(async move {
            match prune(&sweeping, Sureness::Certain, false).await {
                Ok(pruned) if pruned.containers.is_empty() && pruned.volumes.is_empty() => {}
                Ok(pruned) => tracing::info!(?pruned, "orphans are removed"),
                Err(error) => tracing::debug!(%error, "orphans could not be looked for"),
            }
        });
        Ok(Self { options, daemon, capabilities, controller, remover })
    }

    /// Makes the image of a blueprint and nothing else; its name, and whether it had to be built.
    pub async fn build(
        &self,
        blueprint: &Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(String, bool), EngineError> {
        self.check(blueprint)?;
        let image = build::ensure(&self.daemon, blueprint, &self.build_settings(), progress).await?;
        Ok((image.tag, image.built))
    }

    /// Removes what programs that are no more left on the daemon, and nothing of those that live. With `images`, also every image of
    /// ours that no container uses.
    pub async fn prune(&self, images: bool) -> Result<Pruned, EngineError> {
        Ok(prune(&self.daemon, Sureness::Reasonable, images).await?)
    }

    fn build_settings(&self) -> BuildSettings {
        let mut variables: Vec<(String, String)> = std::env::vars().collect();
        variables.extend(self.options.installer_env.iter().cloned());
        BuildSettings {
            installer: InstallerFiles::new(&variables),
            network: self.options.build_network.clone(),
        }
    }

    fn check(&self, blueprint: &Blueprint) -> Result<(), EngineError> {
        let config = &blueprint.config;
        config.validate().map_err(|source| EngineError::Config { name: config.name.clone(), source })?;
        check::required("docker", config, &self.capabilities.protections)?;
        check::tool_names(blueprint)
    }

    async fn make_ready(
        &self,
        blueprint: &Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Arc<dyn Template>, EngineError> {
        self.check(blueprint)?;
        let config = &blueprint.config;
        // Before anything is built: a grant that cannot be made safe is refused.
        let is_local = matches!(*self.daemon.address, Address::Unix(_));
        let grants = Grants::open(&config.resources, &self.options.host_path_map, is_local)?;
        let image = build::ensure(&self.daemon, blueprint, &self.build_settings(), progress).await?;
        let sidecar = if config.network_policy.is_isolated() {
            None
        } else {
            let settings = SidecarSettings {
                daemon: &self.daemon,
                controller: &self.controller,
                remover: &self.remover,
                config,
                options: &self.options,
            };
            Some(Sidecar::start(settings, progress).await?)
        };
        let mut template = DockerTemplate {
            blueprint: blueprint.clone(),
            image: image.tag.clone(),
            report: TemplateReport::default(),
            daemon: self.daemon.clone(),
            controller: self.controller.clone(),
            grants,
            uses: self.options.max_uses.max(1),
            ready_within: self.options.ready_within,
            sidecar,
            living: Living::default(),
            first: Mutex::default(),
            remover: self.remover.clone(),
        };
        let (first, ready) = template.make().await?;
        template.report = TemplateReport {
            python: ready.python,
            python_path: format!("python3 in {}", image.tag),
            tools: ready.tools,
            warnings: template.grants.warnings().iter().cloned().chain(ready.warnings).collect(),
        };
        template.first = Mutex::new(Some(first));
        Ok(Arc::new(template))
    }
}

impl Engine for DockerEngine {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn describe(&self) -> String {
        let Facts { product, api_version, architecture, storage_driver, cgroup_version, .. } =
            &*self.daemon.facts;
        let address = &self.daemon.address;
        format!(
            "docker: {product} at {address} (API {api_version}, {architecture}, {storage_driver}, cgroup v{cgroup_version})"
        )
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn prepare<'a>(
        &'a self,
        blueprint: &'a Blueprint,
        progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> BoxFuture<'a, Result<Arc<dyn Template>, EngineError>> {
        Box::pin(self.make_ready(blueprint, progress))
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.remover.settle())
    }
}

impl From<DockerError> for EngineError {
    fn from(error: DockerError) -> Self {
        Self::Docker(Box::new(error))
    }
}
