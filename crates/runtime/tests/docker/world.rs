//! A runtime on a daemon, and the daemon's own word about it.

use std::process::Command;
use std::time::Duration;

use belljar_engine::docker::Docker;
use belljar_runtime::{ExecutionResult, Runtime, RuntimeBuilder, Sandbox, SandboxConfig};
use belljar_testing::connect_or_skip;

/// Long enough for a loaded machine, short enough to name a hang.
pub(crate) const HANG: Duration = Duration::from_secs(180);

pub(crate) fn runtime() -> Option<Runtime> {
    runtime_with(Docker::new())
}

pub(crate) fn runtime_with(docker: Docker) -> Option<Runtime> {
    connect_or_skip(Runtime::builder().max_overflow(2), docker)
}

pub(crate) fn runtime_from(builder: RuntimeBuilder, docker: Docker) -> Option<Runtime> {
    connect_or_skip(builder, docker)
}

/// A config under a name that no other test has, so that its containers can be told from theirs.
pub(crate) fn config(name: &str) -> SandboxConfig {
    let mut config = SandboxConfig::new(format!("{name}-{}", std::process::id()));
    config.pool_size = 1;
    // The engine is tested here, not its patience.
    config.resource_limits.cpu_quota = 1.0;
    config
}

pub(crate) async fn sandbox(runtime: &Runtime, config: SandboxConfig) -> Sandbox {
    runtime.sandbox(config).await.expect("the sandbox can be made ready")
}

/// Runs a script with a bound on hangs.
pub(crate) async fn run(sandbox: &Sandbox, script: &str) -> ExecutionResult {
    let run = tokio::time::timeout(HANG, sandbox.run(script)).await;
    run.expect("the run hangs").expect("the run can be made")
}

/// What a script gave as its result.
pub(crate) async fn answer(sandbox: &Sandbox, script: &str) -> serde_json::Value {
    let result = run(sandbox, script).await;
    assert!(result.success(), "{result:#?}");
    serde_json::from_str(result.final_data.expect("a success has data").as_str()).unwrap()
}

/// Asks the daemon by its own client.
pub(crate) fn docker(words: &[&str]) -> String {
    let output = Command::new("docker").args(words).output().expect("docker's client is here");
    assert!(output.status.success(), "docker {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Does something to a container that may be on its way out already.
pub(crate) fn strike(words: &[&str]) {
    let output = Command::new("docker").args(words).output().expect("docker's client is here");
    let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
    let gone = ["no such container", "is not running", "already in progress"];
    assert!(
        output.status.success() || gone.iter().any(|words| said.contains(words)),
        "docker {words:?}: {said}"
    );
}

/// The containers of a config, by role, whatever their state.
pub(crate) fn containers(config: &SandboxConfig, role: &str) -> Vec<String> {
    let (name, role) =
        (format!("label=dev.belljar.config={}", config.name), format!("label=dev.belljar.role={role}"));
    let found = docker(&["ps", "-aq", "--no-trunc", "--filter", &name, "--filter", &role]);
    found.lines().map(str::to_owned).collect()
}

pub(crate) fn volumes(config: &SandboxConfig) -> Vec<String> {
    let name = format!("label=dev.belljar.config={}", config.name);
    docker(&["volume", "ls", "-q", "--filter", &name]).lines().map(str::to_owned).collect()
}

pub(crate) fn inspect(container: &str) -> serde_json::Value {
    inspect_if_there(container).unwrap_or_else(|| panic!("there is no container {container}"))
}

/// The same for a container that may be gone by now.
pub(crate) fn inspect_if_there(container: &str) -> Option<serde_json::Value> {
    let output =
        Command::new("docker").args(["inspect", container]).output().expect("docker's client is here");
    let found = serde_json::from_slice::<Vec<serde_json::Value>>(&output.stdout).unwrap();
    found.into_iter().next()
}

/// Waits for something that must come about, with a bound against hangs and no assumption about how
/// long it takes.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(HANG, waiting).await.is_ok(), "it never came about that {what}");
}

/// Which container a script is in: the moment its PID 1 began, in ticks since boot.
pub(crate) const WHICH: &str = "open('/proc/1/stat').read().rsplit(') ', 1)[1].split()[19]";
