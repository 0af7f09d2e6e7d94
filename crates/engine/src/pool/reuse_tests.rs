//! Cells that may be used again. Those here are made up, so that no container is needed; everything
//! around them is real.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use belljar_core::config::SandboxConfig;
use belljar_core::metrics as names;
use belljar_core::{CellId, Decision};
use bytes::Bytes;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use super::template_pool::TemplatePool;
use super::{Lease, PoolOptions, TemplateHold};
use crate::EngineError;
use crate::cell::{
    Autopsy, Cell, CellFiles, CellIo, CellLife, CellUsage, CellView, End, Files, Leftovers, Output, Until,
};
use crate::engine::{Blueprint, BoxFuture, Engine, Need, Template, TemplateReport};
use crate::{Background, Capabilities, Progress};

/// A cell that counts its uses and can be told to come out of a reset in doubt.
struct Reusable {
    id: CellId,
    uses_left: u32,
    resets_well: bool,
}

impl Cell for Reusable {
    fn id(&self) -> CellId {
        self.id
    }

    fn place(&self) -> Option<&str> {
        None
    }
}

impl CellIo for Reusable {
    fn begin(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn come_here(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn send(&mut self, _bytes: Bytes) {}

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn open_stdin(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn poll_stdin(&mut self, _cx: &mut Context<'_>, _bytes: &mut Bytes) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn close_stdin(&mut self) {}

    fn poll_output(&mut self, _cx: &mut Context<'_>) -> Poll<Output> {
        Poll::Pending
    }

    fn take_leftovers(&mut self) -> BoxFuture<'_, Leftovers> {
        Box::pin(std::future::ready(Leftovers::default()))
    }
}

impl CellView for Reusable {
    fn usage(&self) -> CellUsage {
        CellUsage::default()
    }

    fn scratch_is_full(&self) -> bool {
        false
    }

    fn take_denials(&mut self) -> Vec<Decision> {
        Vec::new()
    }

    fn take_decisions(&mut self, _until: Until) -> BoxFuture<'_, Vec<Decision>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

impl CellFiles for Reusable {
    fn still(&mut self) {}

    fn files(&mut self) -> BoxFuture<'_, std::io::Result<Box<dyn Files + '_>>> {
        Box::pin(std::future::ready(Err(std::io::ErrorKind::Unsupported.into())))
    }
}

impl CellLife for Reusable {
    fn signal(&mut self, _: crate::Signal) {}

    fn kill(&mut self) {}

    fn autopsy(&mut self) -> BoxFuture<'_, Autopsy> {
        Box::pin(std::future::ready(Autopsy { end: End::Killed, usage: CellUsage::default() }))
    }

    fn uses_left(&self) -> u32 {
        self.uses_left
    }

    fn reset(&mut self) -> BoxFuture<'_, bool> {
        self.uses_left -= 1;
        Box::pin(std::future::ready(self.resets_well))
    }
}

struct Maker {
    report: TemplateReport,
    made: AtomicU64,
    uses: u32,
    resets_well: bool,
}

impl Template for Maker {
    fn report(&self) -> &TemplateReport {
        &self.report
    }

    fn cells_come_back(&self) -> bool {
        true
    }

    fn close(&self) {}

    fn spawn_fitted<'a>(
        &'a self,
        _: &'a crate::Fitting,
    ) -> BoxFuture<'a, Result<Box<dyn Cell>, EngineError>> {
        self.spawn(Need::Now)
    }

    fn spawn(&self, _: Need) -> BoxFuture<'_, Result<Box<dyn Cell>, EngineError>> {
        let id = CellId::new(1 + self.made.fetch_add(1, Ordering::Relaxed));
        let cell = Reusable { id, uses_left: self.uses - 1, resets_well: self.resets_well };
        Box::pin(std::future::ready(Ok(Box::new(cell) as Box<dyn Cell>)))
    }
}

struct NoEngine(Capabilities);

