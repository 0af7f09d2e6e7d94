//! How much a script can make the host do: a tool's own limits, a run's, and calls that are forged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use belljar_runtime::{EventKind, ExecutionRequest, HostTool};
use belljar_testing::{HANG, data, runtime};
use serde_json::json;

use super::world::{Anything, Nothing, Search, echo, emitted, run, with};

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

#[tokio::test]
async fn ten_thousand_calls_fit_into_a_run() {
    let Some(runtime) = runtime() else { return };
    let sandbox = with(&runtime, [echo()]).await;
    // As long as it takes on a machine that is busy with much else.
    let request = ExecutionRequest::new("emit_result(sum(echo(n) for n in range(10_100)))");
    let result = sandbox.run(request.with_timeout(HANG)).await.unwrap();
    assert_eq!(data(&result), (10_100u64 * 10_099 / 2).to_string(), "{:?}", result.error);
    assert_eq!(result.tool_calls.len(), 10_000);
    assert!(
        result.warnings.iter().any(|warning| warning.contains("100 more calls")),
        "{:?}",
        result.warnings
    );
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
