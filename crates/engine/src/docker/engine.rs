//! The engine itself: what the daemon allows, and how a blueprint is made ready.

use std::sync::{Arc, Mutex};

use belljar_core::layout;

use super::address::{Address, Surroundings};
use super::build::{self, BuildSettings};
use super::cell::Living;
use super::container::GUEST_ID;
use super::context::InstallerFiles;
use super::daemon::{Daemon, Facts};
use super::grants::Grants;
use super::labels::Controller;
use super::protections::protections;
use super::prune::{self, Certainty, Orphans, Pruned};
use super::remover::Remover;
use super::sidecar::{Sidecar, SidecarSettings};
use super::template::DockerTemplate;
use super::{Docker, DockerError, NAME};
use crate::engine::{Blueprint, BoxFuture, Engine, Template, TemplateReport};
use crate::{Capabilities, EngineError, Progress, check};

/// Makes cells out of containers.
pub struct DockerEngine {
    settings: Docker,
    daemon: Daemon,
    capabilities: Capabilities,
    controller: Controller,
    remover: Remover,
}

/// Removes what killed programs left on a daemon.
async fn sweep(daemon: Daemon) {
    let swept = async {
        let orphans = prune::find(&daemon, Certainty::Certain, false).await?;
        prune::remove(&daemon, &orphans).await
    };
    match swept.await {
        Ok(pruned) if pruned.containers.is_empty() && pruned.volumes.is_empty() => {}
        Ok(pruned) => tracing::info!(?pruned, "orphans are removed"),
        Err(error) => tracing::debug!(%error, "orphans could not be looked for"),
    }
}

impl DockerEngine {
    pub(super) async fn open(settings: Docker) -> Result<Self, EngineError> {
        let address = Address::find(settings.address.as_deref(), &Surroundings::of_this_process())?;
        let daemon = Daemon::connect(address).await?;
        let capabilities = Capabilities {
            control_groups: format!("v{}, by the daemon", daemon.facts.cgroup_version),
            protections: protections(&daemon.facts),
            egress_policy: true,
            obstacles: Vec::new(),
        };
        let controller = Controller::new();
        let remover = Remover::new(daemon.clone());
        if settings.sweep {
            tokio::spawn(sweep(daemon.clone()));
        }
        Ok(Self { settings, daemon, capabilities, controller, remover })
    }

    /// Makes the image of a blueprint and nothing else. Returns its name, and whether it had to be
    /// built.
    pub async fn build(
        &self,
        blueprint: &Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(String, bool), EngineError> {
        self.check(blueprint)?;
        let image = build::ensure(&self.daemon, blueprint, &self.build_settings(), progress).await?;
        Ok((image.tag, image.built))
    }

    /// Removes what programs that are gone left on the daemon, and nothing that belongs to running
    /// ones. With `images`, also removes every image of ours that no container uses.
    pub async fn prune(&self, images: bool) -> Result<Pruned, EngineError> {
        self.remove(&self.orphans(images).await?).await
    }

    /// What [`Self::prune`] would remove.
    pub async fn orphans(&self, images: bool) -> Result<Orphans, EngineError> {
        Ok(prune::find(&self.daemon, Certainty::Reasonable, images).await?)
    }

    /// Removes what was found, unless somebody has begun to use it since.
    pub async fn remove(&self, orphans: &Orphans) -> Result<Pruned, EngineError> {
        Ok(prune::remove(&self.daemon, orphans).await?)
    }

    fn build_settings(&self) -> BuildSettings {
        let mut variables: Vec<(String, String)> = std::env::vars().collect();
        let installer_env = self.settings.installer_env.iter();
        variables.extend(installer_env.map(|(name, value)| (name.clone(), value.expose().to_owned())));
        BuildSettings {
            installer: InstallerFiles::new(&variables),
            network: self.settings.build_network.clone(),
        }
    }

    fn check(&self, blueprint: &Blueprint) -> Result<(), EngineError> {
        let config = &blueprint.config;
        check::config(config)?;
        check::required(NAME, config, &self.capabilities)?;
        check::tool_names(blueprint)
    }

    async fn make_ready(
        &self,
        blueprint: &Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Arc<dyn Template>, EngineError> {
        self.check(blueprint)?;
        let config = &blueprint.config;
        // Before anything is built, so that a grant that cannot be made safe is refused.
        let map = &self.settings.host_path_map;
        let grants = Grants::open(&config.resources, map, self.daemon.ids_here())?;
        let image = build::ensure(&self.daemon, blueprint, &self.build_settings(), progress).await?;
        let sidecar = if config.network_policy.is_isolated() {
            None
        } else {
            let settings = SidecarSettings {
                daemon: &self.daemon,
                controller: &self.controller,
                remover: &self.remover,
                blueprint,
                settings: &self.settings,
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
            host_path_map: map.clone(),
            // What is granted inside the workspace is in the way of whoever empties that.
            uses: match config.resources.iter().any(|each| layout::is_in_workspace(&each.container_path)) {
                true => 1,
                false => self.settings.max_uses.max(1),
            },
            ready_within: self.settings.ready_within,
            sidecar,
            living: Living::default(),
            first: Mutex::default(),
            vouched: None,
            remover: self.remover.clone(),
        };
        let (first, ready) = template.make(None).await?;
        template.report = TemplateReport {
            python: ready.python,
            python_path: format!("python3 in {}", image.tag),
            tools: ready.tools,
            warnings: template.grants.warnings().iter().cloned().chain(ready.warnings).collect(),
        };
        template.first = Mutex::new(Some(first));
        template.vouched = ready.vouched;
        Ok(Arc::new(template))
    }
}

impl Engine for DockerEngine {
    fn name(&self) -> &'static str {
        NAME
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

    fn kept_owner(&self) -> Option<u32> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        self.daemon.facts.ids.outside(GUEST_ID)
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.remover.settle())
    }
}

impl From<DockerError> for EngineError {
    fn from(error: DockerError) -> Self {
        Self::of_engine(NAME, error.fault(), error)
    }
}
