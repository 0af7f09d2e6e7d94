//! Code blocks in a Jupyter kernel that lives in a workspace.
//!
//! ```text
//!  host                          │ a program of the workspace: in a cell, a container, or neither
//!  JupyterExecutor               │
//!    ├ home: a program session ──┼─► gateway.py ─► kernel gateway ─► ipykernel
//!    └ kernel ── Unix socket in the workspace's directory ──┘
//! ```
//!
//! An executor is one notebook: all blocks of all calls run in one kernel, whatever their execution
//! id, and find what earlier ones defined. Calls take turns. Whether code is confined is decided by
//! the engine of the [`Workspaces`]; this code is the same for all. The kernel works in `src/`,
//! like blocks elsewhere.
//!
//! * `home` is the workspace and the gateway in it: their beginning and their end.
//! * `told` turns what a kernel puts out into results, text and files.
//!
//! The host connects to a socket that code in the kernel could replace. The socket is in the
//! workspace's own directory, which no program can replace, and a link in its place is not
//! followed. Whatever answers there can do no more than the kernel.

mod home;
mod told;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::Display;
use belljar_jupyter::{JupyterError, Kernel, Limits, silence_pip};
use belljar_runtime::SandboxConfig;
use tokio::sync::Mutex;
use tracing::Instrument;

use self::home::Home;
use self::told::Told;
use crate::executor::{Before, Transcript, outputs_of_blocks};
use crate::{
    BlockResult, BoxFuture, CodeBlock, CodeBlockDelimiter, CodeExecutionInput, CodeExecutionResult,
    CodeExecutor, Context, EngineProvider, Language, OutputSpec, WorkspaceEngine, WorkspaceError,
    WorkspacePolicy, Workspaces, telemetry,
};

/// How a kernel is started, and how blocks run in it.
#[derive(Debug, Clone)]
pub struct JupyterOptions {
    /// How long a block may run, and how much of what it puts out is kept.
    pub limits: Limits,
    /// The kernel's name for the gateway. `python3`.
    pub kernel: String,
    /// How long the gateway may take to start, and then the kernel. Two minutes.
    pub start_timeout: Duration,
    /// How long the gateway may run. A day, which is the most.
    pub lifetime: Duration,
    /// Variables of the kernel.
    pub env: BTreeMap<String, String>,
    /// How the workspace is made. It never stays.
    pub policy: WorkspacePolicy,
    /// Which files are told besides rich results: patterns and limits count. Everything in `out/`.
    pub outputs: OutputSpec,
    /// What stands around blocks in texts.
    pub delimiter: CodeBlockDelimiter,
}

impl Default for JupyterOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            kernel: "python3".to_owned(),
            start_timeout: Duration::from_secs(120),
            lifetime: Duration::from_secs(86_400),
            env: BTreeMap::new(),
            policy: WorkspacePolicy::default(),
            outputs: outputs_of_blocks(),
            delimiter: CodeBlockDelimiter::default(),
        }
    }
}

/// What came of running blocks in a kernel.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct JupyterExecution {
    /// Texts and files.
    pub result: CodeExecutionResult,
    /// Everything that the blocks showed, with the index of the block, in order. Those that are
    /// pictures or documents are files of the result too: `result_<block>_<number>.<extension>`.
    pub displays: Vec<(usize, Display)>,
}

/// Runs blocks of Python in a Jupyter kernel. Dropping it ends the kernel and removes its
/// workspace; [`close`](Self::close) waits for that.
///
/// ```no_run
/// # use belljar_workspace::*;
/// # async fn example(runtime: belljar_runtime::Runtime) -> Result<(), WorkspaceError> {
/// let mut options = WorkspacesOptions::new("/var/lib/notebooks");
/// options.config = JupyterExecutor::config(options.config);
/// let workspaces = Workspaces::open(&runtime, options).await?;
/// let ctx = Context::new();
/// let notebook = JupyterExecutor::start(&ctx, &workspaces, JupyterOptions::default()).await?;
/// let block = |code: &str| CodeBlock { code: code.to_owned(), language: "python".to_owned() };
/// let code_blocks = vec![block("x = 6"), block("x * 7")];
/// let input = CodeExecutionInput { code_blocks, ..CodeExecutionInput::default() };
/// assert_eq!(notebook.execute_code(&ctx, input).await?.output, "42\n");
/// notebook.close().await;
/// # Ok(())
/// # }
/// ```
pub struct JupyterExecutor {
    kernel: Kernel,
    home: Home,
    options: JupyterOptions,
    /// Held by the call whose turn it is.
    turn: Mutex<()>,
}

