//! Running programs.

use std::sync::Arc;

use super::{BoxFuture, ProgramSession};
use crate::{Context, InteractiveProgramSpec, RunProgramSpec, RunResult, Workspace, WorkspaceError};

/// Runs programs to their end.
pub trait ProgramRunner: Send + Sync {
    /// Runs a program. However it ends, that is a result, also if its time was over or there is no
    /// such program. Nothing that it started survives it.
    fn run_program<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        spec: RunProgramSpec,
    ) -> BoxFuture<'a, Result<RunResult, WorkspaceError>>;

    /// The same engine's way to run programs that are talked to, if it has one.
    fn interactive(&self) -> Option<Arc<dyn InteractiveProgramRunner>> {
        None
    }
}

/// Starts programs that are talked to while they run.
pub trait InteractiveProgramRunner: Send + Sync {
    /// Starts a program. The session does not end with the context of this call.
    fn start_program<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        spec: InteractiveProgramSpec,
    ) -> BoxFuture<'a, Result<Box<dyn ProgramSession>, WorkspaceError>>;
}
