//! Calls that are under way when something ends: a step, a script, or somebody's patience.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use belljar_runtime::{EventKind, HostTool, Verdict};
use belljar_testing::{HANG, data, in_time, interrupted, runtime};
use schemars::JsonSchema;
use serde::Deserialize;

use super::world::{Nothing, echo, run, with};

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
