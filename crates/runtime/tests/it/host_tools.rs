//! Functions of the host's that scripts call: what they give, and what a script may do about them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use belljar_core::tool::ToolBytes;
use belljar_runtime::{
    EventKind, ExecutionRequest, ExecutionResult, HostTool, Runtime, Sandbox, SandboxConfig, ToolRegistry,
    Verdict,
};
use belljar_testing::{HANG, config, data, in_time, interrupted, runtime};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// The words to look for.
    query: String,
    /// How many to find.
    #[serde(default = "ten")]
    limit: u32,
}

fn ten() -> u32 {
    10
}

#[derive(Deserialize, JsonSchema)]
struct Anything {
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn search() -> HostTool {
    HostTool::new("search", "Search the catalogue", |it: Search| async move {
        match it.query.as_str() {
            "nothing" => Err("there is nothing".to_owned()),
            query => Ok(json!({ "found": query, "limit": it.limit })),
        }
    })
}

fn echo() -> HostTool {
    HostTool::new("echo", "Gives back what it gets", |it: Anything| async move { Ok::<_, String>(it.value) })
        .raising()
}

async fn with(runtime: &Runtime, tools: impl IntoIterator<Item = HostTool>) -> Sandbox {
    with_config(runtime, tools, config()).await
}

async fn with_config(
    runtime: &Runtime,
    tools: impl IntoIterator<Item = HostTool>,
    config: SandboxConfig,
) -> Sandbox {
    let tools = tools.into_iter().try_fold(ToolRegistry::new(), ToolRegistry::with).unwrap();
    runtime.sandbox(tools.for_config(config)).await.unwrap()
}

async fn run(sandbox: &Sandbox, script: impl Into<ExecutionRequest>) -> ExecutionResult {
    tokio::time::timeout(HANG, sandbox.run(script)).await.expect("the run hangs").unwrap()
}

/// What a script emits, which must do so.
async fn emitted(sandbox: &Sandbox, script: &str) -> Value {
    let result = run(sandbox, script).await;
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    serde_json::from_str(data(&result)).unwrap()
}

#[tokio::test]
async fn a_closure_is_a_function_of_the_script() {
    let Some(runtime) = runtime() else { return };
    let sandbox = with(&runtime, [search(), echo()]).await;
    assert!(sandbox.report().tools.contains(&"search".to_owned()), "{:?}", sandbox.report());
    let script = "\
found = search('shoes', limit=3)
missing = search(query='nothing')
try:
    search(limit=3)
except TypeError as error:
    wrong = str(error)
import inspect, io, contextlib, pydoc
shown = pydoc.plain(pydoc.render_doc(search))
emit_result([found.success, found.data, search('x').data['limit'], missing.success, missing.message, wrong,
             str(inspect.signature(search)), 'Search the catalogue' in shown and 'The words to look for' in shown,
             echo({'a': [1, 2.5, None, 'é']})])
";
    assert_eq!(
        emitted(&sandbox, script).await,
        json!([
            true,
            { "found": "shoes", "limit": 3 },
            10,
            false,
            "there is nothing",
            "search(): missing a required argument: 'query'",
            "(query: str, limit: int = 10)",
            true,
            { "a": [1, 2.5, null, "é"] }
        ])
    );
}

#[tokio::test]
async fn each_call_is_an_event_and_in_the_result() {
    let Some(runtime) = runtime() else { return };
    let sandbox = with(&runtime, [search()]).await;
    let mut events = Vec::new();
    let script = "print('before')\nsearch('a')\nsearch('nothing')\nprint('after')\nemit_result(1)";
    let result = sandbox.run_with(script, |event| events.push(event.kind)).await.unwrap();
    let told: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::Stdout { text } => Some(text.trim().to_owned()),
            EventKind::ToolCall { tool, args, .. } => Some(format!("{tool} {}", args.as_str())),
            EventKind::ToolResult { call, message } => Some(format!("{} {message}", call.success)),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            "before",
            "search {\"query\":\"a\"}",
            "true ",
            "search {\"query\":\"nothing\"}",
            "false there is nothing",
            "after"
        ]
    );
    let calls: Vec<_> = result.tool_calls.iter().map(|call| (call.tool.as_str(), call.success)).collect();
    assert_eq!(calls, [("search", true), ("search", false)]);
    assert!(result.tool_calls.iter().all(|call| call.bytes_in > 10 && call.bytes_out >= 4), "{result:#?}");
}

