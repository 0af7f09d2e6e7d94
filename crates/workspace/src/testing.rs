//! An engine that does nothing and remembers what it was asked for, for tests of this crate.

use std::sync::{Arc, Mutex};

use crate::{
    BoxFuture, Capabilities, CodeExecutionInput, CodeExecutionResult, CodeExecutor, Context, DirectorySpec,
    File, InputSpec, InteractiveProgramRunner, InteractiveProgramSpec, OutputManifest, OutputSpec,
    ProgramRunner, ProgramSession, PutFile, RunProgramSpec, RunResult, Workspace, WorkspaceEngine,
    WorkspaceError, WorkspaceFs, WorkspaceManager, WorkspacePolicy,
};

/// Programs that were asked for.
type Ran = Arc<Mutex<Vec<RunProgramSpec>>>;

#[derive(Clone, Default)]
pub(crate) struct FakeEngine {
    pub(crate) ran: Ran,
    pub(crate) is_interactive: bool,
    pub(crate) manager: Arc<FakeManager>,
}

impl WorkspaceEngine for FakeEngine {
    fn manager(&self) -> Arc<dyn WorkspaceManager> {
        self.manager.clone()
    }

    fn fs(&self) -> Arc<dyn WorkspaceFs> {
        Arc::new(FakeFs)
    }

    fn runner(&self) -> Arc<dyn ProgramRunner> {
        Arc::new(self.clone())
    }

    fn describe(&self) -> Capabilities {
        Capabilities { isolation: "fake".to_owned(), ..Capabilities::default() }
    }
}

impl ProgramRunner for FakeEngine {
    fn run_program<'a>(
        &'a self,
        _: &'a Context,
        _: &'a Workspace,
        spec: RunProgramSpec,
    ) -> BoxFuture<'a, Result<RunResult, WorkspaceError>> {
        self.ran.lock().unwrap().push(spec);
        Box::pin(async { Ok(RunResult::default()) })
    }

    fn interactive(&self) -> Option<Arc<dyn InteractiveProgramRunner>> {
        self.is_interactive.then(|| Arc::new(self.clone()) as _)
    }
}

impl InteractiveProgramRunner for FakeEngine {
    fn start_program<'a>(
        &'a self,
        _: &'a Context,
        _: &'a Workspace,
        spec: InteractiveProgramSpec,
    ) -> BoxFuture<'a, Result<Box<dyn ProgramSession>, WorkspaceError>> {
        self.ran.lock().unwrap().push(spec.program);
        Box::pin(async { Err(WorkspaceError::NotRunning) })
    }
}

#[derive(Default)]
pub(crate) struct FakeManager;

impl WorkspaceManager for FakeManager {
    fn create_workspace<'a>(
        &'a self,
        _: &'a Context,
        exec_id: &'a str,
        _: WorkspacePolicy,
    ) -> BoxFuture<'a, Result<Workspace, WorkspaceError>> {
        Box::pin(async move { Ok(Workspace { id: exec_id.to_owned(), path: "/fake".to_owned() }) })
    }

    fn cleanup<'a>(&'a self, _: &'a Context, _: &'a Workspace) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async { Ok(()) })
    }
}

struct FakeFs;

impl WorkspaceFs for FakeFs {
    fn put_files<'a>(
        &'a self,
        _: &'a Context,
        _: &'a Workspace,
        _: Vec<PutFile>,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async { Ok(()) })
    }

    fn stage_directory<'a>(
        &'a self,
        _: &'a Context,
        _: &'a Workspace,
        _: DirectorySpec,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async { Ok(()) })
    }

    fn collect<'a>(
        &'a self,
        _: &'a Context,
        _: &'a Workspace,
        _: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<File>, WorkspaceError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn stage_inputs<'a>(
        &'a self,
        _: &'a Context,
        _: &'a Workspace,
        _: Vec<InputSpec>,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async { Ok(()) })
    }

    fn collect_outputs<'a>(
        &'a self,
        _: &'a Context,
        _: &'a Workspace,
        _: OutputSpec,
    ) -> BoxFuture<'a, Result<OutputManifest, WorkspaceError>> {
        Box::pin(async { Ok(OutputManifest::default()) })
    }
}

/// An executor that runs nothing and keeps the context it was given. It has an engine only if it
/// is given one.
#[derive(Default)]
pub(crate) struct FakeExecutor {
    pub(crate) engine: Option<Arc<dyn WorkspaceEngine>>,
    pub(crate) seen: Arc<Mutex<Option<Context>>>,
}

impl CodeExecutor for FakeExecutor {
    fn execute_code<'a>(
        &'a self,
        ctx: &'a Context,
        _: CodeExecutionInput,
    ) -> BoxFuture<'a, Result<CodeExecutionResult, WorkspaceError>> {
        *self.seen.lock().unwrap() = Some(ctx.clone());
        Box::pin(async { Ok(CodeExecutionResult::default()) })
    }

    fn engine(&self) -> Option<Arc<dyn WorkspaceEngine>> {
        self.engine.clone()
    }
}
