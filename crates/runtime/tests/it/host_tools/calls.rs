//! A call as a script makes it: by name, from threads and loops, with an event and a record.

use belljar_runtime::EventKind;
use belljar_testing::runtime;
use serde_json::json;

use super::world::{echo, emitted, search, with};

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
