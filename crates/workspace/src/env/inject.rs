//! Engines and executors whose programs all get the same additional variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::scrub;
use crate::{
    BoxFuture, Capabilities, CodeBlockDelimiter, CodeExecutionInput, CodeExecutionResult, CodeExecutor,
    Context, InteractiveProgramRunner, InteractiveProgramSpec, ProgramRunner, ProgramSession, RunProgramSpec,
    RunResult, Workspace, WorkspaceEngine, WorkspaceError, WorkspaceFs, WorkspaceManager,
};

/// Says which variables the programs of one call get, for example a token of its caller's.
pub type RunEnvProvider = Arc<dyn Fn(&Context) -> BTreeMap<String, String> + Send + Sync>;

/// A provider that a [`Context`] brings along. An executor of this crate adds its variables to the
/// blocks it runs, with [`ProvidedEnv::added_to`].
#[derive(Clone)]
pub struct ProvidedEnv(pub RunEnvProvider);

impl ProvidedEnv {
    /// A spec with the variables of the context's provider, if it has one.
    pub fn added_to(ctx: &Context, spec: RunProgramSpec) -> RunProgramSpec {
        match ctx.get::<Self>() {
            Some(provided) => merge_provided_env(spec, (provided.0)(ctx)),
            None => spec,
        }
    }
}

/// Adds variables to a spec. Those that it has stay. If it starts clean, only variables that
/// [are safe](scrub::is_safe_for_clean_env) are added.
pub fn merge_provided_env(mut spec: RunProgramSpec, provided: BTreeMap<String, String>) -> RunProgramSpec {
    for (name, value) in provided {
        if !spec.clean_env || scrub::is_safe_for_clean_env(&name) {
            spec.env.entry(name).or_insert(value);
        }
    }
    spec
}

/// The same engine, but every program gets the provider's variables. Without a provider, it is the
/// engine itself.
pub fn env_injecting_engine(
    engine: Arc<dyn WorkspaceEngine>,
    provider: Option<RunEnvProvider>,
) -> Arc<dyn WorkspaceEngine> {
    match provider {
        Some(provider) => Arc::new(InjectingEngine { engine, provider }),
        None => engine,
    }
}

/// The same executor, but the programs of its engine get the provider's variables, and so do its
/// blocks if it looks for them in its context ([`ProvidedEnv`]). Without a provider or without an
/// engine, it is the executor itself.
pub fn env_injecting_executor(
    executor: Arc<dyn CodeExecutor>,
    provider: Option<RunEnvProvider>,
) -> Arc<dyn CodeExecutor> {
    match (executor.engine(), provider) {
        (Some(engine), Some(provider)) => {
            let engine = env_injecting_engine(engine, Some(Arc::clone(&provider)));
            Arc::new(InjectingExecutor { executor, engine, provider })
        }
        _ => executor,
    }
}

struct InjectingEngine {
    engine: Arc<dyn WorkspaceEngine>,
    provider: RunEnvProvider,
}

impl WorkspaceEngine for InjectingEngine {
    fn manager(&self) -> Arc<dyn WorkspaceManager> {
        self.engine.manager()
    }

    fn fs(&self) -> Arc<dyn WorkspaceFs> {
        self.engine.fs()
    }

    fn runner(&self) -> Arc<dyn ProgramRunner> {
        Arc::new(InjectingRunner { runner: self.engine.runner(), provider: Arc::clone(&self.provider) })
    }

    fn describe(&self) -> Capabilities {
        self.engine.describe()
    }
}

struct InjectingRunner {
    runner: Arc<dyn ProgramRunner>,
    provider: RunEnvProvider,
}

impl ProgramRunner for InjectingRunner {
    fn run_program<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        spec: RunProgramSpec,
    ) -> BoxFuture<'a, Result<RunResult, WorkspaceError>> {
        self.runner.run_program(ctx, ws, merge_provided_env(spec, (self.provider)(ctx)))
    }

    fn interactive(&self) -> Option<Arc<dyn InteractiveProgramRunner>> {
        let runner = self.runner.interactive()?;
        Some(Arc::new(InjectingInteractive { runner, provider: Arc::clone(&self.provider) }))
    }
}

struct InjectingInteractive {
    runner: Arc<dyn InteractiveProgramRunner>,
    provider: RunEnvProvider,
}

impl InteractiveProgramRunner for InjectingInteractive {
    fn start_program<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        mut spec: InteractiveProgramSpec,
    ) -> BoxFuture<'a, Result<Box<dyn ProgramSession>, WorkspaceError>> {
        spec.program = merge_provided_env(spec.program, (self.provider)(ctx));
        self.runner.start_program(ctx, ws, spec)
    }
}

struct InjectingExecutor {
    executor: Arc<dyn CodeExecutor>,
    engine: Arc<dyn WorkspaceEngine>,
    provider: RunEnvProvider,
}

impl CodeExecutor for InjectingExecutor {
    fn execute_code<'a>(
        &'a self,
        ctx: &'a Context,
        input: CodeExecutionInput,
    ) -> BoxFuture<'a, Result<CodeExecutionResult, WorkspaceError>> {
        let ctx = ctx.clone().with(ProvidedEnv(Arc::clone(&self.provider)));
        Box::pin(async move { self.executor.execute_code(&ctx, input).await })
    }

    fn code_block_delimiter(&self) -> CodeBlockDelimiter {
        self.executor.code_block_delimiter()
    }

    fn engine(&self) -> Option<Arc<dyn WorkspaceEngine>> {
        Some(Arc::clone(&self.engine))
    }
}
