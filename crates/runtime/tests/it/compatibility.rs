//! Honest code is not in the way of hardening: what ordinary programs do works in a cell as it does
//! outside.
//!
//! `scripts/compatibility` runs CPython's own tests in cells and takes its time; these are the
//! parts that must never break, and one test for each thing that it found broken. What stays
//! different is in `docs/compatibility.md`.

mod files;
mod found;
pub(crate) mod packages;
mod processes;
mod sockets;
mod surroundings;

use belljar_runtime::{ResourceLimits, SandboxConfig};
use belljar_testing::{config, data, run, runtime, sandbox_with};

/// What a program that starts interpreters of its own needs on a loaded machine.
pub(crate) fn roomy() -> SandboxConfig {
    let resource_limits = ResourceLimits {
        cpu_quota: 2.0,
        memory_mb: 512,
        execution_timeout_sec: 100.0,
        ..ResourceLimits::default()
    };
    SandboxConfig { resource_limits, ..config() }
}

/// Runs a script whose result must be exactly this.
async fn gives(script: &str, expected: serde_json::Value) {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, roomy()).await;
    let result = run(&sandbox, script).await;
    let given: serde_json::Value = serde_json::from_str(data(&result)).unwrap();
    assert_eq!(given, expected, "{result:#?}");
}
