//! The engine itself: what this machine allows, and how a blueprint is made ready.

use std::os::fd::AsFd;
use std::sync::Arc;

use belljar_core::config::{ResourceLimits, SandboxConfig};
use belljar_core::layout;
use belljar_core::wire::PROTOCOL;
use belljar_jail::cgroup::{CgroupLimits, Controller};
use belljar_jail::probe::{has_ids_for_guests, survey, without};
use belljar_jail::{CELL_INIT, CELL_LIBRARY, CellLimits, Identity, JailSpec, launch, plan_cell, sealed_file};
use belljar_proxy::Egress;
use rustix::process::{Resource, getrlimit};

use super::check;
use super::descriptors::{self, Descriptors};
use super::egress;
use super::ids::IdPool;
use super::lending;
use super::lingering::Lingering;
use super::network_namespaces::NetworkNamespaces;
use super::reaper::Reaper;
use super::resources::Resources;
use super::root::{self, GuestRoot, Packages};
use super::settings::Settled;
use super::template::NativeTemplate;
use super::zygote::Zygote;
use super::{NAME, NativeError};
use crate::blocking::on_a_thread;
use crate::builder::{Layer, preloads};
use crate::engine::{Blueprint, BoxFuture, Engine, Template, TemplateReport};
use crate::guest::PYTHON;
use crate::provision::ProvisionError;
use crate::python::{self, Interpreter};
use crate::{Capabilities, EngineError, InProcess, Progress};

const MIB: u64 = 1 << 20;
/// How many heaps glibc makes for a process's threads.
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Makes cells out of Linux namespaces.
pub struct NativeEngine {
    settings: Settled,
    landlock: u32,
    capabilities: Capabilities,
    identity: Identity,
    resources: Arc<Resources>,
}

impl NativeEngine {
    /// Looks at the machine. Also succeeds where no cell can be made, so that `doctor` can say why.
    /// Blocks.
    pub(super) fn probe(settings: Settled) -> Result<Self, EngineError> {
        let (survey, cgroups) = survey(settings.groups).map_err(NativeError::Launch)?;
        let capabilities = Capabilities {
            control_groups: cgroups.source().to_string(),
            egress_policy: true,
            obstacles: survey.obstacles().map(|obstacle| obstacle.name).collect(),
            protections: survey.protections,
        };
        let ids = match has_ids_for_guests() {
            true => Some(IdPool::of_this_process().map_err(EngineError::io("choose ids for cells"))?),
            false => None,
        };
        let identity = ids.as_ref().map_or(Identity::Single, IdPool::identity);
        let reaper = Reaper::start().map_err(EngineError::io("start the reaper"))?;
        descriptors::raise_limit();
        Ok(Self {
            settings,
            landlock: survey.landlock,
            capabilities,
            identity,
            resources: Arc::new(Resources { cgroups: InProcess::new(cgroups), ids, reaper }),
        })
    }

    fn cell_limits(&self, config: &SandboxConfig, guest: &mut GuestRoot) -> CellLimits {
        let (limits, scratch_mb) = (&config.resource_limits, config.scratch_size_mb);
        CellLimits {
            scratch: layout::SCRATCH.map(str::to_owned),
            stand_ins: layout::PROC.into(),
            channel: layout::CHANNEL,
            scratch_bytes: scratch_mb * MIB,
            temporary_bytes: scratch_mb * MIB,
            // Room for many small files, without letting them take much unaccounted memory.
            inodes: (scratch_mb * 256).clamp(4096, 1 << 20),
            open_files: self.open_files(limits),
            // Without cgroups, these per-process limits are all there is. PID 1 of the cell is one
            // more process.
            processes: (!self.resources.cgroups.has(Controller::Pids))
                .then_some(u64::from(limits.pids_limit) + 1),
            memory_per_process: (!self.resources.cgroups.has(Controller::Memory))
                .then_some(limits.memory_mb * MIB),
            granted_inside: std::mem::take(&mut guest.granted_inside),
            lent: std::mem::take(&mut guest.lent_to),
            store: std::mem::take(&mut guest.store),
            has_terminals: guest.has_terminals,
            writable: std::mem::take(&mut guest.writable),
            landlock: self.landlock,
        }
    }

