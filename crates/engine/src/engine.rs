//! What every engine offers.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use belljar_core::config::{ResourceLimits, SandboxConfig};
use belljar_core::tool::Tool;
use belljar_core::{ScriptMetadata, ScriptMetadataError, Secret, WorkspaceName};

use crate::cell::Cell;
use crate::{Capabilities, EngineError, Progress, named_path};

/// A future behind a pointer, so that engines can be trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A way to make cells.
pub trait Engine: Send + Sync + 'static {
    /// `native`, `docker`, …
    fn name(&self) -> &'static str;

    /// The name, with what is worth knowing about this engine here.
    fn describe(&self) -> String;

    /// What this engine can enforce here.
    fn capabilities(&self) -> &Capabilities;

    /// Makes a blueprint ready. Refuses a blueprint whose policy it cannot enforce. Reports long
    /// work through `progress`.
    fn prepare<'a>(
        &'a self,
        blueprint: &'a Blueprint,
        progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> BoxFuture<'a, Result<Arc<dyn Template>, EngineError>>;

    /// Whose kept workspaces must be, if not this user's, so that its cells can work in them.
    fn kept_owner(&self) -> Option<u32>;

    /// Waits until every cell and template that was dropped is gone from the system.
    fn settle(&self) -> BoxFuture<'_, ()>;
}

/// A blueprint made ready.
pub trait Template: Send + Sync + 'static {
    /// The outcome of `prepare`: interpreter, tools, warnings.
    fn report(&self) -> &TemplateReport;

    /// Whether its cells are used again. If so, cells in use count as stock too.
    fn cells_come_back(&self) -> bool;

    /// Ends every cell that was ever made of it, also those in use, and makes no more. Dropping a
    /// template leaves its cells to those who hold them.
    fn close(&self);

    /// Makes a cell that is ready for a request: its guest has said `ready`, and its protocol is
    /// [`PROTOCOL`](belljar_core::wire::PROTOCOL). A guest finds what
    /// [`template_settings`](crate::guest::template_settings) gives beside its harness, and
    /// [`environment`](crate::guest::environment) around it.
    fn spawn(&self, need: Need) -> BoxFuture<'_, Result<Box<dyn Cell>, EngineError>>;

    /// Makes a cell to measure, for a caller who waits. It is used once. What cannot be had here is
    /// refused ([`EngineError::Unenforceable`]).
    fn spawn_fitted<'a>(&'a self, fitting: &'a Fitting) -> BoxFuture<'a, Result<Box<dyn Cell>, EngineError>>;
}

/// What one cell has that the others of its template do not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fitting {
    /// The kept workspace that it works in: a directory of that name in the blueprint's
    /// [`workspaces`](Blueprint::workspaces).
    pub workspace: Option<WorkspaceName>,
    /// A lower limit on memory, in mebibytes.
    pub memory_mb: Option<u64>,
    /// A lower limit on processor use, in cores.
    pub cpu_quota: Option<f64>,
    /// A lower limit on processes and threads.
    pub pids_limit: Option<u32>,
}

impl Fitting {
    /// The limits of a config, lowered.
    pub fn lowered(&self, limits: &ResourceLimits) -> ResourceLimits {
        let mut lowered = limits.clone();
        if let Some(memory_mb) = self.memory_mb {
            lowered.memory_mb = lowered.memory_mb.min(memory_mb);
        }
        if let Some(cpu_quota) = self.cpu_quota {
            lowered.cpu_quota = lowered.cpu_quota.min(cpu_quota);
        }
        if let Some(pids_limit) = self.pids_limit {
            lowered.pids_limit = lowered.pids_limit.min(pids_limit);
        }
        lowered
    }
}

/// How soon a cell will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A caller waits for it. No preparation is done that the first run does not need.
    Now,
    /// It goes into the stock. Whatever makes its first run faster is worth doing.
    Later,
}