#[tokio::test]
async fn threads_and_loops_call_at_the_same_time() {
    let Some(runtime) = runtime() else { return };
    let sandbox = with(&runtime, [echo(), search()]).await;
    let script = "\
import asyncio, threading
got = []
def many(first):
    for n in range(first, first + 50):
        got.append(echo(n) == n)
async def loop():
    both = await asyncio.gather(*(echo(n) for n in range(50)), asyncio.to_thread(many, 1000))
    response = await search('x')
    return both[:50] == list(range(50)) and response.success
threads = [threading.Thread(target=many, args=(n * 100,)) for n in range(6)]
for thread in threads: thread.start()
fine = [asyncio.run(loop())]
other = threading.Thread(target=lambda: fine.append(asyncio.run(loop())))
other.start()
many(5000)
for thread in [*threads, other]: thread.join()
fine.append(asyncio.run(loop()))
emit_result([all(got), len(got), fine])
";
    assert_eq!(emitted(&sandbox, script).await, json!([true, 500, [true, true, true]]));
}

#[tokio::test]
async fn sessions_call_in_every_step_and_threads_of_old_steps_are_let_go() {
    let Some(runtime) = runtime() else { return };
    let never = HostTool::new("never", "", |_: Nothing| std::future::pending::<Result<(), String>>());
    let sandbox = with(&runtime, [echo(), never]).await;
    let mut session = sandbox.session().await.unwrap();
    let first = "import threading\nended = []\nstarted = threading.Event()\n\
        def wait():\n    started.set()\n    ended.append(never().message)\n\
        thread = threading.Thread(target=wait)\nthread.start()\nstarted.wait()\necho(1)";
    for step in [first, "echo(2)", "thread.join(); emit_result([echo(3), ended])"] {
        let result = tokio::time::timeout(HANG, session.step(step)).await.expect("it hangs").unwrap();
        assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
        if step.contains("emit") {
            assert_eq!(data(&result), "[3,[\"the script that called this tool is over\"]]");
        }
    }
}

#[tokio::test]
async fn an_interrupted_call_leaves_the_others_whole() {
    let Some(runtime) = runtime() else { return };
    let gate = Arc::new(tokio::sync::Notify::new());
    let waits = Arc::clone(&gate);
    let slow = HostTool::new("slow", "", move |_: Nothing| {
        let gate = Arc::clone(&waits);
        async move {
            gate.notified().await;
            Ok::<_, String>("late")
        }
    })
    .raising();
    let sandbox = with(&runtime, [slow, echo()]).await;
    let mut session = sandbox.session().await.unwrap();
    let handle = session.interrupt_handle();
    let called = tokio::sync::Notify::new();
    let stepping = session.step_with("slow()", |event| {
        if matches!(event.kind, EventKind::ToolCall { .. }) {
            called.notify_one();
        }
    });
    let mut stepping = Box::pin(stepping);
    tokio::select! {
        result = &mut stepping => panic!("it ended by itself: {result:#?}"),
        () = called.notified() => {}
    }
    let result = interrupted(&handle, stepping).await.unwrap();
    assert!(result.error.as_deref().unwrap_or_default().contains("KeyboardInterrupt"), "{result:#?}");
    gate.notify_one();
    let result = tokio::time::timeout(HANG, session.step("emit_result(echo(5))")).await.unwrap().unwrap();
    assert_eq!(data(&result), "5", "{result:#?}");
}

#[tokio::test]
async fn a_tool_has_limits_of_its_own() {
    let Some(runtime) = runtime() else { return };
    let never = HostTool::new("never", "", |_: Nothing| std::future::pending::<Result<(), String>>())
        .timeout(Duration::from_millis(50));
    let panics = HostTool::new("panics", "", |it: Anything| {
        assert!(it.value != json!("early"), "at once");
        async move {
            assert!(it.value != json!("late"), "later");
            Ok::<_, String>(1)
        }
    });
    let long = HostTool::new("long", "", |_: Nothing| async { Ok::<_, String>("x".repeat(100_000)) })
        .answer_limit(1000);
    let twice = HostTool::new("twice", "", |_: Nothing| async { Ok::<_, String>(1) }).budget(2);
    let (most, now) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (most_seen, running) = (Arc::clone(&most), now);
    let few = HostTool::new("few", "", move |_: Nothing| {
        let (most, running) = (Arc::clone(&most_seen), Arc::clone(&running));
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, String>(1)
        }
    })
    .concurrency(2);
    let sandbox = with(&runtime, [never, panics, long, twice, few]).await;
    let script = "\
import asyncio
async def all_of_few():
    return sum([(await call).data for call in [asyncio.ensure_future(few()) for _ in range(20)]])
emit_result([never().message, panics('early').message, panics('late').message, panics('').data,
             long().message, [twice().success for _ in range(4)], asyncio.run(all_of_few())])
