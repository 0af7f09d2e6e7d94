//! The pool as callers of a runtime meet it. What it does by itself is tried in
//! `crates/engine/tests/pool`.

use std::path::PathBuf;

use belljar_runtime::{Runtime, SandboxConfig};
use belljar_testing::{
    build, config, control_groups_of, data, eventually, only_on, processes_below, run, runtime, sandbox_with,
};

#[tokio::test]
async fn a_burst_larger_than_the_stock_is_served_by_making_cells() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, SandboxConfig { pool_size: 2, ..config() }).await;
    let runs: Vec<_> = (0..20)
        .map(|number| {
            let sandbox = sandbox.clone();
            tokio::spawn(async move { run(&sandbox, &format!("emit_result({number})")).await })
        })
        .collect();
    for (number, result) in runs.into_iter().enumerate() {
        assert_eq!(data(&result.await.unwrap()), number.to_string());
    }
}

#[tokio::test]
async fn many_runs_leave_no_descriptor_process_or_control_group() {
    if !only_on("native", "what containers leave behind is counted in tests/docker") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let processes = || processes_below(std::process::id()).len();
    run(&sandbox, "emit_result(1)").await;
    eventually("the first cell is gone", || processes() == 2).await;
    let before = descriptors();
    for number in 0..200 {
        assert_eq!(data(&run(&sandbox, &format!("emit_result({number})")).await), number.to_string());
    }
    eventually("helper and zygote are all that is left", || processes() == 2).await;
    eventually("every descriptor is closed", || descriptors() <= before).await;
    drop(sandbox);
    runtime.shutdown().await;
    // The engine's own group, in which those of the cells were, goes with the engine.
    drop(runtime);
    assert_eq!(control_groups_of(std::process::id()), Vec::<PathBuf>::new(), "control groups are left");
}

/// Cells that were to be ready once are not kept ready for ever, whether their caller waited or
/// not.
#[tokio::test]
async fn warming_that_is_given_up_leaves_the_stock_as_it_was() {
    if !only_on("native", "a container that comes back stays idle, as it should") {
        return;
    }
    let Some(runtime) = build(Runtime::builder().max_overflow(12)) else { return };
    let sandbox = sandbox_with(&runtime, SandboxConfig { pool_size: 1, ..config() }).await;
    tokio::select! {
        biased;
        warmed = sandbox.warm(12) => warmed.unwrap(),
        () = eventually("the first of them is there", || sandbox.stats().made > 1) => {}
    }
    for _ in 0..sandbox.stats().made + 12 {
        assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
    }
    eventually("the stock is as large as the config says", || {
        let stats = sandbox.stats();
        (stats.idle, stats.making) == (1, 0)
    })
    .await;
}
