//! Events arrive as they happen, in order, at the reader's pace.

use belljar_runtime::{EventKind, Verdict};

use crate::support::{HANG, config, data, runtime, sandbox_with};

#[tokio::test]
async fn events_arrive_while_the_script_runs() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    // The script cannot end before it is killed, so an event that arrives has arrived while it runs.
    let mut execution =
        sandbox.stream("print('before')\nemit_intermediate('step', 1)\nwhile True: time.sleep(1)");
    let first = tokio::time::timeout(HANG, execution.next()).await.expect("hangs").unwrap();
    assert_eq!(first.kind, EventKind::Stdout { text: "before\n".into() });
    let second = tokio::time::timeout(HANG, execution.next()).await.expect("hangs").unwrap();
    assert!(matches!(second.kind, EventKind::Intermediate { .. }), "{second:?}");
    assert_eq!((first.seq, second.seq), (0, 1));
}

#[tokio::test]
async fn what_was_printed_before_a_frame_comes_before_it() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut events = Vec::new();
    let result =
        sandbox.run_with("print('a', end='')\nemit_result(1)", |event| events.push(event)).await.unwrap();
    assert_eq!(data(&result), "1");
    let names: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(names, ["stdout", "final_result", "script_done"]);
}

#[tokio::test]
async fn prints_and_frames_keep_the_order_in_which_they_were_made() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut told = String::new();
    let script = "for i in range(200):\n    print('p', i)\n    emit_intermediate('i', i)\nemit_result(1)";
    let result = sandbox
        .run_with(script, |event| match event.kind {
            EventKind::Stdout { text } => told.push_str(&text),
            EventKind::Intermediate { data, .. } => told.push_str(&format!("i {data}\n")),
            _ => {}
        })
        .await
        .unwrap();
    assert_eq!(data(&result), "1");
    let expected: String = (0..200).map(|i| format!("p {i}\ni {i}\n")).collect();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_slow_reader_loses_nothing() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut execution = sandbox.stream("for i in range(2000): emit_intermediate('i', i)\nemit_result('end')");
    let mut seen = 0;
    while let Some(event) = tokio::time::timeout(HANG, execution.next()).await.expect("hangs") {
        if let EventKind::Intermediate { data, .. } = &event.kind {
            assert_eq!(data.as_str(), seen.to_string());
            seen += 1;
            if seen % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
    }
    assert_eq!(seen, 2000);
    assert_eq!(data(&execution.result().await.unwrap()), "\"end\"");
}

#[tokio::test]
async fn a_reader_that_blocks_for_ever_does_not_stop_the_clock() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let request = belljar_runtime::ExecutionRequest::new("while True: emit_intermediate('x', 1)")
        .with_timeout(std::time::Duration::from_millis(500));
    let execution = sandbox.stream(request);
    // Nothing is read: the queue fills, the run waits, its time passes. Then the reader gives up reading.
    let result = tokio::time::timeout(HANG, execution.result()).await.expect("hangs").unwrap();
    assert!(matches!(result.verdict, Verdict::TimeoutWall | Verdict::Output), "{result:#?}");
}

#[tokio::test]
async fn a_cancelled_run_is_killed_and_says_so() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut execution = sandbox.stream("print('begun', flush=True)\nwhile True: pass");
    let first = execution.next().await.expect("it prints");
    execution.cancel();
    let result = tokio::time::timeout(HANG, execution.result()).await.expect("it ends").unwrap();
    assert_eq!((result.verdict, result.stdout.as_str()), (Verdict::Cancelled, "begun\n"), "{first:?}");
}

#[tokio::test]
async fn a_run_can_be_cancelled_before_it_has_a_cell() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    // Every cell there may be is held, so that the next caller waits.
    let mut held = Vec::new();
    for _ in 0..sandbox.stats().capacity {
        held.push(sandbox.session().await.unwrap());
    }
    let mut execution = sandbox.stream("emit_result(1)");
    crate::support::eventually("it waits in line", || sandbox.stats().waiting == 1).await;
    execution.cancel();
    let result = tokio::time::timeout(HANG, execution.result()).await.expect("it ends").unwrap();
    assert_eq!(result.verdict, Verdict::Cancelled);
    crate::support::eventually("its place is given up", || sandbox.stats().waiting == 0).await;
}

#[tokio::test]
async fn a_result_that_was_given_outlives_being_cancelled() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut execution = sandbox.stream("emit_result(1)\nwhile True: pass");
    while let Some(event) = execution.next().await {
        if matches!(event.kind, EventKind::FinalResult { .. }) {
            break;
        }
    }
    execution.cancel();
    let result = tokio::time::timeout(HANG, execution.result()).await.expect("it ends").unwrap();
    assert_eq!(result.verdict, Verdict::Ok);
}
