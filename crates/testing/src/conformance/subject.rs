//! The engine under test, and short ways to run a script on it.

use std::sync::Arc;

use belljar_engine::Engine;
use belljar_runtime::{
    Event, ExecutionRequest, ExecutionResult, Runtime, RuntimeBuilder, Sandbox, SandboxConfig, Session,
};

use crate::running::config;
use crate::waiting::in_time;

/// The engine under test, with a runtime on it. Each claim has its own.
#[derive(Clone)]
pub(super) struct Subject {
    engine: Arc<dyn Engine>,
    pub(super) runtime: Runtime,
}

impl Subject {
    pub(super) async fn new(engine: Arc<dyn Engine>) -> Self {
        let runtime = on(&engine, Runtime::builder()).await;
        Self { engine, runtime }
    }

    /// Another runtime on the same engine.
    pub(super) async fn runtime_with(&self, builder: RuntimeBuilder) -> Runtime {
        on(&self.engine, builder).await
    }

    pub(super) fn has(&self, protection: &str) -> bool {
        self.engine.capabilities().has(protection)
    }

    pub(super) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// A sandbox of the default config.
    pub(super) async fn sandbox(&self) -> Sandbox {
        self.sandbox_with(config()).await
    }

    pub(super) async fn sandbox_with(&self, config: SandboxConfig) -> Sandbox {
        in_time(self.runtime.sandbox(config)).await.expect("the sandbox can be made ready")
    }

    pub(super) async fn session(&self) -> Session {
        crate::running::session(&self.sandbox().await).await
    }

    /// Ends everything, whatever the claim has left.
    pub(super) async fn end(self) {
        self.runtime.shutdown().await;
        self.engine.settle().await;
    }
}

async fn on(engine: &Arc<dyn Engine>, builder: RuntimeBuilder) -> Runtime {
    builder.engine(Arc::clone(engine)).build().await.expect("a runtime takes any engine")
}

/// Runs a request and collects its events.
pub(super) async fn run_and_listen(
    sandbox: &Sandbox,
    request: impl Into<ExecutionRequest>,
) -> (Vec<Event>, ExecutionResult) {
    let mut events = Vec::new();
    let running = sandbox.run_with(request, |event| events.push(event));
    let result = in_time(running).await.expect("the run can be made");
    (events, result)
}

/// Runs a step.
pub(super) async fn step(session: &mut Session, request: impl Into<ExecutionRequest>) -> ExecutionResult {
    in_time(session.step(request)).await.expect("the step can be made")
}
