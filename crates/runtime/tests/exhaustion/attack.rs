//! One attack: what it may use, what it does, how it must end; and the peace around it.

use std::time::{Duration, Instant};

use belljar_runtime::{ExecutionResult, ResourceLimits, Runtime, Sandbox, SandboxConfig, Verdict};
use belljar_testing::{
    config, control_groups_of, data, directories_in, eventually, has, processes_below, run, runtime,
    sandbox_with, slowness,
};

/// What an attack may cost the host's memory, besides what it may say.
const HOST_ALLOWANCE: u64 = 48 << 20;

/// An attack on a sandbox that is small enough to be exhausted quickly.
pub(crate) struct Attack {
    pub(crate) config: SandboxConfig,
    /// What must be enforced here for the attack to mean anything.
    pub(crate) needs: &'static [&'static str],
}

impl Attack {
    pub(crate) fn new() -> Self {
        let resource_limits = ResourceLimits {
            cpu_quota: 1.0,
            memory_mb: 96,
            pids_limit: 24,
            execution_timeout_sec: 20.0 * f64::from(slowness()),
            ..ResourceLimits::default()
        };
        let config =
            SandboxConfig { name: "victim".into(), resource_limits, scratch_size_mb: 16, ..config() };
        Self { config, needs: &[] }
    }

    pub(crate) fn needs(mut self, needs: &'static [&'static str]) -> Self {
        self.needs = needs;
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut SandboxConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Runs the script beside a neighbour who does honest work all the while. `None` where what it
    /// needs cannot be had.
    pub(crate) async fn run(self, script: &str) -> Option<ExecutionResult> {
        let runtime = runtime()?;
        if !self.needs.iter().all(|name| has(&runtime, name)) {
            return None;
        }
        let max_output = self.config.resource_limits.max_output_bytes;
        let victim = sandbox_with(&runtime, self.config).await;
        let neighbour = sandbox_with(&runtime, SandboxConfig { name: "neighbour".into(), ..config() }).await;
        let resting = processes_below(std::process::id()).len();
        let memory_before = resident();
        let (result, slowest) = beside_a_neighbour(&neighbour, run(&victim, script)).await;
        println!("neighbour: its slowest run took {} ms", slowest.as_millis());
        let grown = resident().saturating_sub(memory_before);
        assert!(grown < HOST_ALLOWANCE + 4 * max_output, "the host grew by {grown} bytes");
        nothing_is_left(&runtime, resting).await;
        assert_eq!(data(&run(&victim, "emit_result(6 * 7)").await), "42", "the next run is the worse for it");
        Some(result)
    }

    /// The same, for an attack that has one possible end.
    pub(crate) async fn ends_as(self, verdict: Verdict, script: &str) {
        if let Some(result) = self.run(script).await {
            assert_eq!(result.verdict, verdict, "{result:#?}");
            assert!(result.final_data.is_none() || verdict.is_ok(), "{result:#?}");
        }
    }
}

/// Waits for an attack while somebody else's scripts run, all of which must succeed; how long the
/// slowest took.
async fn beside_a_neighbour(
    neighbour: &Sandbox,
    attack: impl Future<Output = ExecutionResult>,
) -> (ExecutionResult, Duration) {
    let mut slowest = Duration::ZERO;
    let mut attack = std::pin::pin!(attack);
    loop {
        let begun = Instant::now();
        let mut honest = std::pin::pin!(run(neighbour, "emit_result(sum(range(1000)))"));
        let (ended, done) = tokio::select! {
            result = &mut attack => (Some(result), honest.await),
            done = &mut honest => (None, done),
        };
        assert_eq!(data(&done), "499500", "a neighbour was disturbed");
        slowest = slowest.max(begun.elapsed());
        if let Some(result) = ended {
            return (result, slowest);
        }
    }
}

/// Everything of the attack goes: processes and control groups.
async fn nothing_is_left(runtime: &Runtime, resting: usize) {
    let me = std::process::id();
    eventually("only the zygotes are left", || processes_below(me).len() <= resting).await;
    if runtime.capabilities().has("cgroup_memory") {
        let groups = control_groups_of(std::process::id());
        eventually("no cell has a control group", || {
            groups.iter().all(|group| directories_in(group).is_empty())
        })
        .await;
    }
}

/// Memory that this process has in use.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