";
    let panicked = "it failed inside: the host's function panicked";
    assert_eq!(
        emitted(&sandbox, script).await,
        json!([
            "it did not answer within 0.05 s",
            panicked,
            panicked,
            1,
            "its answer of 100002 bytes is longer than 1000",
            [true, true, false, false],
            20
        ])
    );
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

/// Everything below writes to the channel by hand, as any script can that looks for it.
const BY_HAND: &str = "\
import os, json, sys
execution = sys.modules['belljar_harness'].execution.running
def by_hand(**fields):
    stamp = execution._stamp.decode()
    os.write(execution.channel.descriptor, ('\\n{\"type\":\"tool_call\",%s,%s\\n' % (stamp, json.dumps(fields)[1:])).encode())
";

#[tokio::test]
async fn forged_calls_are_refused_or_nobodys() {
    let Some(runtime) = runtime() else { return };
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let tool = HostTool::new("tool", "", move |_: Search| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, String>(1) }
    });
    let sandbox = with(&runtime, [tool]).await;
    let script = format!(
        "{BY_HAND}
tool('x')
by_hand(call_id=1, tool='tool', args={{'query': 'again'}})
by_hand(call_id=0, tool='tool', args={{'query': 'zero'}})
by_hand(tool='tool', args={{'query': 'no number'}})
by_hand(call_id=50, tool='no_such', args={{}})
by_hand(call_id=51, tool='tool', args=[1])
by_hand(call_id=52, tool='tool', args={{'quer': 1}})
by_hand(call_id=53, tool='tool')
by_hand(call_id='54', tool='tool', args={{'query': 'x'}})
by_hand(call_id=-1, tool='tool', args={{'query': 'x'}})
os.write(execution.channel.descriptor, b'\\n{{\"type\":\"tool_call\",\"call_id\":90,\"tool\":\"tool\",\"args\":{{\"query\":\"x\"}},\"seal\":\"guess\"}}\\n')
sys.modules['belljar_harness.calls'].calls._last = 100
emit_result(tool('y').success)
"
    );
    let result = run(&sandbox, script.as_str()).await;
    assert_eq!(data(&result), "true", "{result:#?}");
    assert_eq!(count.load(Ordering::SeqCst), 2, "only the two calls that were calls");
    let failed: Vec<u64> =
        result.tool_calls.iter().filter(|call| !call.success).map(|call| call.call_id).collect();
    assert_eq!(failed, [50, 51, 52, 53], "{result:#?}");
}

#[tokio::test]
async fn a_forked_child_does_not_call() {
    let Some(runtime) = runtime() else { return };
    let sandbox = with(&runtime, [echo()]).await;
    let script = "\
import os
read, write = os.pipe()
if os.fork() == 0:
    try:
        echo(1)
    except RuntimeError as error:
        os.write(write, str(error).encode())
    os._exit(0)
os.close(write)
emit_result([os.read(read, 200).decode(), echo(2)])
";
    let expected = json!(["echo works in the process that runs the script, not in one it forked", 2]);
    assert_eq!(emitted(&sandbox, script).await, expected);
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
async fn a_flood_of_calls_is_bounded_and_does_not_end_the_run() {
    let Some(runtime) = runtime() else { return };
    let never = HostTool::new("never", "", |_: Nothing| std::future::pending::<Result<(), String>>());
    let sandbox = with(&runtime, [never, echo()]).await;
    let script = format!(
        "{BY_HAND}
for number in range(1, 3000):
    by_hand(call_id=number, tool='never', args={{}})
sys.modules['belljar_harness.calls'].calls._last = 5000
try:
    echo(1)
except ToolError as error:
    emit_result(str(error))
"
    );
    let said = emitted(&sandbox, &script).await;
    assert_eq!(said, json!("256 calls are under way already; wait for some of them first"));
}

#[tokio::test]
async fn ten_thousand_calls_fit_into_a_run() {
    let Some(runtime) = runtime() else { return };
    let sandbox = with(&runtime, [echo()]).await;
    let result = run(&sandbox, "emit_result(sum(echo(n) for n in range(10_100)))").await;
    assert_eq!(data(&result), (10_100u64 * 10_099 / 2).to_string(), "{:?}", result.error);
    assert_eq!(result.tool_calls.len(), 10_000);
    assert!(
        result.warnings.iter().any(|warning| warning.contains("100 more calls")),
        "{:?}",
        result.warnings
    );
}

#[tokio::test]
async fn the_end_of_a_script_drops_what_it_waits_for() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let Some(runtime) = runtime() else { return };
    let count = Arc::new(AtomicUsize::new(0));
    let began = Arc::new(tokio::sync::Notify::new());
    let (counted, begins, begun) = (Arc::clone(&count), Arc::clone(&began), Arc::clone(&began));
    let never = HostTool::new("never", "", move |_: Nothing| {
        let dropped = Dropped(Arc::clone(&counted));
        begins.notify_one();
        async move {
            let _dropped = dropped;
            std::future::pending::<Result<(), String>>().await
        }
    });
    let has_begun = HostTool::new("has_begun", "", move |_: Nothing| {
        let began = Arc::clone(&began);
        async move {
            began.notified().await;
            Ok::<_, String>(())
        }
    });
    let sandbox = with(&runtime, [never, has_begun]).await;
    let call = "import threading, os\nthreading.Thread(target=never, daemon=True).start()\nhas_begun()";
    for (ending, drops) in
        ["emit_result(1)", "os.kill(os.getpid(), 9)", "raise ValueError"].into_iter().zip(1..)
    {
        let result = run(&sandbox, format!("{call}\n{ending}").as_str()).await;
        let told: Vec<_> = result.tool_calls.iter().map(|call| (call.tool.as_str(), call.success)).collect();
        assert_eq!(told, [("has_begun", true), ("never", false)], "{result:#?}");
        assert_eq!(count.load(Ordering::SeqCst), drops, "{ending}");
    }
    in_time(async {
        tokio::select! {
            ended = sandbox.run("never()") => panic!("{ended:?}"),
            () = begun.notified() => {}
        }
    })
    .await;
    assert_eq!(count.load(Ordering::SeqCst), 4, "a run that is dropped");
}

