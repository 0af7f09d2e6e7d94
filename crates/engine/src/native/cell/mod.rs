//! One cell, as the host holds it.
//!
//! * `files` opens its workspace.
//! * `io` writes to its channel and reads its channel and its pipes.
//! * `view` asks its control group, its scratch places and its egress.
//! * `life` interrupts it, kills it, and learns how it ended.
//! * `status` understands what its PID 1 reports.
//!
//! When a cell is dropped, its parts go to the reaper's thread, which kills it and tidies up.

mod files;
mod io;
mod life;
mod status;
mod view;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::CellId;
use belljar_core::wire::{Envelope, GuestFrame, Lines, PROTOCOL};
use belljar_jail::cgroup::CellCgroup;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use self::status::Status;
use super::descriptors::OfOneCell;
use super::egress::CellProxy;
use super::ids::LeasedId;
use super::network_namespaces::{LeasedNamespace, proves_untouched};
use super::template::NativeTemplate;
use super::zygote::{Newborn, refusal};
use crate::cell::{Cell, CellIo, CellView, End, Output, Streams};
use crate::native::reaper::Remains;
use crate::watch::watch;

/// One side's ends of a cell's connections, without the private channel.
pub(super) struct CellEnds<S> {
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) status: S,
}

/// A cell's share of limited resources.
pub(super) struct Share {
    pub(super) cgroup: CellCgroup,
    pub(super) host_id: Option<LeasedId>,
    pub(super) network: LeasedNamespace,
    pub(super) descriptors: OfOneCell,
}

/// One cell. Its parts go to the reaper when it is dropped.
pub(super) struct NativeCell {
    id: CellId,
    /// `None` only while being dropped.
    parts: Option<Parts>,
    template: Arc<NativeTemplate>,
    end: Option<End>,
    /// Processor time spent on getting ready, in microseconds. No run is charged for it.
    spent_before_ready: u64,
}

struct Parts {
    streams: Streams,
    status: Status,
    process: AsyncFd<OwnedFd>,
    scratch: Vec<OwnedFd>,
    egress: Option<CellProxy>,
    share: Share,
}

/// The longest line a harness may write before it is ready.
const LONGEST_GREETING: usize = 64 * 1024;

impl NativeCell {
    /// Takes its share only if it succeeds.
    pub(super) fn new(
        id: CellId,
        ends: CellEnds<AsyncFd<OwnedFd>>,
        newborn: Newborn,
        share: &mut Option<Share>,
        template: Arc<NativeTemplate>,
    ) -> std::io::Result<Self> {
        let streams = Streams::new(newborn.channel, ends.stdout, ends.stderr)?;
        let process = watch(newborn.process, Interest::READABLE)?;
        let mut share = share.take().expect("a cell becomes one once");
        // It has joined its groups.
        share.cgroup.close_join_files();
        let parts = Parts {
            streams,
            status: Status::new(ends.status, newborn.is_untouched),
            process,
            scratch: newborn.scratch,
            egress: None,
            share,
        };
        Ok(Self { id, parts: Some(parts), template, end: None, spent_before_ready: 0 })
    }

    /// Connects the cell to the proxy, which reaches the hosts its config allows.
    pub(super) fn open_egress(&mut self, egress: CellProxy) {
        if let Some(parts) = &mut self.parts {
            parts.egress = Some(egress);
        }
    }

    /// Waits for the harness's `ready`. The error says why it did not come.
    pub(super) async fn wait_until_ready(&mut self) -> Result<(), String> {
        const WITHIN: Duration = Duration::from_secs(30);
        let mut lines = Lines::with_limit(LONGEST_GREETING);
        let mut said = String::new();
        let ready = tokio::time::timeout(WITHIN, async {
            loop {
                match std::future::poll_fn(|cx| self.poll_output(cx)).await {
                    Output::Burst(burst) => {
                        for printed in [&burst.stdout, &burst.stderr] {
                            said.push_str(&String::from_utf8_lossy(printed));
                        }
                        lines.push(&burst.channel);
                        while let Ok(Some(line)) = lines.next_line() {
                            match Envelope::parse(line).map(|envelope| envelope.frame) {
                                Some(GuestFrame::Ready { protocol: PROTOCOL, .. }) => return Ok(()),
                                Some(GuestFrame::Ready { protocol, .. }) => {
                                    return Err(format!("it speaks protocol {protocol}, not {PROTOCOL}"));
                                }
                                _ => {}
                            }
                        }
                    }
                    Output::Closed => return Err(self.why_it_did_not_start().await),
                }
            }
        })
        .await;
        let reason = match ready {
            Ok(Ok(())) => {
                self.spent_before_ready = self.usage().cpu_micros.unwrap_or(0);
                return Ok(());
            }
            Ok(Err(reason)) => reason,
            Err(_) => "it was not ready within 30 s".to_owned(),
        };
        Err(if said.trim().is_empty() { reason } else { format!("{reason}; it said: {}", said.trim()) })
    }

    async fn why_it_did_not_start(&mut self) -> String {
        match self.read_status().await {
            Some(record) if record.first() == Some(&b'F') => refusal(&record[1..]),
            _ => format!("it ended before it was ready ({:?})", self.end_of_life().await),
        }
    }
}

impl NativeCell {
    fn parts(&self) -> &Parts {
        self.parts.as_ref().expect("only a dropped cell has no parts")
    }

    fn parts_mut(&mut self) -> &mut Parts {
        self.parts.as_mut().expect("only a dropped cell has no parts")
    }
}

impl Cell for NativeCell {
    fn id(&self) -> CellId {
        self.id
    }

    fn place(&self) -> Option<&str> {
        None
    }
}

impl Drop for NativeCell {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else { return };
        let Parts { streams, status, process, scratch, share, .. } = parts;
        let (status, network_is_untouched) = status.into_parts();
        let Share { cgroup, host_id, network, descriptors } = share;
        self.template.resources.reaper.reap(Remains {
            process: process.into_inner(),
            cgroup,
            handles: Box::new((streams, scratch, descriptors)),
            lingering: self.template.lingering.clone(),
            belongings: Box::new(Belongings { status, network, network_is_untouched, _host_id: host_id }),
        });
    }
}

/// What is given back or dropped when every process of a cell is gone.
struct Belongings {
    status: OwnedFd,
    network: LeasedNamespace,
    network_is_untouched: bool,
    _host_id: Option<LeasedId>,
}

impl Drop for Belongings {
    fn drop(&mut self) {
        if self.network_is_untouched && proves_untouched(&self.status) {
            self.network.vouch();
        }
    }
}
