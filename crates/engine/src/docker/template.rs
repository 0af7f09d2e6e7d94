//! A blueprint made ready: an image, and how its containers are made.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use belljar_core::config::{FileResource, HostPathMap, SandboxConfig};
use belljar_core::wire::PROTOCOL;
use belljar_core::{CellId, layout};
use belljar_jail::bounds;

use super::DockerError;
use super::attach::attach;
use super::cell::{DockerCell, DockerContainer, Living, not_ready};
use super::container::ContainerPlan;
use super::daemon::Daemon;
use super::grants::Grants;
use super::labels::Controller;
use super::remover::Remover;
use super::sidecar::{Sidecar, socket_of};
use crate::EngineError;
use crate::cell::Cell;
use crate::engine::{Blueprint, BoxFuture, Fitting, Need, Template, TemplateReport};
use crate::guest;
use crate::supervised::{Container, Ready, SupervisedCell, egress_settings};

/// Numbers cells across all templates of this process.
static CELLS: AtomicU64 = AtomicU64::new(1);

pub(super) struct DockerTemplate {
    pub(super) blueprint: Blueprint,
    pub(super) image: String,
    pub(super) report: TemplateReport,
    pub(super) daemon: Daemon,
    pub(super) controller: Controller,
    pub(super) grants: Grants,
    pub(super) host_path_map: HostPathMap,
    pub(super) uses: u32,
    pub(super) ready_within: Duration,
    pub(super) sidecar: Option<Sidecar>,
    pub(super) living: Living,
    /// The container with which the template was tried. The first caller gets it.
    pub(super) first: Mutex<Option<DockerCell>>,
    /// Modules that the first container could preload, so that the others need not try them.
    pub(super) vouched: Option<Vec<String>>,
    pub(super) remover: Remover,
}

impl Template for DockerTemplate {
    fn report(&self) -> &TemplateReport {
        &self.report
    }

    fn cells_come_back(&self) -> bool {
        self.uses > 1
    }

    fn close(&self) {
        drop(self.first.lock().unwrap_or_else(PoisonError::into_inner).take());
        let left = std::mem::take(&mut *self.living.lock().unwrap_or_else(PoisonError::into_inner));
        for container in left {
            self.remover.remove(container);
        }
    }

    fn spawn(&self, _need: Need) -> BoxFuture<'_, Result<Box<dyn Cell>, EngineError>> {
        Box::pin(async move {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
            let cell = match first {
                Some(cell) => cell,
                None => self.make(None).await?.0,
            };
            Ok(Box::new(cell) as Box<dyn Cell>)
        })
    }

    fn spawn_fitted<'a>(&'a self, fitting: &'a Fitting) -> BoxFuture<'a, Result<Box<dyn Cell>, EngineError>> {
        Box::pin(async move {
            let fitted = self.fit(fitting)?;
            Ok(Box::new(self.make(Some(&fitted)).await?.0) as Box<dyn Cell>)
        })
    }
}

/// What one container is made by, where that is not the template's own.
pub(super) struct Fitted {
    config: SandboxConfig,
    grants: Grants,
    /// Who runs in it: who has, in there, the ids of the workspace's owner.
    owner: Option<(u32, u32)>,
}

impl Drop for DockerTemplate {
    /// Removes every container of the template, also those in use.
    fn drop(&mut self) {
        self.close();
    }
}

impl DockerTemplate {
    /// What a container to measure is made by.
    fn fit(&self, fitting: &Fitting) -> Result<Fitted, EngineError> {
        let mut config = self.blueprint.config.clone();
        config.resource_limits = fitting.lowered(&config.resource_limits);
        let mut owner = None;
        if let (Some(store), Some(name)) = (&self.blueprint.workspaces, &fitting.workspace) {
            let host_path = store.join(name.as_str());
            let found = std::fs::symlink_metadata(&host_path).map_err(EngineError::io("open a workspace"))?;
            let ids = (found.uid(), found.gid());
            owner = Some(self.daemon.facts.ids.inside(ids).ok_or(DockerError::Unmapped { user: ids.0 })?);
            config.resources.push(FileResource::read_write(host_path, layout::WORKSPACE));
        }
        let grants = Grants::open(&config.resources, &self.host_path_map, self.daemon.ids_here())?;
        Ok(Fitted { config, grants, owner })
    }