#[derive(Deserialize, JsonSchema)]
struct Turn {
    turn: u32,
}

/// Whichever comes first, there is one ending, and one record of the call.
#[tokio::test]
async fn a_cancellation_may_meet_the_answer() {
    let Some(runtime) = runtime() else { return };
    let (open, opened) = tokio::sync::watch::channel(0);
    let gate = HostTool::new("gate", "", move |it: Turn| {
        let mut opened = opened.clone();
        async move { opened.wait_for(|at| *at >= it.turn).await.map(|at| *at).map_err(|error| error.to_string()) }
    });
    let sandbox = with(&runtime, [gate]).await;
    for turn in 1..=30 {
        let mut execution = sandbox.stream(format!("emit_result(gate({turn}).data)").as_str());
        let handle = execution.handle();
        let called = async {
            while let Some(event) = execution.next().await {
                if matches!(event.kind, EventKind::ToolCall { .. }) {
                    return;
                }
            }
            panic!("it was not called");
        };
        tokio::time::timeout(HANG, called).await.expect("it hangs");
        let answer = || open.send_modify(|at| *at = turn);
        match turn % 3 {
            0 => (handle.cancel(), answer()),
            1 => (answer(), handle.cancel()),
            _ => {
                answer();
                tokio::task::yield_now().await;
                (handle.cancel(), ())
            }
        };
        let result = tokio::time::timeout(HANG, execution.result()).await.expect("it hangs").unwrap();
        assert!(matches!(result.verdict, Verdict::Ok | Verdict::Cancelled), "{result:#?}");
        let [call] = result.tool_calls.as_slice() else { panic!("{result:#?}") };
        assert!(call.success || result.verdict == Verdict::Cancelled, "{result:#?}");
    }
}

/// One that calls and never takes an answer: what the host holds for it is bounded.
#[tokio::test]
async fn arguments_of_calls_under_way_are_bounded() {
    let Some(runtime) = runtime() else { return };
    let never = HostTool::new("never", "", |_: Anything| std::future::pending::<Result<(), String>>());
    let sandbox = with(&runtime, [never, echo()]).await;
    let script = format!(
        "{BY_HAND}
for number in range(1, 61):
    by_hand(call_id=number, tool='never', args={{'value': 'x' * 900_000}})
sys.modules['belljar_harness.calls'].calls._last = 100
emit_result(echo(5))
"
    );
    let mut refused = 0;
    let running = sandbox.run_with(script.as_str(), |event| {
        let is_refusal = |message: &str| message.contains("wait for some of them first");
        refused +=
            usize::from(matches!(&event.kind, EventKind::ToolResult { message, .. } if is_refusal(message)));
    });
    let result = tokio::time::timeout(HANG, running).await.expect("it hangs").unwrap();
    assert_eq!(data(&result), "5", "{:?}", result.error);
    assert_eq!(refused, 60 - (16 << 20) / 900_000);
    assert_eq!(result.tool_calls.len(), 61, "those without an answer too");
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
