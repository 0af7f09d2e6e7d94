//! Code blocks in workspaces of any engine.
//!
//! ```text
//!  execute_code ─► place        the workspace of the execution id, or a fresh one
//!        │         toolchains   which programs the engine has: asked once, then remembered
//!        │         steps        each block: write, compile, run
//!        │         text         what they printed, for a model
//!        └───────► outputs      files that are new in `out/`
//! ```
//!
//! Blocks run in `src/`, one after the other, so a file that one writes there by a relative path is
//! found by the next. Their own sources are in a directory below it that no other call has, and
//! that is gone afterwards. Python, Perl and Ruby find modules in `src/`, and C finds headers.
//! Node.js resolves `./name` from the source's own directory, so a block names other files by
//! `process.cwd()`.
//!
//! A block that fails, takes too long or is in a language that nobody here runs is part of the
//! result, and the next one runs. An error is for calls that cannot go on: cancelled, or the engine
//! is gone.

mod outputs;
mod place;
mod steps;
mod text;
mod toolchains;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

pub(crate) use self::outputs::Before;
use self::place::Place;
use self::steps::Steps;
pub(crate) use self::text::Transcript;
#[cfg(feature = "jupyter")]
pub(crate) use self::text::took_too_long;
use self::toolchains::Toolchains;
use crate::{
    BoxFuture, CodeBlockDelimiter, CodeExecutionInput, CodeExecutionResult, CodeExecutor, Context,
    EngineProvider, OutputSpec, RegistryOptions, ResourceLimits, RunEnvProvider, WorkspaceEngine,
    WorkspaceError, WorkspacePolicy, WorkspaceRegistry, layout, telemetry,
};

/// How blocks are run.
#[derive(Clone)]
pub struct BlockExecutorOptions {
    /// How long a block may run, without its compiler. 30 s.
    pub timeout: Duration,
    /// How long its compiler may run. A minute.
    pub compile_timeout: Duration,
    /// What a block may use. An engine that cannot enforce a limit does not run the block.
    pub limits: ResourceLimits,
    /// What its compiler may use.
    pub compile_limits: ResourceLimits,
    /// Whether blocks start without the engine's own environment.
    pub clean_env: bool,
    /// Variables for all blocks and their compilers.
    pub env: Option<RunEnvProvider>,
    /// How workspaces are made. They do not stay, whatever it says of that, unless `registry` has
    /// another policy.
    pub policy: WorkspacePolicy,
    /// Where workspaces of execution ids are kept. `None` is a registry of the executor's own,
    /// which keeps all of them until [`BlockExecutor::remove`] or [`BlockExecutor::close`].
    pub registry: Option<WorkspaceRegistry>,
    /// Which files are told, and how many: patterns and limits count. Everything in `out/`.
    pub outputs: OutputSpec,
    /// What stands around blocks in texts.
    pub delimiter: CodeBlockDelimiter,
}

impl Default for BlockExecutorOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            compile_timeout: Duration::from_secs(60),
            limits: ResourceLimits::default(),
            compile_limits: ResourceLimits::default(),
            clean_env: false,
            env: None,
            policy: WorkspacePolicy::default(),
            registry: None,
            outputs: outputs_of_blocks(),
            delimiter: CodeBlockDelimiter::default(),
        }
    }
}

/// Everything that blocks write where results are collected.
pub(crate) fn outputs_of_blocks() -> OutputSpec {
    OutputSpec { globs: vec![format!("{}/**", layout::OUT)], ..OutputSpec::default() }.with_defaults()
}

/// Runs code blocks in workspaces of an engine. A clone is the same executor.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use belljar_workspace::*;
/// # async fn example(workspaces: Workspaces) -> Result<(), WorkspaceError> {
/// let executor = BlockExecutor::new(Arc::new(workspaces));
/// let text = "```python\nprint(6 * 7)\n```\n";
/// let code_blocks = extract_code_blocks(text, &executor.code_block_delimiter());
/// let input = CodeExecutionInput { code_blocks, execution_id: "app/user/session".to_owned() };
/// let result = executor.execute_code(&Context::new(), input).await?;
/// assert_eq!(result.output, "42\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct BlockExecutor(Arc<Inner>);

