//! Limits that this machine may be unable to give. Hosts with few descriptors are tried in
//! `crates/testing/hosts`.

use std::path::PathBuf;

use belljar_runtime::{Fault, Runtime, SandboxConfig};
use belljar_testing::{
    build, config, control_groups_of, data, directories_in, eventually, only_on, run, runtime, sandbox_with,
};

/// The groups of cells, in all hierarchies.
fn groups_of_cells() -> Vec<PathBuf> {
    control_groups_of(std::process::id()).iter().flat_map(|group| directories_in(group)).collect()
}

#[tokio::test]
async fn a_warm_cell_takes_as_many_descriptors_as_the_check_assumes() {
    if !only_on("native", "containers are held by a connection each") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    sandbox.warm(1).await.unwrap();
    let with_one = open();
    sandbox.warm(9).await.unwrap();
    assert_eq!(sandbox.stats().idle, 9);
    let (each, rest) = ((open() - with_one) / 8, (open() - with_one) % 8);
    // Fewer where control groups count less.
    assert!((8..=12).contains(&each) && rest == 0, "a cell takes {each} descriptors, and {rest} more");
}

#[tokio::test]
async fn more_open_files_than_the_machine_allows_are_as_many_as_it_allows() {
    if !only_on("native", "the daemon's machine may allow more or fewer than this one") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let mut config = config();
    config.resource_limits.open_files = 1_048_576;
    let sandbox = sandbox_with(&runtime, config).await;
    let found =
        run(&sandbox, "import resource\nemit_result(resource.getrlimit(resource.RLIMIT_NOFILE)[0])").await;
    let found: u32 = data(&found).parse().unwrap();
    let warnings = sandbox.report().warnings.join("\n");
    match found {
        1_048_576 => assert_eq!(warnings, ""),
        fewer => {
            assert!(warnings.contains(&format!("open_files is {fewer} and not 1048576")), "{warnings}");
            assert!(warnings.contains("ulimit -Hn"), "{warnings}");
        }
    }
}

#[tokio::test]
async fn more_processes_than_the_machine_can_have_are_refused_before_anything_is_made() {
    if !only_on("native", "the daemon's machine may allow more or fewer than this one") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let with = |pids_limit| {
        let mut config = config();
        config.resource_limits.pids_limit = pids_limit;
        config
    };
    let most = |name: &str| -> u32 {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap();
        text.trim().parse().unwrap()
    };
    let most = most("pid_max").min(most("threads-max"));
    // All the machine has is a limit too.
    let sandbox = sandbox_with(&runtime, with(most)).await;
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
    sandbox.close().await;
    if most < 4_194_304 {
        let error = runtime.sandbox(with(4_194_304)).await.err().expect("it is refused");
        assert_eq!(error.fault(), Fault::Caller, "{error}");
        let text = error.to_string();
        assert!(text.contains("pids_limit = 4194304") && text.contains(&most.to_string()), "{text}");
    }
    eventually("no control group of a cell is left", || groups_of_cells().is_empty()).await;
}

#[tokio::test]
async fn a_limit_that_no_container_can_have_is_named_with_what_to_do() {
    if !only_on("docker", "native cells are tried above") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let mut files = config();
    files.resource_limits.open_files = 1_048_576;
    match runtime.sandbox(files).await {
        Ok(sandbox) => assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1"),
        Err(error) => assert!(error.to_string().contains("Lower resource_limits.open_files"), "{error}"),
    }
    // More than there can be is no limit, and no reason to fail.
    let mut processes = config();
    processes.resource_limits.pids_limit = 4_194_304;
    let sandbox = sandbox_with(&runtime, processes).await;
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
}

#[tokio::test]
async fn any_number_of_further_cells_is_a_capacity() {
    let Some(runtime) = build(Runtime::builder().max_overflow(usize::MAX)) else { return };
    for pool_size in [0, 2] {
        let sandbox = sandbox_with(&runtime, SandboxConfig { pool_size, ..config() }).await;
        assert_eq!(sandbox.stats().capacity, usize::MAX);
        let (one, other) = tokio::join!(run(&sandbox, "emit_result(1)"), run(&sandbox, "emit_result(2)"));
        assert_eq!((data(&one), data(&other)), ("1", "2"));
    }
}