impl JupyterExecutor {
    /// Packages that the sandbox of the workspaces must have.
    pub const PACKAGES: [&'static str; 2] = ["jupyter-kernel-gateway", "ipykernel"];

    /// A config with the [packages](Self::PACKAGES), and with limits that leave room for a gateway
    /// and a kernel: 1 GiB of memory, 256 processes and threads, one processor. The local engine
    /// enforces no limits and refuses those; [`with_packages`](Self::with_packages) is for it.
    #[must_use]
    pub fn config(base: SandboxConfig) -> SandboxConfig {
        let mut config = Self::with_packages(base);
        let limits = &mut config.resource_limits;
        limits.memory_mb = limits.memory_mb.max(1024);
        limits.pids_limit = limits.pids_limit.max(256);
        limits.cpu_quota = limits.cpu_quota.max(1.0);
        config
    }

    /// A config with the [packages](Self::PACKAGES), unless it names them already.
    #[must_use]
    pub fn with_packages(mut base: SandboxConfig) -> SandboxConfig {
        for package in Self::PACKAGES {
            let is_name = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
            let names_it = |wanted: &String| {
                let name = wanted.trim().split(|character| !is_name(character)).next().unwrap_or_default();
                name.replace(['_', '.'], "-").eq_ignore_ascii_case(package)
            };
            if !base.dependencies.iter().any(names_it) {
                base.dependencies.push(package.to_owned());
            }
        }
        base
    }

    /// Starts a gateway and a kernel in a new workspace. The sandbox of the workspaces must have
    /// the [packages](Self::PACKAGES).
    pub async fn start(
        ctx: &Context,
        workspaces: &Workspaces,
        options: JupyterOptions,
    ) -> Result<Self, WorkspaceError> {
        let (home, gateway) = Home::open(ctx, workspaces, &options).await?;
        let within = options.start_timeout;
        let starting = tokio::time::timeout(within, gateway.start_kernel(&options.kernel));
        let silent = |_| Err(JupyterError::Silent { what: "the start of a kernel".to_owned(), within });
        let kernel = ctx.run(starting).await?.unwrap_or_else(silent);
        let kernel = kernel.map_err(of_jupyter("start a kernel"))?;
        Ok(Self { kernel, home, options, turn: Mutex::new(()) })
    }

    /// Runs blocks, and also tells what they showed.
    pub async fn execute(
        &self,
        ctx: &Context,
        input: CodeExecutionInput,
    ) -> Result<JupyterExecution, WorkspaceError> {
        let _turn = ctx.run(self.turn.lock()).await?;
        let fs = self.home.workspaces().fs();
        let workspace = self.home.workspace();
        let before = Before::look(ctx, &*fs, workspace, &self.options.outputs).await?;
        let mut execution = JupyterExecution::default();
        let mut transcript = Transcript::default();
        for (index, block) in input.code_blocks.iter().enumerate() {
            let told = self.block(ctx, block).await?;
            transcript.add_part(&told.text);
            transcript.add_failure(index, &told.block);
            execution.result.output_files.extend(told.files(index));
            execution.result.blocks.push(told.block);
            execution.displays.extend(told.displays.into_iter().map(|display| (index, display)));
        }
        let (files, left_out) = before.new_files(ctx, &*fs, workspace).await?;
        transcript.add_left_out(left_out);
        execution.result.output_files.extend(files);
        execution.result.output = transcript.into_text();
        Ok(execution)
    }

    async fn block(&self, ctx: &Context, block: &CodeBlock) -> Result<Told, WorkspaceError> {
        let language = block.language.clone();
        if !is_python(&language) {
            let error = format!("a Jupyter kernel runs python here, not {language}");
            return Ok(Told::not_run(language, error));
        }
        let code = silence_pip("python", &block.code);
        let run = ctx.run(self.kernel.execute(&code, self.options.limits.clone())).await?;
        match run {
            Ok(run) => Ok(Told::new(language, run, &self.options.limits)),
            // The next block may be shorter, and finds a connection again.
            Err(error @ (JupyterError::CodeTooLong { .. } | JupyterError::Lost { .. })) => {
                Ok(Told::not_run(language, error.to_string()))
            }
            Err(error) => Err(of_jupyter("run a block")(error)),
        }
    }

    /// Interrupts the block that runs, if one does, and says whether one did.
    pub async fn interrupt(&self) -> Result<bool, WorkspaceError> {
        self.kernel.interrupt().await.map_err(of_jupyter("interrupt the kernel"))
    }

    /// The workspaces that the kernel's own is one of.
    pub fn workspaces(&self) -> &Workspaces {
        self.home.workspaces()
    }

    /// The workspace of the kernel.
    pub fn workspace(&self) -> &crate::Workspace {
        self.home.workspace()
    }

    /// Ends the kernel and the gateway, and removes the workspace.
    pub async fn close(self) {
        let Self { kernel, home, .. } = self;
        if let Err(error) = kernel.shutdown().await {
            tracing::debug!(%error, "a kernel did not end by itself");
        }
        home.close().await;
    }
}

fn is_python(language: &str) -> bool {
    let name = language.trim();
    // A kernel has a language, so a block need not say it.
    name.is_empty()
        || name.eq_ignore_ascii_case("ipython")
        || Language::named(name).is_some_and(|language| language.name() == "python")
}

fn of_jupyter(doing: &'static str) -> impl FnOnce(JupyterError) -> WorkspaceError {
    WorkspaceError::engine::<JupyterError>("jupyter", doing)
}

impl Told {
    /// A block that the kernel has not seen.
    fn not_run(language: String, error: String) -> Self {
        let block = BlockResult { language, exit_code: -1, error: Some(error), ..BlockResult::default() };
        Self { block, text: String::new(), displays: Vec::new() }
    }
}

impl CodeExecutor for JupyterExecutor {
    fn execute_code<'a>(
        &'a self,
        ctx: &'a Context,
        input: CodeExecutionInput,
    ) -> BoxFuture<'a, Result<CodeExecutionResult, WorkspaceError>> {
        let span = telemetry::inline(&input);
        Box::pin(async move { Ok(self.execute(ctx, input).await?.result) }.instrument(span))
    }

    fn code_block_delimiter(&self) -> CodeBlockDelimiter {
        self.options.delimiter.clone()
    }

    fn engine(&self) -> Option<Arc<dyn WorkspaceEngine>> {
        Some(EngineProvider::engine(self))
    }
}

impl EngineProvider for JupyterExecutor {
    fn engine(&self) -> Arc<dyn WorkspaceEngine> {
        Arc::new(self.home.workspaces().clone())
    }
}

impl fmt::Debug for JupyterExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JupyterExecutor").field("workspace", self.home.workspace()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_added_once_and_room_is_never_taken_away() {
        let dependencies = vec!["Jupyter_Kernel.Gateway==3.0.1".to_owned(), "ipykernel-tools".to_owned()];
        let mut base = SandboxConfig { dependencies, ..SandboxConfig::default() };
        base.resource_limits.memory_mb = 4096;
        let config = JupyterExecutor::config(base);
        assert_eq!(config.dependencies[2..], ["ipykernel"]);
        assert_eq!((config.resource_limits.memory_mb, config.resource_limits.pids_limit), (4096, 256));
        assert_eq!(JupyterExecutor::config(config.clone()), config);
    }

    #[test]
    fn only_python_goes_to_the_kernel() {
        for language in ["", "python", " PY ", "Python3", "ipython"] {
            assert!(is_python(language), "{language}");
        }
        for language in ["bash", "r", "cobol"] {
            assert!(!is_python(language), "{language}");
        }
    }
}
