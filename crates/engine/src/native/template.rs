//! A blueprint made ready: a zygote, and what its cells are made of.

use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;

use belljar_core::CellId;
use belljar_core::config::ResourceLimits;
use belljar_jail::cgroup::{CellCgroup, CgroupError, CgroupLimits, Controller};
use belljar_jail::{CellOrder, KeptName};
use belljar_proxy::Egress;
use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::PipeFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::NativeError;
use super::cell::{CellEnds, NativeCell, Share};
use super::descriptors::{Descriptors, OfOneCell};
use super::egress::CellProxy;
use super::engine::cgroup_limits;
use super::ids::LeasedId;
use super::lingering::Lingering;
use super::network_namespaces::NetworkNamespaces;
use super::reaper::Remains;
use super::resources::Resources;
use super::zygote::{Newborn, Zygote};
use crate::EngineError;
use crate::builder::InUse;
use crate::cell::Cell;
use crate::engine::{BoxFuture, Fitting, Need, Template, TemplateReport};
use crate::guest;
use crate::watch::watch;

/// Numbers cells across all templates of this process, so that each control group has its own name.
static CELLS: AtomicU64 = AtomicU64::new(1);

pub(super) struct NativeTemplate {
    /// Cells hold their template, because they cannot outlive its zygote.
    pub(super) me: Weak<Self>,
    pub(super) name: String,
    pub(super) report: TemplateReport,
    pub(super) zygote: Zygote,
    pub(super) networks: NetworkNamespaces,
    /// Serves the hosts that its cells may reach, if there are any.
    pub(super) egress: Option<Egress>,
    pub(super) limits: CgroupLimits,
    /// What the config says of them.
    pub(super) asked: ResourceLimits,
    /// Where in the workspace something is granted.
    pub(super) granted_inside: Arc<[String]>,
    /// Its dead cells whose memory is not free yet.
    pub(super) lingering: Lingering,
    /// Keeps its packages where they are, which are mounted in its cells.
    pub(super) _packages: Option<Arc<InUse>>,
    /// Dropped after the zygote, which takes its cells with it.
    pub(super) resources: Arc<Resources>,
}

impl Template for NativeTemplate {
    fn report(&self) -> &TemplateReport {
        &self.report
    }

    fn cells_come_back(&self) -> bool {
        false
    }

    fn close(&self) {
        self.zygote.end();
    }

    fn spawn(&self, need: Need) -> BoxFuture<'_, Result<Box<dyn Cell>, EngineError>> {
        Box::pin(async move { Ok(Box::new(self.make_ready(need, None).await?) as Box<dyn Cell>) })
    }

    fn spawn_fitted<'a>(&'a self, fitting: &'a Fitting) -> BoxFuture<'a, Result<Box<dyn Cell>, EngineError>> {
        Box::pin(async move {
            self.check_fitting(fitting)?;
            Ok(Box::new(self.make_ready(Need::Now, Some(fitting)).await?) as Box<dyn Cell>)
        })
    }
}

impl NativeTemplate {
    async fn make_ready(&self, need: Need, fitting: Option<&Fitting>) -> Result<NativeCell, EngineError> {
        self.lingering.wait_for_room().await;
        let mut cell = self.make(need, fitting).await?;
        cell.wait_until_ready()
            .await
            .map_err(|reason| EngineError::Spawn { name: self.name.clone(), reason })?;
        Ok(cell)
    }

    /// Limits of one cell are kept by its control group alone.
    fn check_fitting(&self, fitting: &Fitting) -> Result<(), EngineError> {
        let wanted = [
            (fitting.memory_mb.is_some(), Controller::Memory, "memory"),
            (fitting.cpu_quota.is_some(), Controller::Cpu, "processor use"),
            (fitting.pids_limit.is_some(), Controller::Pids, "processes"),
        ];
        match wanted.iter().find(|(asked, of, _)| *asked && !self.resources.cgroups.has(*of)) {
            None => Ok(()),
            Some((_, _, what)) => Err(EngineError::Unenforceable {
                engine: super::NAME,
                what: format!("a limit on the {what} of one program"),
                reason: "there are no control groups to keep it".into(),
                remedy: "`belljar doctor` says what to do; or set the limit in the sandbox's config".into(),
            }),
        }
    }