    /// Makes a container and waits until it is ready.
    pub(super) async fn make(&self, fitted: Option<&Fitted>) -> Result<(DockerCell, Ready), DockerError> {
        let config = fitted.map_or(&self.blueprint.config, |fitted| &fitted.config);
        let grants = fitted.map_or(&self.grants, |fitted| &fitted.grants);
        let owner = fitted.and_then(|fitted| fitted.owner);
        let authority = self.sidecar.as_ref().and_then(Sidecar::authority);
        let mut env = guest::environment(&self.blueprint);
        if authority.is_some() {
            for variable in guest::TRUST_VARIABLES {
                env.entry(variable.to_owned()).or_insert_with(|| layout::AUTHORITIES.to_owned());
            }
        }
        let env: Vec<String> = env.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        let plan = ContainerPlan {
            config,
            image: &self.image,
            env: &env,
            labels: self.controller.labels("cell", &config.name),
            grants,
            kept_by: owner,
            has_terminals: self.blueprint.has_terminals,
            egress: self.sidecar.as_ref().map(Sidecar::volume),
            trusts: authority.is_some(),
            is_podman: self.daemon.facts.is_podman(),
        };
        let uses = if fitted.is_some() { 1 } else { self.uses };
        let mut cell = self.create(&plan, uses).await?;
        let admitted = match &self.sidecar {
            Some(sidecar) => Some(sidecar.expect_cell().await?),
            None => None,
        };
        let egress = admitted.as_ref().map(|admitted| egress_settings(&socket_of(&admitted.token)));
        let settings = serde_json::json!({
            "type": "boot",
            "open_files": config.resource_limits.open_files,
            "most_sockets": bounds::MOST_SOCKETS,
            "most_locks": bounds::MOST_LOCKS,
            "granted": config.resources.iter().map(|resource| &resource.container_path).collect::<Vec<_>>(),
            "authority": authority,
            "egress": egress,
            "vouched": self.vouched,
            "is_kept": owner.is_some(),
        });
        let booted = tokio::time::timeout(self.ready_within, async {
            let container = cell.container().name().to_owned();
            let started = self.daemon.api.start_container(&container, None).await;
            started
                .map_err(DockerError::api(format!("start container {container}")))
                .map_err(|error| plan.explain(error))?;
            let ready = cell.boot(format!("{settings}\n")).await;
            ready.map_err(|reason| not_ready(&mut cell, &self.image, reason))
        })
        .await;
        let ready = booted.unwrap_or_else(|_| {
            let reason = format!("it said nothing within {} s", self.ready_within.as_secs());
            Err(not_ready(&mut cell, &self.image, reason))
        })?;
        if ready.protocol != PROTOCOL {
            let reason = format!("its harness speaks protocol {}, the host {PROTOCOL}", ready.protocol);
            return Err(not_ready(&mut cell, &self.image, reason));
        }
        grants.compare(&ready.surroundings)?;
        if let Some(admitted) = admitted {
            cell.container().open_egress(admitted.egress);
        }
        Ok((cell, ready))
    }

    /// Creates a container and attaches to it before it starts, so that nothing it writes is
    /// missed.
    async fn create(&self, plan: &ContainerPlan<'_>, uses: u32) -> Result<DockerCell, DockerError> {
        let created = self.daemon.api.create_container(None, plan.body()).await;
        let container =
            created.map_err(DockerError::api("create a container")).map_err(|error| plan.explain(error))?.id;
        // Before anything can fail in it: a container that does not come up is the one looked for.
        tracing::Span::current().record("place", container.as_str());
        tracing::debug!(container, image = self.image, "a container is created");
        let attached = attach(&self.daemon, &container).await;
        let living = Living::clone(&self.living);
        let container = DockerContainer::new(container, self.daemon.clone(), self.remover.clone(), living);
        let id = CellId::new(CELLS.fetch_add(1, Ordering::Relaxed));
        Ok(SupervisedCell::new(id, container, attached?, uses))
    }
}