impl Engine for NoEngine {
    fn name(&self) -> &'static str {
        "none"
    }

    fn describe(&self) -> String {
        self.name().to_owned()
    }

    fn kept_owner(&self) -> Option<u32> {
        None
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn capabilities(&self) -> &Capabilities {
        &self.0
    }

    fn prepare<'a>(
        &'a self,
        _blueprint: &'a Blueprint,
        _progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> BoxFuture<'a, Result<Arc<dyn Template>, EngineError>> {
        unreachable!("the template is made by hand")
    }
}

fn held(uses: u32, resets_well: bool) -> TemplateHold {
    let capabilities = Capabilities::default();
    let template = Maker { report: TemplateReport::default(), made: AtomicU64::new(0), uses, resets_well };
    let config = SandboxConfig { pool_size: 0, ..SandboxConfig::default() };
    let options = PoolOptions { max_overflow: 1, ..PoolOptions::default() };
    let engine = Arc::new(NoEngine(capabilities));
    let pool = TemplatePool::open(
        Background::of_this_process().unwrap(),
        engine,
        Blueprint::new(config),
        Arc::new(template),
        options,
    );
    TemplateHold::new(&pool, Weak::new())
}

/// The cells that so many uses in a row get, each given back with or without a good word.
async fn cells_of(hold: &TemplateHold, uses: usize, vouched: bool) -> Vec<u64> {
    let mut ids = Vec::new();
    for _ in 0..uses {
        let mut lease =
            tokio::time::timeout(Duration::from_secs(60), hold.checkout()).await.expect("hangs").unwrap();
        ids.push(lease.id().get());
        if vouched {
            lease.vouch();
        }
    }
    ids
}

#[tokio::test]
async fn a_cell_is_used_as_often_as_it_may_be_and_then_retired() {
    assert_eq!(cells_of(&held(3, true), 7, true).await, [1, 1, 1, 2, 2, 2, 3]);
}

#[tokio::test]
async fn a_cell_nobody_vouches_for_is_not_used_again() {
    assert_eq!(cells_of(&held(50, true), 3, false).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_cell_in_doubt_after_its_reset_is_not_used_again() {
    assert_eq!(cells_of(&held(50, false), 3, true).await, [1, 2, 3]);
}

/// How often cells were retired for each reason, by what is done with their leases.
async fn retired(hold: impl Fn() -> TemplateHold, then: impl Fn(&mut Lease)) -> Vec<(String, u64)> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let hold = hold();
    let mut lease = hold.checkout().await.unwrap();
    then(&mut lease);
    drop(lease);
    tokio::time::timeout(Duration::from_secs(60), hold.at_rest()).await.expect("hangs");
    let seen = snapshotter.snapshot().into_vec().into_iter().filter_map(|(key, _, _, value)| {
        let is_it = key.key().name() == names::CELLS_RETIRED.name;
        let mut labels = key.key().labels();
        let reason = labels.find(|label| label.key() == names::REASON)?.value().to_owned();
        match value {
            DebugValue::Counter(count) if is_it && count > 0 => Some((reason, count)),
            _ => None,
        }
    });
    seen.collect()
}

#[tokio::test]
async fn why_a_cell_is_not_used_again_is_counted() {
    let begin = |lease: &mut Lease| drop(lease.begin().unwrap());
    let once = |reason: &str| vec![(reason.to_owned(), 1)];
    assert_eq!(retired(|| held(50, true), begin).await, once("cut_short"));
    assert_eq!(retired(|| held(1, true), begin).await, once("used"), "it would have gone anyway");
    let session = |lease: &mut Lease| {
        begin(lease);
        lease.pause();
    };
    assert_eq!(retired(|| held(50, true), session).await, once("used"));
    let cut_session = |lease: &mut Lease| {
        session(lease);
        begin(lease);
    };
    assert_eq!(retired(|| held(50, true), cut_session).await, once("cut_short"));
    let vouched = |lease: &mut Lease| {
        begin(lease);
        lease.vouch();
    };
    assert_eq!(retired(|| held(50, true), vouched).await, [], "it is kept");
    assert_eq!(retired(|| held(50, false), vouched).await, once("in_doubt"));
    assert_eq!(retired(|| held(1, true), vouched).await, once("used"));
}
