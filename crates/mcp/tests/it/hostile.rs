//! Servers that lie, hang, flood and die.

use std::time::Duration;

use belljar_core::Secret;
use belljar_mcp::{McpError, McpServer};
use belljar_runtime::{ToolRegistry, Verdict};
use belljar_testing::{HANG, data, eventually, in_time, runtime};

use super::{connect, run, sandbox, server};

#[tokio::test]
async fn lies_about_tools_become_harmless_functions() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("lies", None)).await;
    let tools = connection.add_to(ToolRegistry::new()).unwrap();
    let described = tools.descriptions();
    assert_eq!(described.len(), 11);
    assert!(described.iter().all(|tool| tool.name.starts_with("test_")), "{:#?}", described.prompt());
    for text in [described.prompt(), described.stubs()] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text}");
    }
    let sandbox = sandbox(&runtime, &connection).await;
    // Nothing of Python's or ours is hidden.
    let script = "import json\nprint(1)\nemit_result([test_print.__name__, callable(test_emit_result)])";
    let result = run(&sandbox, script).await;
    assert_eq!(
        (result.verdict.clone(), data(&result)),
        (Verdict::Ok, r#"["test_print",true]"#),
        "{result:#?}"
    );
}

#[tokio::test]
async fn tools_without_end_are_cut_off() {
    let connection = connect(server("endless", None)).await;
    let tools = connection.add_to(ToolRegistry::new()).unwrap();
    assert_eq!(tools.descriptions().len(), 512);
}

#[tokio::test]
async fn pages_in_a_circle_are_read_once() {
    let connection = connect(server("circle", None)).await;
    let tools = connection.add_to(ToolRegistry::new()).unwrap();
    assert_eq!(tools.descriptions().len(), 3);
}

#[tokio::test]
async fn a_server_that_floods_stderr_works_and_little_of_it_is_kept() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("floods", None)).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let result = run(&sandbox, "emit_result([test_add(1, 1).data, test_die().message])").await;
    let found: serde_json::Value = serde_json::from_str(data(&result)).unwrap();
    assert_eq!(found[0]["sum"], 2);
    let message = found[1].as_str().unwrap();
    assert!(message.contains("I have had enough") && message.len() < 1000, "{message}");
    assert!(!message.contains('\u{1b}') && !message.contains('\u{7}'), "{message}");
}

#[tokio::test]
async fn a_server_can_ask_nothing_of_us() {
    let Some(runtime) = runtime() else { return };
    let notes = tempfile::NamedTempFile::new().unwrap();
    let connection = connect(server("good", Some(notes.path()))).await;
    let sandbox = sandbox(&runtime, &connection).await;
    assert_eq!(data(&run(&sandbox, "emit_result(test_asks().data)").await), "\"asked\"");
    // No such method, no answer of a user's, and no directory.
    for told in [
        "told mine-sampling/createMessage: -32601",
        "told mine-elicitation/create: {\"action\": \"decline\"}",
        "told mine-roots/list: {\"roots\": []}",
    ] {
        eventually(told, || std::fs::read_to_string(notes.path()).unwrap().contains(told)).await;
    }
}

#[tokio::test]
async fn a_server_that_dies_at_each_start_is_started_ever_more_rarely() {
    let Some(runtime) = runtime() else { return };
    let notes = tempfile::NamedTempFile::new().unwrap();
    let connection = connect(server("good", Some(notes.path()))).await;
    let sandbox = sandbox(&runtime, &connection).await;
    // It waits 0.1, 0.2, 0.4, 0.8 and 1.6 s. After that, a call does not wait any more.
    let script = "
for deaths in range(1, 100):
    message = test_die().message
    if 'at the earliest' in message:
        break
emit_result([deaths, message])";
    let result = run(&sandbox, script).await;
    let found: serde_json::Value = serde_json::from_str(data(&result)).unwrap();
    assert_eq!(found[0], 7, "{found}");
    assert!(found[1].as_str().unwrap().contains("It is started again in 4 s at the earliest"), "{found}");
    let starts = std::fs::read_to_string(notes.path()).unwrap().matches("started").count();
    assert_eq!(starts, 6);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let silent = server("hangs", None).ready_within(Duration::from_millis(300));
    let error = in_time(silent.connect()).await.unwrap_err();
    assert!(matches!(error, McpError::Silent { .. }), "{error}");
    // Whoever gives up early leaves nothing behind either.
    let gives_up = tokio::time::timeout(Duration::from_millis(300), server("hangs", None).connect()).await;
    assert!(gives_up.is_err());
    in_time(McpServer::none_left(HANG)).await;
    assert!(error.to_string().contains("the MCP server `test` was not ready within 0.3 s"), "{error}");
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let error = in_time(server("fails", None).connect()).await.unwrap_err().to_string();
    for part in ["`test` cannot be connected to", "exit status: 7", "no configuration found [2J"] {
        assert!(error.contains(part), "{error}");
    }
    let missing = McpServer::command("/not/there/at-all", ["x"]).connect();
    let error = in_time(missing).await.unwrap_err().to_string();
    assert!(error.contains("/not/there/at-all") && error.contains("Is it installed"), "{error}");
    let error = in_time(server("nonsense", None).connect()).await.unwrap_err().to_string();
    let part = "`test` cannot be connected to: its answer to `initialize` is not one that MCP describes: ";
    assert!(error.contains(part) && !error.contains('\u{1b}'), "{error}");
    assert!(!error.contains("exit status") && !error.contains("it said"), "{error}");
    // `true` speaks no MCP.
    let error = in_time(McpServer::command("true", [""; 0]).connect()).await.unwrap_err().to_string();
    assert!(error.contains("`true` cannot be connected to: it ended with exit status: 0"), "{error}");
}

