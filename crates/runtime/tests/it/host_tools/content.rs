//! What passes between a script and a tool: bytes, files, long texts, progress, and no secret.

use std::sync::Arc;

use belljar_core::tool::ToolBytes;
use belljar_runtime::{EventKind, HostTool, Runtime, SandboxConfig};
use belljar_testing::{config, data, in_time, runtime};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::world::{Anything, Nothing, echo, emitted, with, with_config};

#[tokio::test]
async fn bytes_and_files_pass_both_ways() {
    #[derive(Deserialize, JsonSchema)]
    struct Picture {
        /// What to turn around.
        picture: ToolBytes,
        #[serde(default)]
        others: Vec<ToolBytes>,
    }
    let Some(runtime) = runtime() else { return };
    let turn = HostTool::new("turn", "", |it: Picture| async move {
        let turned: Vec<u8> = it.picture.bytes.into_iter().rev().collect();
        let others = it.others.len();
        Ok::<_, String>(
            json!({"turned": ToolBytes::new(turned).with_media_type("image/png"), "others": others}),
        )
    })
    .raising();
    let sandbox = with(&runtime, [turn]).await;
    let script = "
import inspect, pathlib
file = pathlib.Path('picture.bin')
file.write_bytes(bytes(range(256)))
found = [turn(b'\\x00\\xff')['turned'], turn(file)['turned'], turn(file.open('rb'), others=[b'a', b'b'])['others']]
assert found[1] == bytes(range(256))[::-1], found
display(found[0])
try:
    turn(5)
except ToolError as error:
    found.append(str(error))
emit_result([list(found[0]), found[0].media_type, found[2], found[3], str(inspect.signature(turn).parameters['picture'])])";
    let result = in_time(sandbox.run(script)).await.unwrap();
    assert_eq!(
        data(&result),
        r#"[[255,0],"image/png",2,"`picture` of tool `turn` must be bytes, not 5 (int)","picture: bytes"]"#,
        "{result:#?}"
    );
    assert_eq!(result.displays.len(), 1, "{result:#?}");
}

#[tokio::test]
async fn large_arguments_and_answers_pass_within_the_limits() {
    let Some(runtime) = runtime() else { return };
    let mut config = config();
    config.resource_limits.max_output_bytes = 2 << 20;
    let sandbox = with_config(&runtime, [echo()], config).await;
    let script = "\
text = 'é' * 300_000
same = [echo(text) == text for _ in range(10)]
try:
    echo('x' * (3 << 20))
except ValueError as error:
    refused = 'max_output_bytes' in str(error)
emit_result([all(same), refused])
";
    // Ten times 600 KB are more than a run may print. They are not printed.
    assert_eq!(emitted(&sandbox, script).await, json!([true, true]));
}

#[tokio::test]
async fn secrets_are_hidden_both_ways() {
    let Some(runtime) = belljar_testing::build(Runtime::builder().secrets(std::collections::BTreeMap::from(
        [("KEY".to_owned(), belljar_runtime::Secret::new("sesame-1234"))],
    ))) else {
        return;
    };
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let tool = HostTool::new("tool", "", move |it: Anything| {
        hears.lock().unwrap().push(it.value.to_string());
        async { Ok::<_, String>("the word is sesame-1234") }
    })
    .raising();
    let config = SandboxConfig { secrets: vec!["KEY".into()], ..config() };
    let sandbox = with_config(&runtime, [tool], config).await;
    let script = "import os\nemit_result([tool(['open', os.environ['KEY']]), 'sesame' in tool(1)])";
    assert_eq!(emitted(&sandbox, script).await, json!(["the word is ***", false]));
    assert_eq!(heard.lock().unwrap()[0], "[\"open\",\"***\"]");
}

#[tokio::test]
async fn a_tool_says_how_far_it_has_come_and_nothing_that_is_secret() {
    let secret = [("KEY".to_owned(), belljar_runtime::Secret::new("sesame-1234"))];
    let builder = Runtime::builder().secrets(std::collections::BTreeMap::from(secret));
    let Some(runtime) = belljar_testing::build(builder) else { return };
    let slow = HostTool::with_context("slow", "", |context, _: Nothing| async move {
        context.progress(1.0, Some(2.0), "half of sesame-1234");
        context.progress(f64::NAN, None, "nothing");
        // More than anybody listens to.
        (0..10_000).for_each(|step| context.progress(f64::from(step), None, "x".repeat(100)));
        Ok::<_, String>(1)
    });
    let config = SandboxConfig { secrets: vec!["KEY".into()], ..config() };
    let sandbox = with_config(&runtime, [slow], config).await;
    let mut execution = sandbox.stream("emit_result(slow().data)");
    let (mut said, mut is_answered) = (Vec::new(), false);
    while let Some(event) = in_time(execution.next()).await {
        match event.kind {
            EventKind::ToolProgress { call_id, tool, progress, total, message } => {
                assert!(!is_answered, "it has said so before");
                said.push((call_id, tool, progress, total, message));
            }
            EventKind::ToolResult { .. } => is_answered = true,
            _ => {}
        }
    }
    assert_eq!(said[0], (1, "slow".to_owned(), 1.0, Some(2.0), "half of ***".to_owned()));
    assert!(said.len() < 200 && said.iter().all(|one| one.2.is_finite()), "{}", said.len());
}

#[tokio::test]
async fn a_tool_that_never_stops_talking_holds_up_nobody() {
    let Some(runtime) = runtime() else { return };
    let chatty = HostTool::with_context("chatty", "", |context, _: Nothing| async move {
        loop {
            (0..1000).for_each(|step| context.progress(f64::from(step), None, "still here"));
            tokio::task::yield_now().await;
        }
        #[expect(unreachable_code, reason = "it says what it would give")]
        Ok::<_, String>(())
    });
    let quick = HostTool::new("quick", "", |_: Nothing| async { Ok::<_, String>(7) });
    let sandbox = with(&runtime, [chatty, quick]).await;
    let script = "
import threading
threading.Thread(target=chatty, daemon=True).start()
emit_result([quick().data for _ in range(20)])";
    assert_eq!(emitted(&sandbox, script).await, json!(vec![7; 20]));
}
