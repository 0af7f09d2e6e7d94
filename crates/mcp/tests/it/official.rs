//! Servers that others wrote, as they come from PyPI and npm. `scripts/mcp-servers` installs them.

use std::path::PathBuf;
use std::process::Command;

use belljar_core::Secret;
use belljar_mcp::McpServer;
use belljar_runtime::Verdict;
use belljar_testing::{data, installed, runtime};

use super::{connect, run, sandbox};

pub(super) fn program(path: &str) -> Option<PathBuf> {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/mcp-servers");
    installed("mcp", &PathBuf::from(place).join(path), "scripts/mcp-servers installs it")
}

#[tokio::test]
async fn the_time_server_tells_the_time() {
    let (Some(runtime), Some(program)) = (runtime(), program("py/bin/mcp-server-time")) else { return };
    let connection = connect(McpServer::command(program, ["--local-timezone", "UTC"])).await;
    assert_eq!(connection.name(), "time");
    let sandbox = sandbox(&runtime, &connection).await;
    let script =
        "found = time_convert_time(source_timezone='UTC', time='12:00', target_timezone='Asia/Tokyo')
emit_result([found.success, '21:00' in str(found.data), time_get_current_time('nowhere/at_all').success])";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), "[true,true,false]", "{result:#?}");
}

#[tokio::test]
async fn the_filesystem_server_reads_what_it_may_read() {
    let (Some(runtime), Some(program)) = (runtime(), program("node_modules/.bin/mcp-server-filesystem"))
    else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.txt"), "hello").unwrap();
    let root = directory.path().canonicalize().unwrap();
    let connection = connect(McpServer::command(program, [&root])).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = format!(
        "found = filesystem_read_text_file({:?})
other = filesystem_read_text_file('/etc/passwd')
emit_result([str(found.data).count('hello') > 0, other.success, 'Access denied' in other.message])",
        root.join("a.txt")
    );
    let result = run(&sandbox, &script).await;
    assert_eq!(data(&result), "[true,false,true]", "{result:#?}");
}

#[tokio::test]
async fn the_git_server_reads_a_history_in_a_loop() {
    let (Some(runtime), Some(program)) = (runtime(), program("py/bin/mcp-server-git")) else { return };
    let directory = tempfile::tempdir().unwrap();
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let status =
            Command::new("git").arg("-C").arg(directory.path()).args(identity).args(words).status().unwrap();
        assert!(status.success(), "git {words:?}");
    };
    git(&["init", "--quiet"]);
    for number in 1..=3 {
        git(&["commit", "--quiet", "--allow-empty", "--message", &format!("change {number}")]);
    }
    let words = ["--repository".into(), directory.path().to_owned()];
    let connection = connect(McpServer::command(program, words)).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = format!(
        "found = [git_git_log(repo_path={:?}, max_count=count).data for count in (1, 2, 3)]
emit_result([str(log).count('change ') for log in found])",
        directory.path()
    );
    let result = run(&sandbox, &script).await;
    assert_eq!((data(&result), result.tool_calls.len()), ("[1,2,3]", 3), "{result:#?}");
}

#[tokio::test]
async fn the_memory_server_remembers_from_run_to_run() {
    let (Some(runtime), Some(program)) = (runtime(), program("node_modules/.bin/mcp-server-memory")) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("memory.jsonl").to_string_lossy().into_owned();
    let server = McpServer::command(program, [""; 0]).env("MEMORY_FILE_PATH", Secret::new(file));
    let connection = connect(server.raising()).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "memory_create_entities(entities=[
    {'name': name, 'entityType': 'tea', 'observations': [f'{name} is green']} for name in ('sencha', 'matcha')])";
    assert_eq!(run(&sandbox, script).await.verdict, Verdict::NoResult);
    let script = "found = memory_search_nodes(query='matcha')
emit_result([entity['observations'] for entity in found['entities']])";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), r#"[["matcha is green"]]"#, "{result:#?}");
    let result = run(&sandbox, "try:\n    memory_add_observations(observations=[{'entityName': 'x', 'contents': []}])\nexcept ToolError as error:\n    emit_result(str(error))").await;
    assert!(data(&result).contains("Entity with name x not found"), "{result:#?}");
}

#[tokio::test]
async fn the_server_of_everything_works() {
    let (Some(runtime), Some(program)) = (runtime(), program("node_modules/.bin/mcp-server-everything"))
    else {
        return;
    };
    let connection = connect(McpServer::command(program, ["stdio"])).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "import builtins
names = sorted(name for name in globals() if name.startswith('everything_'))
echo = everything_echo(message='hi')
image = everything_get_tiny_image().data
pictures = [part for part in image if isinstance(part, bytes)]
emit_result([len(names) > 5, 'hi' in str(echo.data), [p.media_type for p in pictures], pictures[0][1:4].decode()])";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), r#"[true,true,["image/png"],"PNG"]"#, "{result:#?}");
}
