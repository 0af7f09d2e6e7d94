//! What users can rely on without running anything: names, `Send`, `Sync`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeMap;

use belljar::*;

fn send<T: Send>(_: &T) {}
fn send_and_sync<T: Send + Sync + 'static>() {}
fn is_stream<T: futures_core::Stream<Item = Event> + Unpin>() {}

#[test]
fn what_users_hold_can_go_to_any_thread() {
    send_and_sync::<Runtime>();
    send_and_sync::<RuntimeBuilder>();
    send_and_sync::<Sandbox>();
    send_and_sync::<Session>();
    send_and_sync::<Execution>();
    send_and_sync::<RunHandle>();
    send_and_sync::<Secrets>();
    send_and_sync::<RuntimeError>();
    send_and_sync::<engine::EngineError>();
    send_and_sync::<pool::PoolError>();
    send_and_sync::<ExecutionRequest>();
    send_and_sync::<ExecutionResult>();
    send_and_sync::<Event>();
    is_stream::<Execution>();
    let _ = what_is_awaited_can_be_spawned;
}

/// Never awaited: that it compiles is the claim. Every future can be spawned.
async fn what_is_awaited_can_be_spawned(runtime: Runtime, sandbox: Sandbox, mut session: Session) {
    send(&Runtime::builder().build());
    send(&runtime.sandbox(SandboxConfig::default()));
    send(&runtime.prepare(Blueprint::new(SandboxConfig::default()), &mut |_: Progress| {}));
    send(&runtime.shutdown());
    send(&sandbox.run("1"));
    send(&sandbox.run_with("1", |_: Event| {}));
    send(&sandbox.run_within(std::time::Duration::MAX, "1"));
    send(&sandbox.session());
    send(&sandbox.close());
    send(&sandbox.stream("1").result());
    send(&session.step("1"));
}

#[test]
#[cfg(feature = "agent")]
fn what_users_hold_of_an_agent_can_go_to_any_thread() {
    fn tells<T: futures_core::Stream<Item = agent::AgentEvent> + Unpin>() {}
    fn writes<T: agent::Model + ?Sized>() {}
    send_and_sync::<agent::ToolOrchestrator>();
    send_and_sync::<agent::AgentRun>();
    send_and_sync::<agent::AgentHandle>();
    send_and_sync::<agent::HttpModel>();
    send_and_sync::<agent::AgentError>();
    tells::<agent::AgentRun>();
    writes::<dyn agent::Model>();
    let _ = async |orchestrator: agent::ToolOrchestrator| send(&orchestrator.run("task"));
}

#[test]
#[cfg(feature = "workspace")]
fn what_users_hold_of_workspaces_can_go_to_any_thread() {
    send_and_sync::<workspace::Workspaces>();
    send_and_sync::<workspace::OpenWorkspace>();
    send_and_sync::<workspace::StreamedProgram>();
    send_and_sync::<workspace::WorkspaceError>();
    send_and_sync::<std::sync::Arc<dyn workspace::WorkspaceEngine>>();
    send_and_sync::<artifacts::ArtifactStore>();
    send_and_sync::<artifacts::ArtifactError>();
    let _ = async |job: workspace::OpenWorkspace| {
        send(&job.run(workspace::RunProgramSpec::new("true", [""; 0])));
        send(&job.fork("other"));
    };
}

/// Every name that a `pub use` of the facade brings, with the module it is brought to.
fn exported() -> Vec<(String, String)> {
    let text = include_str!("../src/lib.rs");
    let mut module = String::new();
    let mut found = Vec::new();
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    for statement in code.split([';', '}']).flat_map(|part| part.split("\n\n")) {
        if let Some((_, rest)) = statement.split_once("pub mod ") {
            module = rest.split_whitespace().next().unwrap().to_owned();
        }
        let Some((_, names)) = statement.split_once("pub use ") else { continue };
        let indented = statement.lines().any(|line| line.starts_with("    pub use"));
        let names =
            names.rsplit_once("::{").map_or_else(|| names.rsplit("::").next().unwrap(), |(_, names)| names);
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let place = if indented { module.clone() } else { String::new() };
            found.push((name.to_owned(), place));
        }
    }
    found
}

#[test]
fn nothing_is_exported_twice_and_nothing_by_the_handful() {
    let exported = exported();
    assert!(exported.len() > 60, "{exported:?}");
    let mut seen = BTreeMap::new();
    for (name, module) in exported {
        assert_ne!(name, "*", "{module}");
        if let Some(other) = seen.insert(name.clone(), module.clone()) {
            panic!("{name} is in `{other}` and in `{module}`");
        }
    }
}
