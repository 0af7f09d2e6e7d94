//! Programs that others judge: the routes of SandboxFusion and Piston, and one program with many
//! inputs.
//!
//! ```text
//!  POST /run_code ─────────┐                 ┌─ python: a script in a warm cell
//!  POST /api/v2/execute ───┼─► job + input ──┤
//!  POST /v1/grade ─────────┘                 └─ others: compile once (kept by content) ──► a copy
//!        one job, many inputs                           of the workspace and a cell for each input
//! ```
//!
//! * `languages` knows their names and ours, and what compiles and runs a source.
//! * `job` is what is to run; `ended` how that ended, in words that all routes translate.
//! * `program` compiles and runs, `python` faster than others; `kept` has what was compiled.
//! * `fusion`, `piston` and `cases` are the routes, `described` is what they read and answer.
//! * `compare` decides whether an output is right.
//!
//! A program that fails is an answer, never an HTTP error. Nothing here is in the history: trainers
//! send thousands of programs, and keep their own record of them.

mod capture;
mod cases;
mod compare;
mod described;
mod ended;
mod fusion;
mod job;
mod kept;
mod languages;
mod passing;
mod piston;
mod program;
mod python;
mod versions;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use belljar::config::ResourceLimits;
use belljar::workspace::{Workspaces, WorkspacesOptions};
use belljar::{Runtime, Sandbox, SandboxConfig};
use tokio::sync::{Notify, OnceCell};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::kept::Kept;
use self::languages::Toolchains;
use self::passing::sweep;
use self::program::failed;
use self::versions::Versions;
use crate::problem::Problem;
use crate::state::App;

/// The name of the sandbox that programs run in, if the owner offers one for them.
pub(crate) const SANDBOX: &str = "grader";

/// Everything that these routes share.
pub(crate) struct Graders {
    runtime: Runtime,
    config: SandboxConfig,
    store: PathBuf,
    workspaces: OnceCell<Workspaces>,
    python: OnceCell<Sandbox>,
    toolchains: Toolchains,
    versions: Versions,
    kept: Kept,
    busy: AtomicUsize,
    one_less: Notify,
}

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(fusion::run_code))
        .routes(routes!(fusion::ping))
        .routes(routes!(piston::execute))
        .routes(routes!(piston::runtimes))
        .routes(routes!(cases::grade))
}

impl Graders {
    /// Nothing is made before the first program comes. `offered` is the sandbox for programs, or
    /// else the default one.
    pub(crate) fn new(runtime: &Runtime, state: &Path, offered: &SandboxConfig) -> Self {
        Self {
            runtime: runtime.clone(),
            config: config(offered, runtime.engine_name()),
            store: state.join("graders"),
            workspaces: OnceCell::new(),
            python: OnceCell::new(),
            toolchains: Toolchains::default(),
            versions: Versions::default(),
            kept: Kept::default(),
            busy: AtomicUsize::new(0),
            one_less: Notify::new(),
        }
    }

    async fn workspaces(&self) -> Result<&Workspaces, Problem> {
        let open = async || {
            let mut options = WorkspacesOptions::new(&self.store);
            options.config = self.config.clone();
            let opened = Workspaces::open(&self.runtime, options).await.map_err(failed)?;
            sweep(&opened).await;
            Ok::<_, Problem>(opened)
        };
        self.workspaces.get_or_try_init(open).await
    }

    async fn python(&self) -> Result<&Sandbox, Problem> {
        let open = async || self.runtime.sandbox(self.config.clone()).await;
        Ok(self.python.get_or_try_init(open).await?)
    }

    /// One request is served until this is dropped.
    fn begin(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::AcqRel);
        Busy(self.clone())
    }

    /// Waits until no request is served.
    pub(crate) async fn at_rest(&self) {
        loop {
            let changed = self.one_less.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.busy.load(Ordering::Acquire) == 0 {
                return;
            }
            changed.await;
        }
    }

    /// Removes what was compiled. Nothing runs any more.
    pub(crate) async fn close(&self) {
        self.kept.clear().await;
    }
}

struct Busy(Arc<Graders>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
        self.0.one_less.notify_waiters();
    }
}

/// What programs may use. Limits that the owner has not changed are those of scripts of a model,
/// which are too low for a compiler and for a contest's program.
fn config(offered: &SandboxConfig, engine: &str) -> SandboxConfig {
    let mut config = offered.clone();
    let usual = ResourceLimits::default();
    let limits = &mut config.resource_limits;
    if limits.max_output_bytes == usual.max_output_bytes {
        limits.max_output_bytes = 16 << 20;
    }
    // Plain processes have no such limits, and what is set and not enforced is refused.
    if engine != "local" {
        if limits.memory_mb == usual.memory_mb && limits.memory_swap_mb == usual.memory_swap_mb {
            limits.memory_mb = 1024;
        }
        if limits.cpu_quota == usual.cpu_quota {
            limits.cpu_quota = 1.0;
        }
    }
    if config.preload.is_none() && config.dependencies.is_empty() {
        config.preload = Some(python::USUAL_MODULES.iter().map(|&name| name.to_owned()).collect());
    }
    config
}
