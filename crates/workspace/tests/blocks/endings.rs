//! Blocks that fail, and calls that end early.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use belljar_testing::{eventually, in_time};
use belljar_workspace::{
    BlockExecutorOptions, CodeExecutor, Context, WorkspaceError, env_injecting_executor,
};

use super::{blocks, execute, patient, world};

#[tokio::test]
async fn case_69_a_block_that_cannot_run_is_told_and_the_next_one_runs() {
    let Some(world) = world().await else { return };
    let input = [
        ("cobol", "DISPLAY 'x'."),
        ("", "print(1)"),
        ("bash", "echo out; echo err >&2; exit 4"),
        ("python", "raise ValueError('broken')"),
        ("bash", "kill -9 $$"),
        ("bash", "printf ok"),
    ];
    let result = execute(&world.executor(), blocks(&input, "")).await;
    let codes: Vec<i32> = result.blocks.iter().map(|block| block.exit_code).collect();
    assert_eq!(codes, [-1, -1, 4, 1, 137, 0], "{result:?}");
    assert_eq!(result.blocks[0].error.as_deref(), Some("unsupported language: cobol"));
    assert_eq!((result.blocks[2].stdout.as_str(), result.blocks[2].stderr.as_str()), ("out\n", "err\n"));
    assert!(result.blocks[3].stderr.contains("ValueError: broken"), "{result:?}");
    assert!(
        result.output.starts_with("Error executing code block 0: unsupported language: cobol\n"),
        "{result:?}"
    );
    assert!(result.output.contains("out\nerr\nError executing code block 2: exit code 4\n"), "{result:?}");
    assert!(result.output.ends_with("\nok"), "{result:?}");
    assert!(!result.is_success());
    assert_eq!(world.workspaces(), [""; 0], "a workspace without an id is removed");
}

#[tokio::test]
async fn a_block_that_takes_too_long_is_ended_and_the_next_one_runs() {
    let Some(world) = world().await else { return };
    let options = BlockExecutorOptions { timeout: Duration::from_secs(2), ..patient() };
    let input = [("bash", "echo before; sleep 1000 & sleep 1000"), ("bash", "echo after")];
    let result = execute(&world.executor_with(options), blocks(&input, "")).await;
    let [slow, next] = &result.blocks[..] else { panic!("{result:?}") };
    assert!(slow.timed_out && !slow.is_success(), "{slow:?}");
    assert_eq!((slow.stdout.as_str(), slow.error.as_deref()), ("before\n", Some("timed out after 2 s")));
    assert_eq!((next.stdout.as_str(), next.is_success()), ("after\n", true));
}

#[tokio::test]
async fn a_call_that_is_cancelled_or_dropped_leaves_nothing() {
    let Some(world) = world().await else { return };
    let executor = world.executor();
    let forever = || blocks(&[("bash", "echo > \"$WORKSPACE_DIR/started\"; sleep 1000")], "");
    let started = || {
        let store = world.home.path().join("store");
        world.workspaces().iter().any(|name| store.join(name).join("started").exists())
    };

    let ctx = Context::new();
    let cancelling = async {
        eventually("the block has started", started).await;
        ctx.cancel();
    };
    let (ended, ()) =
        in_time(async { tokio::join!(executor.execute_code(&ctx, forever()), cancelling) }).await;
    assert!(matches!(ended, Err(WorkspaceError::Cancelled)), "{ended:?}");
    assert_eq!(world.workspaces(), [""; 0]);

    let ctx = Context::new();
    tokio::select! {
        ended = executor.execute_code(&ctx, forever()) => panic!("{ended:?}"),
        () = eventually("the block has started", started) => {}
    }
    eventually("the workspace of a call that was dropped is gone", || world.workspaces().is_empty()).await;
}

#[tokio::test]
async fn variables_of_providers_reach_blocks_and_compilers() {
    let Some(world) = world().await else { return };
    let provided = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let own = provided(&[("OWN", "1"), ("BOTH", "own")]);
    let options = BlockExecutorOptions { env: Some(Arc::new(move |_| own.clone())), ..patient() };
    let around = provided(&[("AROUND", "2"), ("BOTH", "around")]);
    let executor = env_injecting_executor(
        Arc::new(world.executor_with(options)),
        Some(Arc::new(move |_| around.clone())),
    );
    let input = blocks(&[("bash", "echo $OWN $AROUND $BOTH; cd \"$OUTPUT_DIR\" && pwd")], "");
    let result = in_time(executor.execute_code(&Context::new(), input)).await.unwrap();
    assert!(result.output.starts_with("1 2 own\n/") && result.output.ends_with("/out\n"), "{result:?}");
}
