//! Calls at the same time.

use belljar_workspace::CodeExecutor;

use super::{blocks, execute, world};

#[tokio::test]
async fn cases_79_and_80_calls_in_one_workspace_do_not_mix_and_leave_no_sources() {
    let Some(world) = world().await else { return };
    let executor = world.executor();
    let mine = "echo mine > code_0.sh; echo mine > code_0.py; mkdir .exec-0";
    execute(&executor, blocks(&[("bash", mine)], "shared")).await;

    let calls = (0..10).map(|number| {
        let executor = executor.clone();
        tokio::spawn(async move {
            let shell = format!("echo shell {number}");
            let python = format!("print('python {number}')");
            let result = execute(&executor, blocks(&[("sh", &shell), ("py", &python)], "shared")).await;
            assert_eq!(result.output, format!("shell {number}\npython {number}\n"), "{result:?}");
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }

    let list = [(
        "bash",
        "cat code_0.sh code_0.py; ls -A | grep -v \"^$(basename \"$(dirname \"$(dirname \"$0\")\")\")$\"",
    )];
    let left = execute(&executor, blocks(&list, "shared")).await;
    assert_eq!(left.output, "mine\nmine\n.exec-0\ncode_0.py\ncode_0.sh\n", "{left:?}");
    assert_eq!(world.workspaces().len(), 1);
    assert_eq!(executor.code_block_delimiter().start, "```");
}
