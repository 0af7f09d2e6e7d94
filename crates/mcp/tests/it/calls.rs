//! What scripts get from a server that works.

use belljar_runtime::{EventKind, ToolRegistry, Verdict};
use belljar_testing::{data, eventually, in_time, runtime};

use super::{connect, run, sandbox, server};

#[tokio::test]
async fn a_tool_of_a_server_is_a_function() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("good", None)).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "
found = [test_add(2, 3).data, test_add(b=1, a=2).data, test_echo_back(X_Word='hé').data]
try:
    test_add(1)
except TypeError as error:
    found.append(str(error))
found.append([test_add('x', 1).success, test_refuse().message, test_fail().message])
found.append(test_add.__doc__)
emit_result(found)";
    let result = run(&sandbox, script).await;
    let found: serde_json::Value = serde_json::from_str(data(&result)).unwrap();
    assert_eq!(found[0]["sum"], 5.0);
    assert_eq!(found[2], "hé");
    assert!(found[3].as_str().unwrap().contains("missing a required argument: 'b'"), "{found}");
    assert_eq!(found[4], serde_json::json!([false, "not  [31mtoday", "it is  [31mbroken"]));
    assert!(found[5].as_str().unwrap().contains("Adds two numbers."), "{found}");
    assert_eq!(result.tool_calls.len(), 6, "{result:#?}");
}

#[tokio::test]
async fn a_picture_is_bytes_that_can_be_shown() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("good", None)).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "words, picture = test_picture().data
display(picture)
emit_result([words, isinstance(picture, bytes), picture[1:4].decode(), picture.media_type])";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), r#"["a pixel",true,"PNG","image/png"]"#, "{result:#?}");
    assert!(format!("{:?}", result.displays).contains("image/png"), "{result:#?}");
}

#[tokio::test]
async fn progress_is_passed_on() {
    let Some(runtime) = runtime() else { return };
    let notes = tempfile::NamedTempFile::new().unwrap();
    let connection = connect(server("good", Some(notes.path()))).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let mut execution = sandbox.stream("emit_result(test_steps().data)");
    let mut steps = Vec::new();
    while let Some(event) = in_time(execution.next()).await {
        if let EventKind::ToolProgress { tool, total, message, .. } = event.kind {
            std::fs::write(notes.path(), "heard").unwrap();
            steps.push((tool, total, message));
        }
    }
    assert_eq!(steps[0], ("test_steps".to_owned(), Some(6000.0), "step  [1m!".to_owned()));
    assert_eq!(data(&in_time(execution.result()).await.unwrap()), "\"done\"");
}

#[tokio::test]
async fn the_end_of_a_script_is_told_to_the_server() {
    let Some(runtime) = runtime() else { return };
    let notes = tempfile::NamedTempFile::new().unwrap();
    let connection = connect(server("good", Some(notes.path()))).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let mut execution = sandbox.stream("test_forever()");
    while let Some(event) = in_time(execution.next()).await {
        if matches!(event.kind, EventKind::ToolCall { .. }) {
            break;
        }
    }
    let read = || std::fs::read_to_string(notes.path()).unwrap();
    eventually("the server is called", || read().contains("called forever")).await;
    drop(execution);
    eventually("the server hears that it is over", || read().contains("cancelled")).await;
}

#[tokio::test]
async fn a_server_that_dies_is_named_and_started_again() {
    let Some(runtime) = runtime() else { return };
    let notes = tempfile::NamedTempFile::new().unwrap();
    let connection = connect(server("good", Some(notes.path()))).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "
first = test_pid().data
death = test_die()
again = test_pid()
emit_result([death.success, death.message, again.success, again.data != first])";
    let result = run(&sandbox, script).await;
    let found: serde_json::Value = serde_json::from_str(data(&result)).unwrap();
    let message = found[1].as_str().unwrap();
    for part in ["the MCP server `test` is gone", "exit status: 3", "I have had enough"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!((&found[0], &found[2], &found[3]), (&false.into(), &true.into(), &true.into()), "{found}");
}

#[tokio::test]
async fn a_server_ends_with_whoever_wanted_it() {
    let notes = tempfile::NamedTempFile::new().unwrap();
    let connection = connect(server("good", Some(notes.path()))).await;
    let tools = connection.add_to(ToolRegistry::new()).unwrap();
    let text = std::fs::read_to_string(notes.path()).unwrap();
    let pid = text.trim().strip_prefix("started ").unwrap().to_owned();
    let is_there = || std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(is_there());
    drop(connection);
    assert!(is_there(), "its tools are still there");
    drop(tools);
    eventually("the server is gone", || !is_there()).await;
}

#[tokio::test]
async fn two_servers_have_names_of_their_own() {
    let Some(runtime) = runtime() else { return };
    let (one, two) =
        (connect(server("good", None)).await, connect(server("good", None).named("other")).await);
    let same = connect(server("good", None)).await;
    let tools = one.add_to(ToolRegistry::new()).unwrap();
    let tools = same.add_to(two.add_to(tools).unwrap()).unwrap();
    let sandbox = in_time(runtime.sandbox(tools.for_config(belljar_testing::config()))).await.unwrap();
    let script = "emit_result(len({test_pid().data, other_pid().data, test_pid_2().data}))";
    assert_eq!(data(&run(&sandbox, script).await), "3");
}

#[tokio::test]
async fn a_server_takes_what_it_started_with_it() {
    let notes = tempfile::NamedTempFile::new().unwrap();
    let connection = connect(server("parent", Some(notes.path()))).await;
    let text = std::fs::read_to_string(notes.path()).unwrap();
    let child = text.lines().find_map(|line| line.strip_prefix("child ")).unwrap();
    let path = format!("/proc/{child}/cmdline");
    assert!(std::fs::read_to_string(&path).unwrap().contains("sleep"));
    in_time(connection.close()).await;
    // Whoever adopts it may not have waited for it yet. Then it has no command any more.
    eventually("its child is gone", || std::fs::read_to_string(&path).unwrap_or_default().is_empty()).await;
}

#[tokio::test]
async fn a_server_that_was_closed_stays_closed_and_says_so() {
    let Some(runtime) = runtime() else { return };
    let notes = tempfile::NamedTempFile::new().unwrap();
    let connection = connect(server("deaf", Some(notes.path()))).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let text = std::fs::read_to_string(notes.path()).unwrap();
    let process = format!("/proc/{}", text.trim().strip_prefix("started ").unwrap());
    in_time(connection.close()).await;
    assert!(!std::path::Path::new(&process).exists(), "it is waited for");
    let result = run(&sandbox, "emit_result(test_pid().message)").await;
    assert_eq!(data(&result), "\"the MCP server `test` was closed\"");
}

/// Calls go on wherever a run is polled, with or without tokio.
#[test]
fn a_run_outside_of_tokio_can_call_a_server() {
    let Some(runtime) = runtime() else { return };
    let result = futures_lite(async {
        let connection = server("good", None).connect().await.unwrap();
        let tools = connection.add_to(ToolRegistry::new()).unwrap();
        let sandbox = runtime.sandbox(tools.for_config(belljar_testing::config())).await.unwrap();
        sandbox.run("emit_result(test_echo_back('x').data)").await.unwrap()
    });
    assert_eq!((result.verdict.clone(), data(&result)), (Verdict::Ok, "\"x\""));
}

/// The least that a program needs to wait for a future.
fn futures_lite<T>(work: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let (mut work, mut context) = (std::pin::pin!(work), std::task::Context::from_waker(&waker));
    loop {
        if let std::task::Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return done;
        }
        std::thread::park();
    }
}