    async fn make(&self, need: Need, fitting: Option<&Fitting>) -> Result<NativeCell, EngineError> {
        let workspace = fitting.and_then(|fitting| fitting.workspace.as_ref());
        let workspace = workspace.map(|name| {
            // The jail has a rule of its own for what may be a name. Nobody gets another place.
            KeptName::new(name.as_str()).ok_or_else(|| EngineError::Spawn {
                name: self.name.clone(),
                reason: format!("the jail takes no workspace of the name {name}"),
            })
        });
        let workspace = workspace.transpose()?;
        let limits = match fitting {
            Some(fitting) => &cgroup_limits(&fitting.lowered(&self.asked)),
            None => &self.limits,
        };
        let id = CellId::new(CELLS.fetch_add(1, Ordering::Relaxed));
        let host_id = match &self.resources.ids {
            None => None,
            Some(pool) => Some(pool.lease().ok_or_else(|| EngineError::Spawn {
                name: self.name.clone(),
                reason: "every user id for cells is in use".into(),
            })?),
        };
        let network = self.networks.lease();
        // The helper makes the mounts while the control groups are made here.
        let mut lending = pin!(self.zygote.lend(host_id.as_ref().map(LeasedId::on_host), workspace));
        let early = poll_fn(|cx| Poll::Ready(lending.as_mut().poll(cx))).await;
        let cgroup = self.resources.cgroups.create(&id.to_string(), limits);
        let cgroup = cgroup.map_err(|error| self.without_group(error))?;
        let order = CellOrder {
            workspace,
            host_id: host_id.as_ref().and_then(|leased| NonZeroU32::new(leased.get())),
            network: network.number(),
            fresh_network: network.must_be_fresh(),
            hurry: need == Need::Now,
            // Known once they are there.
            descriptors: 0,
            egress_port: self.egress.as_ref().map(|_| guest::PROXY_PORT),
        };
        let share = Share { cgroup, host_id, network, descriptors: OfOneCell::new() };
        let mut unborn = Unborn { template: self, share: Some(share), status: None };
        let lent = match early {
            Poll::Ready(lent) => lent?,
            Poll::Pending => lending.await?,
        };
        let (ends, mut newborn) = self.connect(order, lent, &mut unborn).await?;
        let (egress, listener) = (self.egress.as_ref(), newborn.listener.take());
        let template = self.me.upgrade().expect("a template that makes cells is there");
        let mut cell = NativeCell::new(id, ends, newborn, &mut unborn.share, template)
            .map_err(EngineError::io("watch a cell"))?;
        if let (Some(egress), Some(listener)) = (egress, listener) {
            cell.open_egress(CellProxy::open(egress, listener).map_err(NativeError::Egress)?);
        }
        Ok(cell)
    }

    /// Why a cell has no control group.
    fn without_group(&self, error: CgroupError) -> EngineError {
        match error {
            // The zygote was in it, and may not be known to be dead.
            CgroupError::ScopeEnded { .. } => {
                EngineError::TemplateGone { name: self.name.clone(), last_words: error.to_string() }
            }
            error => NativeError::Cgroup(error).into(),
        }
    }

    /// Makes a cell's connections and has the zygote clone itself onto their other ends.
    async fn connect(
        &self,
        mut order: CellOrder,
        lent: Vec<OwnedFd>,
        unborn: &mut Unborn<'_>,
    ) -> Result<(CellEnds<AsyncFd<OwnedFd>>, Newborn), EngineError> {
        let failed = || EngineError::io("make a cell's connections");
        let (ours, theirs) = connections().map_err(failed())?;
        Descriptors::of_this_process()
            .check_cell(&theirs.stderr)
            .map_err(|reason| EngineError::Spawn { name: self.name.clone(), reason })?;
        let status = unborn.status.insert(watch(ours.status, Interest::READABLE).map_err(failed())?);
        let mut descriptors = vec![theirs.stdout.as_fd(), theirs.stderr.as_fd(), theirs.status.as_fd()];
        descriptors.extend(lent.iter().map(AsFd::as_fd));
        let cgroup = unborn.share.as_ref().map(|share| &share.cgroup);
        descriptors.extend(cgroup.into_iter().flat_map(CellCgroup::join_files));
        order.descriptors = u32::try_from(descriptors.len()).unwrap_or(u32::MAX);
        let waiting = self.zygote.ask(order, &descriptors).await?;
        // From here on only the zygote and the cell hold these ends. So the host sees when they
        // close.
        drop((theirs, lent));
        let newborn = waiting.birth(status).await?;
        let status = unborn.status.take().expect("it was put there above");
        let ends = CellEnds { stdout: ours.stdout, stderr: ours.stderr, status };
        Ok((ends, newborn))
    }
}

/// A cell that was asked for and is not there yet. If it never comes, whatever the reason, its
/// control group goes, and its id and network are free only after that.
struct Unborn<'a> {
    template: &'a NativeTemplate,
    share: Option<Share>,
    /// Closes when the last process that was to become the cell is gone.
    status: Option<AsyncFd<OwnedFd>>,
}

impl Drop for Unborn<'_> {
    fn drop(&mut self) {
        let Some(Share { mut cgroup, host_id, network, descriptors }) = self.share.take() else { return };
        if cgroup.remove().is_ok() {
            return;
        }
        // A process is in it. Nobody holds the other end of its channel, so it ends by itself.
        let status = self.status.take().map(AsyncFd::into_inner);
        let always_ready = || File::open("/dev/null").ok().map(OwnedFd::from);
        let Some(process) = status.or_else(always_ready) else { return };
        self.template.resources.reaper.reap(Remains {
            process,
            cgroup,
            handles: Box::new(descriptors),
            lingering: self.template.lingering.clone(),
            belongings: Box::new((host_id, network)),
        });
    }
}

fn connections() -> io::Result<(CellEnds<OwnedFd>, CellEnds<OwnedFd>)> {
    let socket = |kind| socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    let (status, their_status) = socket(SocketType::SEQPACKET)?;
    let (stdout, their_stdout) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, their_stderr) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    for theirs in [&their_stdout, &their_stderr] {
        // A guest opens them again by name (`/dev/stderr`), and is not the user that made them.
        fchmod(theirs, Mode::WUSR | Mode::WGRP | Mode::WOTH)?;
    }
    Ok((
        CellEnds { stdout, stderr, status },
        CellEnds { stdout: their_stdout, stderr: their_stderr, status: their_status },
    ))
}
