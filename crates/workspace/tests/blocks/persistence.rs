//! What one block or call leaves for the next.

use belljar_testing::in_time;
use belljar_workspace::{CodeExecutor, Context, WorkspaceEngine};

use super::{blocks, execute, world};

#[tokio::test]
async fn case_81_an_execution_id_may_be_any_text_and_keeps_its_files() {
    let Some(world) = world().await else { return };
    let executor = world.executor();
    let first = execute(&executor, blocks(&[("bash", "echo kept > note.txt; pwd")], "app/user/sess")).await;
    assert!(first.blocks[0].stdout.trim_end().ends_with("/src"), "{first:?}");
    for id in ["app/user/sess", "app/user/other", "../../etc", "a b\nc"] {
        let again = execute(&executor, blocks(&[("python", "print(open('note.txt').read())")], id)).await;
        assert_eq!(again.is_success(), id == "app/user/sess", "{id}: {again:?}");
    }
    assert_eq!(world.workspaces().len(), 4);
    let ctx = Context::new();
    assert!(in_time(executor.remove(&ctx, "../../etc")).await.unwrap());
    assert!(!in_time(executor.remove(&ctx, "../../etc")).await.unwrap());
    assert_eq!(in_time(executor.close(&ctx)).await.unwrap(), 3);
    assert_eq!(world.workspaces(), [""; 0]);
    assert_eq!(executor.engine().unwrap().describe(), world.workspaces.describe());
}

#[tokio::test]
async fn modules_and_headers_that_blocks_write_are_found() {
    let Some(world) = world().await else { return };
    let input = [
        ("bash", "echo 'answer = 42' > helper.py; echo '#define ANSWER 43' > helper.h"),
        ("python", "import helper, os\nos.chdir('/')\nprint(helper.answer)"),
        (
            "c",
            "#include \"helper.h\"\nint printf(const char *, ...);\nint main(void) { printf(\"%d\\n\", ANSWER); }\n",
        ),
    ];
    let result = execute(&world.executor(), blocks(&input, "")).await;
    assert_eq!(result.blocks[1].stdout, "42\n", "{result:?}");
    let c = &result.blocks[2];
    match &c.error {
        Some(error) if error.starts_with("cannot run c") => println!("c: skipped ({error})"),
        _ => assert_eq!(c.stdout, "43\n", "{c:?}"),
    }
}

#[tokio::test]
async fn files_that_blocks_write_to_the_output_directory_are_told_once() {
    let Some(world) = world().await else { return };
    let executor = world.executor();
    let names = |result: &belljar_workspace::CodeExecutionResult| -> Vec<String> {
        result.output_files.iter().map(|file| format!("{}={}", file.name, file.text())).collect()
    };
    let write =
        "cd \"$OUTPUT_DIR\"; mkdir -p deep; printf 1 > a.txt; printf 2 > deep/b.txt; ln -s /etc/passwd link";
    let first = execute(&executor, blocks(&[("bash", write)], "job")).await;
    assert_eq!(names(&first), ["out/a.txt=1", "out/deep/b.txt=2"], "{first:?}");
    let change = "printf 3 > ../out/deep/b.txt; printf 1 > ../out/a.txt; echo elsewhere > ../work/c.txt";
    let second = execute(&executor, blocks(&[("bash", change)], "job")).await;
    assert_eq!(names(&second), ["out/deep/b.txt=3"], "{second:?}");
    let third = execute(&executor, blocks(&[], "job")).await;
    assert_eq!((names(&third), third.blocks.len(), third.output.as_str()), (vec![], 0, ""));
}

#[tokio::test]
async fn a_workspace_that_somebody_removed_is_made_again() {
    let Some(world) = world().await else { return };
    let executor = world.executor();
    let hello = || blocks(&[("bash", "echo hello")], "job");
    execute(&executor, hello()).await;
    let store = world.home.path().join("store");
    for name in world.workspaces() {
        std::fs::remove_dir_all(store.join(name)).unwrap();
    }
    let lost = in_time(executor.execute_code(&Context::new(), hello())).await;
    assert!(lost.is_err(), "{lost:?}");
    assert_eq!(execute(&executor, hello()).await.output, "hello\n");
}
