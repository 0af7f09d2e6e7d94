//! Workspaces on any engine of a [`Runtime`]: each a directory of this machine that cells work in.
//!
//! ```text
//!  Workspaces ── implements WorkspaceEngine ── manager, fs, runner
//!      │                                        │       │      └ a cell for each program, and the
//!      │                                        │       │        workspace mounted in it
//!      │                                        │       └ beneath a descriptor of the directory,
//!      │                                        │         with the rights of its owner alone
//!      └─► OpenWorkspace: the same for people   └ names, policies, removal
//! ```
//!
//! One implementation serves native cells, containers and plain processes. They differ in how a
//! cell sees the directory, which `belljar_engine::kept` knows.
//!
//! * `naming` makes names of directories out of ids. `policy` remembers what a workspace was made
//!   with. `manager` makes and removes.
//! * `put`, `stage`, `inputs`, `collect` and `outputs` are the file system; `record` keeps the
//!   workspace's own record of them.
//! * `runner` runs programs; `uses` knows in which workspaces they are; `capture` keeps what they
//!   print; `disk` watches how much they write.
//! * `session` is a program that is talked to, `lines` what it printed so far.
//! * `streaming` hands on what a program prints as it comes, and nothing of that is kept.
//! * `open` is the short way for Rust, `transfer` that for files that are not held in memory.
//!   `diff` compares two workspaces.

mod capture;
mod collect;
mod diff;
mod disk;
mod fs;
mod inputs;
mod lines;
mod manager;
mod naming;
mod open;
mod outputs;
mod policy;
mod put;
mod record;
mod runner;
mod session;
mod stage;
mod streaming;
mod transfer;
mod uses;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use belljar_engine::kept::{KeptWorkspace, Store};
use belljar_runtime::{
    Blueprint, Progress, Runtime, RuntimeError, Sandbox, SandboxConfig, ToolRegistry, WorkspaceName,
};
use tokio::sync::OnceCell;

pub use self::diff::{Change, Difference};
pub use self::open::OpenWorkspace;
pub use self::streaming::{StreamedProgram, Streaming};
use self::uses::Uses;
use crate::{
    Capabilities, EnforcedLimits, ProgramRunner, Workspace, WorkspaceEngine, WorkspaceError, WorkspaceFs,
    WorkspaceManager,
};

/// What workspaces are made with.
#[derive(Debug, Clone)]
pub struct WorkspacesOptions {
    /// The directory that they are in. It is made if it is not there, and nobody else may look into
    /// it.
    pub store: PathBuf,
    /// What programs may use and reach. `pool_size` does not count: each program has a cell of its
    /// own.
    pub config: SandboxConfig,
    /// Directories of the host below which `host://` inputs may be. None by default.
    pub host_roots: Vec<PathBuf>,
    /// How much of each stream of a program a result has. The rest is in a spill file. 1 MiB.
    pub max_output_bytes: usize,
    /// How much of each stream a spill file has. 64 MiB.
    pub max_spill_bytes: u64,
    /// How many bytes a workspace may hold whose policy does not say. 0 is as many as the disk has.
    pub max_disk_bytes: u64,
    /// How much of what a session printed is kept: lines, and bytes. 20,000 and 8 MiB.
    pub session_log: (usize, usize),
    /// How long a session may last that does not say. An hour.
    pub session_timeout: Duration,
    /// How long a session may go without being polled or written to. 30 minutes.
    pub idle_timeout: Duration,
}

impl WorkspacesOptions {
    /// The defaults, in this directory.
    pub fn new(store: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
            config: SandboxConfig::default(),
            host_roots: Vec::new(),
            max_output_bytes: 1 << 20,
            max_spill_bytes: 64 << 20,
            max_disk_bytes: 0,
            session_log: (20_000, 8 << 20),
            session_timeout: Duration::from_secs(60 * 60),
            idle_timeout: Duration::from_secs(30 * 60),
        }
    }
}

/// Workspaces of one directory on one engine. Cheap to clone.
#[derive(Clone)]
pub struct Workspaces(Arc<Inner>);

pub(crate) struct Inner {
    engine: &'static str,
    runtime: Runtime,
    /// What programs run in. Files need none.
    sandbox: OnceCell<Sandbox>,
    store: Store,
    options: WorkspacesOptions,
    capabilities: Capabilities,
    uses: Arc<Uses>,
    policies: policy::Remembered,
}

impl Workspaces {
    /// Opens the directory, and makes the sandbox ready that programs run in.
    pub async fn open(runtime: &Runtime, options: WorkspacesOptions) -> Result<Self, WorkspaceError> {
        Self::open_with(runtime, options, &mut |_| {}).await
    }

