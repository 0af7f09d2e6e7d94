//! What every engine offers.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use belljar_core::config::SandboxConfig;
use belljar_core::{CellId, Decision, Secret};
use bytes::Bytes;

use crate::{Capabilities, EngineError, Progress};

/// A future behind a pointer, so that engines can be trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A way to make cells.
pub trait Engine: Send + Sync + 'static {
    /// `native`, `docker`, …
    fn name(&self) -> &'static str;

    /// The same with what is worth knowing about it here.
    fn describe(&self) -> String {
        self.name().to_owned()
    }

    /// What this engine can enforce here.
    fn capabilities(&self) -> &Capabilities;

    /// Makes a blueprint ready. Refuses one whose policy it cannot enforce; long work is told through `progress`.
    fn prepare<'a>(
        &'a self,
        blueprint: &'a Blueprint,
        progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> BoxFuture<'a, Result<Arc<dyn Template>, EngineError>>;

    /// Waits until every cell and template that was dropped is gone from the system.
    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A blueprint made ready.
pub trait Template: Send + Sync + 'static {
    /// What came of making it ready.
    fn report(&self) -> &TemplateReport;

    /// Whether its cells are used again: they then count as stock while they are in use.
    fn cells_come_back(&self) -> bool {
        false
    }

    /// Ends every cell that was ever made of it, those in use too, and lets no more be made. Dropping a template leaves its cells to those who
    /// hold them.
    fn close(&self);

    /// Makes a cell that is ready for a request.
    fn spawn(&self, need: Need) -> BoxFuture<'_, Result<Box<dyn Cell>, EngineError>>;
}

/// How soon a cell will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Somebody waits for it: no preparation that the first run would not need.
    Now,
    /// It goes into the stock: whatever makes its first run faster is worth doing.
    Later,
}

/// One live, isolated place with a guest harness in it. Dropping it kills everything in it.
pub trait Cell: Send + 'static {
    /// Its name.
    fn id(&self) -> CellId;

    /// Writes to the private channel.
    fn send<'a>(&'a mut self, line: &'a [u8]) -> BoxFuture<'a, io::Result<()>>;

    /// The next thing the guest wrote.
    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output>;

    /// Takes what it said since it was last listened to, between two requests: it belongs to neither. Nothing is waited for.
    fn take_leftovers(&mut self) -> BoxFuture<'_, Leftovers> {
        Box::pin(std::future::ready(Leftovers::default()))
    }

    /// What it has used so far.
    fn usage(&self) -> CellUsage;

    /// Whether a place it may write to has no room left, by the kernel's word.
    fn scratch_is_full(&self) -> bool {
        false
    }

    /// The hosts it has asked for since the last call, and what came of it.
    fn take_decisions(&mut self) -> BoxFuture<'_, Vec<Decision>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// The same, when the cell is let go of next: its way out is closed first, unless it may be used again.
    fn take_last_decisions(&mut self) -> BoxFuture<'_, Vec<Decision>> {
        self.take_decisions()
    }

    /// Those that were refused, as soon as they are.
    fn take_denials(&mut self) -> Vec<Decision> {
        Vec::new()
    }

    /// How often it may be used after this use. Cells of the native engine are used once.
    fn uses_left(&self) -> u32 {
        0
    }

    /// Makes it as good as new for another use; `false` when there is any doubt that it is.
    fn reset(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }

    /// Kills every process in it, at once. Its last words can still be read.
    fn kill(&mut self);

    /// Waits until it is dead, however long that takes, and tells how it died. [`Self::kill`] is what hastens it.
    fn autopsy(&mut self) -> BoxFuture<'_, Autopsy>;
}

/// What comes out of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Bytes, of which at least some are not none.
    Burst(Burst),
    /// Nothing more will come: the guest is gone.
    Closed,
}

/// What could be read at one moment. Everything the guest had printed before it wrote the last byte of `channel` is in this burst or in
/// an earlier one, as far as it fits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Burst {
    /// From the private channel.
    pub channel: Bytes,
    /// From descriptor 1.
    pub stdout: Bytes,
    /// From descriptor 2.
    pub stderr: Bytes,
}

/// What a cell printed between two requests. Frames are not kept: their seal is of a request that is over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// To descriptor 1.
    pub stdout: Vec<u8>,
    /// To descriptor 2.
    pub stderr: Vec<u8>,
    /// Bytes taken, frames included.
    taken: usize,
}

impl Leftovers {
    /// More than the kernel holds back while nobody reads; who goes on talking is not waited for.
    const PLENTY: usize = 4 << 20;

    pub(crate) fn add(&mut self, burst: &Burst) {
        self.taken += burst.channel.len() + burst.stdout.len() + burst.stderr.len();
        self.stdout.extend_from_slice(&burst.stdout);
        self.stderr.extend_from_slice(&burst.stderr);
    }

    pub(crate) fn is_plenty(&self) -> bool {
        self.taken >= Self::PLENTY
    }
}

/// What a cell has used. A figure that cannot be measured is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CellUsage {
    /// Processor time of all its processes, in microseconds.
    pub cpu_micros: Option<u64>,
    /// Its largest memory charge, in bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Processes the kernel killed for memory.
    pub oom_kills: Option<u64>,
    /// Processes and threads the kernel refused to make at the limit.
    pub forks_refused: Option<u64>,
}

impl CellUsage {
    /// What was used after `before` was. The peak is of the whole time: the kernel keeps one.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let more = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before.unwrap_or(0)));
        Self {
            cpu_micros: more(self.cpu_micros, before.cpu_micros),
            peak_memory_bytes: self.peak_memory_bytes,
            oom_kills: more(self.oom_kills, before.oom_kills),
            forks_refused: more(self.forks_refused, before.forks_refused),
        }
    }
}

/// How a cell died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Autopsy {
    /// How its main process ended.
    pub end: End,
    /// What it had used.
    pub usage: CellUsage,
}

/// How a cell's main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exited(i32),
    /// By a signal from inside.
    Signaled(i32),
    /// By us, or with the whole cell; nobody was left to tell.
    Killed,
}

impl End {
    /// As `wait` tells it.
    pub(crate) fn of_wait_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Exited((status >> 8) & 0xff),
            signal => Self::Signaled(signal),
        }
    }
}

/// Everything that goes into a template.
#[derive(Debug, Clone, PartialEq)]
pub struct Blueprint {
    /// The environment.
    pub config: SandboxConfig,
    /// Functions that scripts may call.
    pub tools: Vec<ToolSource>,
    /// Values of the secrets that the config has the engine's proxy set on the way out, by name. No cell sees
    /// them. A runtime fills them in from its own secrets; whoever asks an engine directly does it here.
    pub injected: BTreeMap<String, Secret>,
}

impl Blueprint {
    /// A config without tools.
    pub fn new(config: SandboxConfig) -> Self {
        Self { config, tools: Vec::new(), injected: BTreeMap::new() }
    }
}

/// A guest tool: a Python file whose functions scripts can call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSource {
    /// Its file name, ending in `.py`.
    pub file_name: String,
    /// Its text.
    pub source: String,
}

/// What came of making a blueprint ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateReport {
    /// The interpreter's version.
    pub python: String,
    /// Where it is on the host.
    pub python_path: String,
    /// Names of the tools that scripts can call.
    pub tools: Vec<String>,
    /// A tool that did not load, a preload that failed: worth knowing, no reason to stop.
    pub warnings: Vec<String>,
}