    /// How many descriptors a guest may have open.
    ///
    /// The kernel counts descriptors in transit through sockets per user, and compares the count
    /// with the limit of the sender. A guest under the host's own id could use up what the host
    /// needs to make the next cell. So such a guest gets a lower limit.
    fn open_files(&self, limits: &ResourceLimits) -> u64 {
        /// Descriptors left to the host. More than 253, because one message can exceed the limit by
        /// that many.
        const SPARE: u64 = 512;
        /// Python does not get far with fewer.
        const LEAST: u64 = 64;
        let asked = u64::from(limits.open_files);
        if self.resources.ids.is_some() {
            return asked;
        }
        let ours = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        asked.min(ours.saturating_sub(SPARE).max(LEAST))
    }

    /// Says which limits count for each process by itself, or for nothing, because there are no
    /// control groups.
    fn weaker_limits(&self) -> Option<String> {
        let missing = [Controller::Memory, Controller::Pids, Controller::Cpu]
            .into_iter()
            .filter(|controller| !self.resources.cgroups.has(*controller));
        let missing: Vec<&str> = missing.map(without).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "limits are weaker here, without control groups: {}; `belljar doctor` says what to do",
                missing.join(", ")
            )
        })
    }

    async fn make_ready(
        &self,
        blueprint: &Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Arc<dyn Template>, EngineError> {
        check::check(blueprint, &self.capabilities, &self.resources.cgroups)?;
        let config = &blueprint.config;
        Descriptors::of_this_process().check_stock(config, descriptors::open_beside_cells())?;
        let (interpreter, layer) =
            self.provision(blueprint, progress).await.map_err(NativeError::Provision)?;
        let preloads = layer
            .as_ref()
            .and_then(|layer| self.settings.provisioner.preloads(layer, &interpreter, blueprint));
        let vouched = preloads::known(preloads.clone()).await?;
        let packages = Packages { layer: layer.as_ref(), vouched: vouched.as_deref() };
        let (resources, guests_are_others) = (config.resources.clone(), self.resources.ids.is_some());
        let granted = on_a_thread("belljar-grants", move || lending::look(&resources, guests_are_others));
        let granted = granted.await.map_err(EngineError::io("look at what is granted"))??;
        let mut guest = root::lay_out(blueprint, &interpreter, packages, granted)?;
        guest.keep_workspaces(blueprint.workspaces.as_deref(), self.resources.ids.is_some())?;
        let egress = egress::prepare(blueprint, &self.settings).map_err(NativeError::Egress)?;
        if let Some(authority) = egress.as_ref().and_then(Egress::ca_pem) {
            guest.trust(&authority);
        }
        let limits = &config.resource_limits;
        let relative = |path: &str| {
            path.strip_prefix(layout::WORKSPACE).map(|path| path.trim_start_matches('/').to_owned())
        };
        let granted_inside = guest.granted_inside.iter().filter_map(|(_, path, _)| relative(path)).collect();
        let cell_limits = self.cell_limits(config, &mut guest);
        if cell_limits.open_files < u64::from(limits.open_files) {
            guest.warnings.push(format!(
                "open_files is {} and not {}: cells share this user's id, and the rest is needed to make them; raise the hard limit (ulimit -Hn)",
                cell_limits.open_files, limits.open_files,
            ));
        }
        guest.warnings.extend(self.weaker_limits());
        if cell_limits.memory_per_process.is_some() && !config.env.contains_key(ARENAS) {
            // The limit counts addresses. glibc would set 64 MiB of them aside for each thread.
            guest.env.push((ARENAS.to_owned(), "1".to_owned()));
        }
        let plan = plan_cell(&cell_limits);
        let spec = JailSpec {
            identity: self.identity,
            hostname: root::HOST_NAME.into(),
            root: guest.entries,
            lent: guest.lent,
            store: guest.lent_store,
            command: PYTHON.command(&guest.python, layout::BELLJAR, PYTHON.spawn),
            env: guest.env,
            programs: vec![CELL_INIT.to_vec()],
        };
        let library = sealed_file("belljar-cell", CELL_LIBRARY)
            .map_err(EngineError::io("hand over the cell library"))?;
        let plan = sealed_file("belljar-plan", &plan.encode())
            .map_err(EngineError::io("hand over the cell plan"))?;
        let resources = Arc::clone(&self.resources);
        let launched = on_a_thread("belljar-launch", move || {
            launch(&spec, &[library.as_fd(), plan.as_fd()], &resources.cgroups)
        });
        let launched =
            launched.await.map_err(EngineError::io("start a jail"))?.map_err(NativeError::Launch)?;
        let (zygote, ready) = Zygote::meet(&config.name, launched, self.resources.reaper.clone()).await?;
        guest
            .warnings
            .extend(ready.foreign.iter().filter_map(|number| guest.if_foreign.get(*number).cloned()));
        // Everything is mounted. The files that were checked need not stay open any longer.
        let packages = layer.map(|layer| layer.in_use);
        drop(guest.grants);
        if ready.protocol != PROTOCOL {
            return Err(EngineError::Spawn {
                name: config.name.clone(),
                reason: format!("the harness speaks protocol {}, the host {PROTOCOL}", ready.protocol),
            });
        }
        preloads::keep(preloads, vouched, ready.vouched).await?;
        // Nothing is less safe with fewer. So the limit that can be had is used, and said.
        if let Some(most) = zygote.most_open_files().filter(|most| *most < cell_limits.open_files) {
            guest.warnings.push(format!(
                "open_files is {most} and not {}: this program's own hard limit is no higher; raise that (ulimit -Hn)",
                cell_limits.open_files,
            ));
        }
        let report = TemplateReport {
            python: ready.python,
            python_path: interpreter.executable.display().to_string(),
            tools: ready.tools,
            warnings: guest.warnings.into_iter().chain(ready.warnings).collect(),
        };
        Ok(Arc::new_cyclic(|me| NativeTemplate {
            me: me.clone(),
            name: config.name.clone(),
            report,
            granted_inside,
            zygote,
            networks: NetworkNamespaces::default(),
            lingering: Lingering::default(),
            egress,
            limits: cgroup_limits(limits),
            asked: limits.clone(),
            _packages: packages,
            resources: Arc::clone(&self.resources),
        }))
    }

    /// Finds the interpreter and the packages. Cells that run as another user must be able to read
    /// the interpreter.
    async fn provision(
        &self,
        blueprint: &Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(Interpreter, Option<Layer>), ProvisionError> {
        let guest_is_somebody_else = self.resources.ids.is_some();
        let suits = move |interpreter: &Interpreter| match guest_is_somebody_else {
            true => python::readable_by_others(interpreter),
            false => Ok(()),
        };
        self.settings.provisioner.provide(&blueprint.config, suits, progress).await
    }
}

impl Engine for NativeEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> String {
        self.name().to_owned()
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
        // Beyond the ids of cells, so no cell ever has it.
        self.resources.ids.as_ref().map(|_| Identity::NOBODYS.end)
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        let resources = Arc::clone(&self.resources);
        Box::pin(async move {
            self.settings.provisioner.settle().await;
            // Nothing is lost if this is cut short. Cells are killed when they are dropped; this
            // only waits until they are tidied up.
            let _ = on_a_thread("belljar-settle", move || {
                resources.reaper.wait_until_idle();
                resources.cgroups.settle();
            })
            .await;
        })
    }
}

pub(super) fn cgroup_limits(limits: &ResourceLimits) -> CgroupLimits {
    CgroupLimits {
        memory_bytes: limits.memory_mb * MIB,
        // No swap at all, unless it is granted.
        memory_and_swap_bytes: limits.memory_and_swap_mb() * MIB,
        socket_bytes: limits.socket_memory_bytes(),
        cpu_quota: limits.cpu_quota,
        // PID 1 of the cell is one more process. The kernel takes no more than this.
        pids: (u64::from(limits.pids_limit) + 1).min(check::MOST_PROCESSES),
    }
}