    /// The same, and tells of the slow steps.
    pub async fn open_with(
        runtime: &Runtime,
        options: WorkspacesOptions,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Self, WorkspaceError> {
        let opened = Self::unprepared(runtime, options)?;
        opened.0.prepare(progress).await?;
        Ok(opened)
    }

    /// The same, and makes no sandbox ready before the first program needs it: files need none.
    pub fn unprepared(runtime: &Runtime, options: WorkspacesOptions) -> Result<Self, WorkspaceError> {
        let engine = runtime.engine_name();
        let owner = runtime.kept_owner();
        let store = Store::open(&options.store, owner).map_err(WorkspaceError::io("open", &options.store))?;
        // What killed processes have left goes, however long that takes.
        let swept = store.clone();
        let sweep = move || {
            if let Err(error) = swept.sweep() {
                tracing::warn!(%error, "what is left of old workspaces cannot be removed");
            }
        };
        let _ = std::thread::Builder::new().name("belljar-sweep".to_owned()).spawn(sweep);
        let capabilities = capabilities(runtime, &options);
        Ok(Self(Arc::new(Inner {
            engine,
            runtime: runtime.clone(),
            sandbox: OnceCell::new(),
            store,
            options,
            capabilities,
            uses: Arc::default(),
            policies: policy::Remembered::default(),
        })))
    }

    /// The directory that they are in.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The sandbox that programs run in. It is made ready if it is not.
    pub async fn sandbox(&self) -> Result<&Sandbox, WorkspaceError> {
        self.0.prepare(&mut |_| {}).await
    }
}

impl WorkspaceEngine for Workspaces {
    fn manager(&self) -> Arc<dyn WorkspaceManager> {
        Arc::clone(&self.0) as Arc<dyn WorkspaceManager>
    }

    fn fs(&self) -> Arc<dyn WorkspaceFs> {
        Arc::clone(&self.0) as Arc<dyn WorkspaceFs>
    }

    fn runner(&self) -> Arc<dyn ProgramRunner> {
        Arc::new(runner::Runner(Arc::clone(&self.0)))
    }

    fn describe(&self) -> Capabilities {
        self.0.capabilities.clone()
    }
}

impl Inner {
    /// The sandbox that programs run in, made ready once.
    async fn prepare(&self, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<&Sandbox, WorkspaceError> {
        let prepare = async || {
            let mut config = self.options.config.clone();
            config.pool_size = 0;
            let mut blueprint = Blueprint::new(config);
            blueprint.workspaces = Some(self.store.path().to_owned());
            blueprint.has_terminals = true;
            self.runtime.prepare_with(blueprint, ToolRegistry::new(), progress).await
        };
        let prepared = self.sandbox.get_or_try_init(prepare).await;
        prepared.map_err(|error| of_runtime(self.engine, "be made ready", error))
    }

    /// The directory of a workspace that this engine has made.
    fn kept(&self, ws: &Workspace) -> Result<KeptWorkspace, WorkspaceError> {
        let name = self.name_of(ws)?;
        self.store.get(&name).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                WorkspaceError::NotFound { what: "workspace", name: name.to_string() }
            }
            _ => WorkspaceError::io("open", self.store.path().join(name.as_str()))(error),
        })
    }

    /// The name of its directory, which the last part of its path is.
    fn name_of(&self, ws: &Workspace) -> Result<WorkspaceName, WorkspaceError> {
        let last = ws.path.rsplit('/').next().unwrap_or_default();
        WorkspaceName::new(last)
            .map_err(|_| WorkspaceError::NotFound { what: "workspace", name: ws.id.clone() })
    }

    /// A workspace as callers hold it.
    fn workspace(&self, id: &str, name: &WorkspaceName) -> Workspace {
        let path = self.store.path().join(name.as_str()).display().to_string();
        Workspace { id: id.to_owned(), path }
    }
}

/// What programs of these workspaces may do, and what they can be kept from.
fn capabilities(runtime: &Runtime, options: &WorkspacesOptions) -> Capabilities {
    let engine = runtime.engine_name();
    let has = |protection| runtime.capabilities().has(protection);
    let is_local = engine == "local";
    Capabilities {
        isolation: isolation_of(engine).to_owned(),
        network_allowed: !options.config.network_policy.is_isolated() || is_local,
        read_only_mount: false,
        streaming: true,
        interactive: true,
        terminal: true,
        max_disk_bytes: options.max_disk_bytes,
        supports_clean_env: true,
        limits: EnforcedLimits {
            cpu_percent: !is_local && (engine == "docker" || has("cgroup_cpu")),
            memory_mb: !is_local && (engine == "docker" || has("cgroup_memory")),
            max_pids: !is_local && (engine == "docker" || has("cgroup_pids")),
            disk_mb: true,
        },
    }
}

fn isolation_of(engine: &str) -> &str {
    match engine {
        "native" => "cell",
        "docker" => "container",
        "local" => "none",
        other => other,
    }
}

/// A failure of the runtime.
fn of_runtime(engine: &str, doing: &'static str, error: RuntimeError) -> WorkspaceError {
    WorkspaceError::engine::<RuntimeError>(engine, doing)(error)
}

/// Whatever a file operation failed with, said of a path in the workspace.
fn of_file(doing: &'static str, path: &str) -> impl FnOnce(std::io::Error) -> WorkspaceError {
    WorkspaceError::io(doing, path)
}
