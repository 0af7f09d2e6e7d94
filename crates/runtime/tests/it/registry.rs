//! Many configs through one runtime: each made ready once, kept warm for a while, and all of them known to `shutdown`.

use belljar_runtime::SandboxConfig;

use crate::support::{config, data, processes_below, run, runtime, sandbox_with};

/// The template of another config under the same name.
#[tokio::test]
async fn two_configs_of_one_name_live_side_by_side_and_shutdown_ends_both() {
    if !crate::engine::only_on("native", "what containers leave behind is counted in tests/docker") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let first = sandbox_with(&runtime, SandboxConfig { pool_size: 2, ..config() }).await;
    first.warm(2).await.unwrap();
    let second =
        sandbox_with(&runtime, SandboxConfig { pool_size: 2, scratch_size_mb: 32, ..config() }).await;
    second.warm(2).await.unwrap();
    assert_eq!(data(&run(&first, "emit_result(1)").await), "1");
    assert_eq!(data(&run(&second, "emit_result(2)").await), "2");
    runtime.shutdown().await;
    let left = processes_below(std::process::id());
    assert_eq!(left, Vec::<u32>::new(), "processes are left");
}