struct Inner {
    engine: Arc<dyn WorkspaceEngine>,
    options: BlockExecutorOptions,
    registry: WorkspaceRegistry,
    toolchains: Toolchains,
}

impl BlockExecutor {
    /// An executor with the defaults.
    pub fn new(engine: Arc<dyn WorkspaceEngine>) -> Self {
        Self::with_options(engine, BlockExecutorOptions::default())
    }

    /// An executor.
    pub fn with_options(engine: Arc<dyn WorkspaceEngine>, options: BlockExecutorOptions) -> Self {
        let own = || {
            let policy = WorkspacePolicy { persist: false, ..options.policy };
            WorkspaceRegistry::with_options(RegistryOptions { policy, ..RegistryOptions::default() })
        };
        let registry = options.registry.clone().unwrap_or_else(own);
        Self(Arc::new(Inner { engine, options, registry, toolchains: Toolchains::default() }))
    }

    /// Removes the workspace of an execution id unless blocks run in it, and says whether it did.
    pub async fn remove(&self, ctx: &Context, execution_id: &str) -> Result<bool, WorkspaceError> {
        self.0.registry.remove(ctx, &self.0.engine.manager(), execution_id).await
    }

    /// Removes all workspaces in which no blocks run, and says how many.
    pub async fn close(&self, ctx: &Context) -> Result<usize, WorkspaceError> {
        self.0.registry.clear(ctx, &self.0.engine.manager()).await
    }
}

impl Inner {
    async fn execute(
        &self,
        ctx: &Context,
        input: CodeExecutionInput,
    ) -> Result<CodeExecutionResult, WorkspaceError> {
        ctx.check()?;
        let place = Place::enter(ctx, self, &input.execution_id).await?;
        let done = self.execute_in(ctx, &place, input).await;
        place.leave(done.as_ref().err()).await;
        done
    }

    async fn execute_in(
        &self,
        ctx: &Context,
        place: &Place,
        input: CodeExecutionInput,
    ) -> Result<CodeExecutionResult, WorkspaceError> {
        let before = match place.is_fresh() {
            true => Before::nothing(&self.options.outputs),
            false => Before::look(ctx, &*self.engine.fs(), place.workspace(), &self.options.outputs).await?,
        };
        let steps = Steps::new(ctx, self, place);
        let mut result = CodeExecutionResult::default();
        let mut transcript = Transcript::default();
        for (index, block) in input.code_blocks.iter().enumerate() {
            let ended = steps.block(index, block).await?;
            transcript.add(index, &ended);
            result.blocks.push(ended);
        }
        let (files, left_out) = before.new_files(ctx, &*self.engine.fs(), place.workspace()).await?;
        transcript.add_left_out(left_out);
        result.output_files = files;
        result.output = transcript.into_text();
        Ok(result)
    }
}

impl CodeExecutor for BlockExecutor {
    fn execute_code<'a>(
        &'a self,
        ctx: &'a Context,
        input: CodeExecutionInput,
    ) -> BoxFuture<'a, Result<CodeExecutionResult, WorkspaceError>> {
        let span = telemetry::inline(&input);
        Box::pin(self.0.execute(ctx, input).instrument(span))
    }

    fn code_block_delimiter(&self) -> CodeBlockDelimiter {
        self.0.options.delimiter.clone()
    }

    fn engine(&self) -> Option<Arc<dyn WorkspaceEngine>> {
        Some(EngineProvider::engine(self))
    }
}

impl EngineProvider for BlockExecutor {
    fn engine(&self) -> Arc<dyn WorkspaceEngine> {
        Arc::clone(&self.0.engine)
    }
}

impl fmt::Debug for BlockExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockExecutor").field("engine", &self.0.engine.describe()).finish_non_exhaustive()
    }
}