/// Everything that goes into a template.
#[derive(Debug, Clone, PartialEq)]
pub struct Blueprint {
    /// The environment.
    pub config: SandboxConfig,
    /// Functions that scripts may call.
    pub tools: Vec<ToolSource>,
    /// Functions that scripts may call, and that the host carries out.
    pub host_tools: Vec<Tool>,
    /// Values, by name, of the secrets that the engine's proxy injects into requests, as the config
    /// says. No cell sees them. A runtime fills them in from its own secrets. Callers who use an
    /// engine directly set them here.
    pub injected: BTreeMap<String, Secret>,
    /// The directory with the kept workspaces that its cells may have ([`Fitting::workspace`]).
    pub workspaces: Option<PathBuf>,
    /// Whether programs in its cells can have terminals.
    pub has_terminals: bool,
    /// Whether to go on with secrets that have no value and tools that do not load. Runs then fail
    /// with what is missing, or have a warning. Otherwise a runtime refuses such a blueprint.
    pub is_lenient: bool,
}

impl Blueprint {
    /// A config without tools.
    pub fn new(config: SandboxConfig) -> Self {
        Self {
            config,
            tools: Vec::new(),
            host_tools: Vec::new(),
            injected: BTreeMap::new(),
            workspaces: None,
            has_terminals: false,
            is_lenient: false,
        }
    }

    /// Goes on with secrets that have no value and tools that do not load.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }
}

/// A guest tool: a Python file whose functions scripts can call.
///
/// The file is a module of its own. Scripts find its public functions in their globals: those it
/// defines, not those it imports, and none whose name begins with an underscore. A script calls
/// `async def` functions without `await`, and where a loop is running with it. A name that two
/// files define, or that every script starts with, is an error like any other that keeps a file
/// from being loaded.
///
/// Files are loaded once for all cells. One that reads a secret of the config while it is loaded is
/// loaded in each cell instead, before the first script. If it fails there, the run fails.
///
/// A file can say in a `# /// script` block which packages and secrets it needs
/// ([`ScriptMetadata`]). A runtime gives them to the cells that have the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSource {
    /// Its file name, ending in `.py`.
    pub file_name: String,
    /// Its source text.
    pub source: String,
}

/// A tool file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("tool file {}", path.display())]
pub struct UnreadableTool {
    /// The file, or the directory it is in.
    pub path: PathBuf,
    /// What went wrong.
    #[source]
    pub source: io::Error,
}

/// Longer than any file that a person wrote. Every cell carries it.
const LONGEST_TOOL_FILE: u64 = 1 << 20;

impl ToolSource {
    /// What the file says that it needs, in its `# /// script` block.
    pub fn needs(&self) -> Result<Option<ScriptMetadata>, ScriptMetadataError> {
        ScriptMetadata::of(&self.source)
    }

    /// Reads one file, or every file of a directory that ends in `.py`, by name.
    pub fn read(path: &Path) -> Result<Vec<Self>, UnreadableTool> {
        let failed = |path: &Path, source| UnreadableTool { path: path.to_owned(), source };
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            let entries = std::fs::read_dir(path).and_then(|entries| {
                entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()
            });
            files = entries.map_err(|error| failed(path, error))?;
            files.retain(|file| file.extension().is_some_and(|extension| extension == "py"));
            files.sort();
            if files.is_empty() {
                return Err(failed(path, io::Error::other("no file in it ends in .py")));
            }
        }
        let read = |file: PathBuf| {
            let name = file.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| failed(&file, io::Error::other("its name is not UTF-8")))?;
            let bytes =
                named_path::read_file(&file, LONGEST_TOOL_FILE).map_err(|error| failed(&file, error))?;
            let not_text = |_| failed(&file, io::Error::other("it is not UTF-8"));
            let source = String::from_utf8(bytes).map_err(not_text)?;
            Ok(Self { file_name: name.to_owned(), source })
        };
        files.into_iter().map(read).collect()
    }
}

/// The outcome of `prepare`: interpreter, tools, warnings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateReport {
    /// The interpreter's version.
    pub python: String,
    /// The interpreter's path on the host.
    pub python_path: String,
    /// Names of the tools that scripts can call.
    pub tools: Vec<String>,
    /// A tool that did not load, or a preload that failed. Worth knowing, but no reason to stop.
    pub warnings: Vec<String>,
}

impl TemplateReport {
    /// The warnings about tools that did not load. The harness writes them, and nobody else can
    /// begin a line like that.
    pub fn broken_tools(&self) -> impl Iterator<Item = &str> {
        let is_one = |line: &&String| line.starts_with("tool file ") && line.contains(" did not load: ");
        self.warnings.iter().filter(is_one).map(String::as_str)
    }
}