#[tokio::test]
async fn a_call_without_an_answer_has_a_time_limit() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("good", None).timeout(Duration::from_millis(200))).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let result = run(&sandbox, "emit_result([test_forever().message, test_pid().success])").await;
    assert_eq!(data(&result), r#"["it did not answer within 0.2 s",true]"#);
}

#[tokio::test]
async fn garbage_between_messages_is_passed_over() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("good", None)).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "emit_result([test_garbage().data, test_twice().data, test_add(1, 1).data])";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), r#"["after garbage","the first",{"sum":2}]"#, "{result:#?}");
}

#[tokio::test]
async fn a_long_answer_is_refused() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("good", None)).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let result = run(&sandbox, "emit_result([test_huge(1).success, test_huge(20).message])").await;
    let found: serde_json::Value = serde_json::from_str(data(&result)).unwrap();
    assert_eq!(found[0], true);
    assert!(found[1].as_str().unwrap().contains("is longer than"), "{found}");
}

#[tokio::test]
async fn an_answer_of_a_hundred_megabytes_fails_the_call_and_the_server_stays() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("good", None).timeout(HANG)).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "
before = test_pid().data
huge = test_huge(100)
emit_result([huge.success, huge.message, test_pid().data == before])";
    let result = run(&sandbox, script).await;
    let expected = r#"[false,"the MCP server `test` sent a message longer than 33554432 bytes",true]"#;
    assert_eq!(data(&result), expected, "{result:#?}");
    let error = in_time(server("long", None).connect()).await.unwrap_err().to_string();
    assert!(error.contains("be connected to: it sent a message longer than 33554432 bytes"), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_none_is_told_as_what_it_is() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("good", None)).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let result = run(&sandbox, "emit_result([test_bogus().message, test_pid().success])").await;
    let found: serde_json::Value = serde_json::from_str(data(&result)).unwrap();
    let message = found[0].as_str().unwrap();
    let start = "the answer of the MCP server `test` is not one that MCP describes: unknown variant `bogus";
    assert!(message.starts_with(start) && !message.contains('\u{1b}'), "{message}");
    assert_eq!(found[1], true);
}

#[tokio::test]
async fn answers_before_the_first_question_are_passed_over() {
    let connection = connect(server("stray", None)).await;
    assert!(connection.add_to(ToolRegistry::new()).is_ok());
}

#[tokio::test]
async fn a_server_that_quotes_its_environment_shows_a_script_no_key() {
    let Some(runtime) = runtime() else { return };
    let connection = connect(server("good", None).env("TEST_KEY", Secret::new("hunter2"))).await;
    let sandbox = sandbox(&runtime, &connection).await;
    let script = "emit_result([test_quote().data, test_quote_and_die().message])";
    let mut execution = sandbox.stream(script);
    while let Some(event) = in_time(execution.next()).await {
        assert!(!format!("{event:?}").contains("hunter2"), "{event:?}");
    }
    let result = in_time(execution.result()).await.unwrap();
    let found: serde_json::Value = serde_json::from_str(data(&result)).unwrap();
    assert_eq!(found[0], serde_json::json!({"***": ["my ***!"]}));
    assert!(found[1].as_str().unwrap().contains("it said: bad key ***"), "{found}");
}
