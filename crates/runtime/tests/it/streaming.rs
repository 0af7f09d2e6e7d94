//! Events arrive as they happen, in order, at the reader's pace.

use std::pin::Pin;
use std::time::Duration;

use belljar_runtime::{
    Event, EventKind, EventSink, Execution, ExecutionRequest, ExecutionResult, ResourceLimits, SandboxConfig,
    Verdict,
};
use belljar_testing::{HANG, config, data, has, runtime, sandbox_with};

#[tokio::test]
async fn events_arrive_while_the_script_runs() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    // The script cannot end before it is killed, so an event that arrives has arrived while it
    // runs.
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
    assert_eq!(names, ["stdout", "final_result", "script_done", "ended"]);
}

/// What a script prints and emits, in the order in which it is told.
async fn told(config: SandboxConfig, script: &str) -> Option<String> {
    let runtime = runtime()?;
    let sandbox = sandbox_with(&runtime, config).await;
    let mut told = String::new();
    let result = sandbox
        .run_with(script, |event| match event.kind {
            EventKind::Stdout { text } => told.push_str(&text),
            EventKind::Intermediate { data, .. } => told.push_str(&format!("i {data}\n")),
            _ => {}
        })
        .await
        .unwrap();
    assert_eq!(data(&result), "1");
    Some(told)
}

#[tokio::test]
async fn prints_and_frames_keep_the_order_in_which_they_were_made() {
    let script = "for i in range(2000):\n    print('p', i)\n    emit_intermediate('i', i)\nemit_result(1)";
    let Some(told) = told(config(), script).await else { return };
    let expected: String = (0..2000).map(|i| format!("p {i}\ni {i}\n")).collect();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn so_do_prints_that_fill_the_pipes() {
    let resource_limits = ResourceLimits { max_output_bytes: 8 << 20, ..ResourceLimits::default() };
    let script =
        "for i in range(60):\n    print(str(i) * 30_000)\n    emit_intermediate('i', i)\nemit_result(1)";
    let Some(told) = told(SandboxConfig { resource_limits, ..config() }, script).await else { return };
    let expected: String = (0..60).map(|i| format!("{}\ni {i}\n", i.to_string().repeat(30_000))).collect();
    assert!(told == expected, "a frame and a print are in the wrong order");
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
    // Nothing is read: the queue fills, the run waits, its time passes. Then the reader gives up
    // reading.
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
    let execution = sandbox.stream("emit_result(1)");
    belljar_testing::eventually("it waits in line", || sandbox.stats().waiting == 1).await;
    execution.cancel();
    let result = tokio::time::timeout(HANG, execution.result()).await.expect("it ends").unwrap();
    assert_eq!(result.verdict, Verdict::Cancelled);
    belljar_testing::eventually("its place is given up", || sandbox.stats().waiting == 0).await;
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

/// Reads a stream to its end, which must be the host's word and the same as the result.
async fn to_the_end(mut execution: Execution) -> (Vec<Event>, ExecutionResult) {
    let mut events = Vec::new();
    while let Some(event) = tokio::time::timeout(HANG, execution.next()).await.expect("the stream hangs") {
        events.push(event);
    }
    let result = execution.result().await.unwrap();
    let ends: Vec<_> = events.iter().filter(|event| event.kind.name() == "ended").collect();
    let Some(Event { kind: EventKind::Ended { result: told }, seq, .. }) = events.last() else {
        panic!("the last event is not the end: {events:#?}")
    };
    assert_eq!((ends.len(), *seq as usize, &**told), (1, events.len() - 1, &result));
    (events, result)
}

#[tokio::test]
async fn every_stream_ends_with_the_hosts_own_word_however_the_run_ended() {
    let Some(runtime) = runtime() else { return };
    let mut limits = ResourceLimits { max_output_bytes: 65_536, ..ResourceLimits::default() };
    if has(&runtime, "cgroup_memory") {
        limits.memory_mb = 64;
    }
    let sandbox = sandbox_with(&runtime, SandboxConfig { resource_limits: limits, ..config() }).await;
    let deaf = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nwhile True: pass";
    let mut endings = vec![
        ("emit_result(1)", Verdict::Ok),
        ("emit_result(1)\nwhile True: pass", Verdict::Ok),
        ("1 / 0", Verdict::Exception),
        ("x = 1", Verdict::NoResult),
        ("os._exit(3)", Verdict::Exited { code: 3 }),
        ("os.kill(os.getpid(), 9)", Verdict::Signaled { signal: 9 }),
        ("os.closerange(0, 4097)\nos._exit(0)", Verdict::Exited { code: 0 }),
        ("while True: print('x' * 1000)", Verdict::Output),
        ("while True: time.sleep(1)", Verdict::TimeoutWall),
        (deaf, Verdict::TimeoutWall),
    ];
    if has(&runtime, "cgroup_memory") {
        endings.push(("held = []\nwhile True: held.append(bytearray(b'x') * (1 << 20))", Verdict::Oom));
    }
    for (script, verdict) in endings {
        let request = ExecutionRequest::new(script).with_timeout(Duration::from_secs(2));
        let (_, result) = to_the_end(sandbox.stream(request)).await;
        assert_eq!(result.verdict, verdict, "{script}: {result:#?}");
    }
}

#[tokio::test]
async fn a_cancelled_stream_ends_with_the_hosts_own_word() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut execution = sandbox.stream("emit_intermediate('begun', 1)\nwhile True: pass");
    assert!(execution.next().await.is_some());
    execution.cancel();
    let mut last = None;
    while let Some(event) = tokio::time::timeout(HANG, execution.next()).await.expect("the stream hangs") {
        last = Some(event.kind);
    }
    let Some(EventKind::Ended { result }) = last else { panic!("{last:?}") };
    assert_eq!(result.verdict, Verdict::Cancelled);

    // Before it has a cell, too.
    let mut held = Vec::new();
    for _ in 0..sandbox.stats().capacity {
        held.push(sandbox.session().await.unwrap());
    }
    let execution = sandbox.stream("emit_result(1)");
    belljar_testing::eventually("it waits in line", || sandbox.stats().waiting == 1).await;
    execution.cancel();
    let (events, result) = to_the_end(execution).await;
    assert_eq!((events.len(), result.verdict), (1, Verdict::Cancelled));
}

/// Takes its time with the result.
struct Slow(Duration);

impl EventSink for Slow {
    fn on_event(&mut self, event: Event) -> Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> {
        let is_result = matches!(event.kind, EventKind::FinalResult { .. });
        is_result.then(|| Box::pin(tokio::time::sleep(self.0)) as _)
    }
}

#[tokio::test]
async fn a_taker_who_is_slow_costs_no_script_its_end_and_no_session_its_life() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let slow = &mut Slow(Duration::from_millis(800));
    let result = sandbox.run_into("emit_result(1)\nprint('end')", slow).await.unwrap();
    assert_eq!((data(&result), result.stdout.as_str()), ("1", "end\n"), "{result:#?}");
    assert_eq!(result.warnings, sandbox.report().warnings, "{result:#?}");
    let mut session = sandbox.session().await.unwrap();
    let result = session.step_into("x = 2\nemit_result(1)", &mut Slow(Duration::from_secs(3))).await.unwrap();
    assert_eq!(result.warnings, sandbox.report().warnings, "{result:#?}");
    assert!(session.is_alive());
    assert_eq!(session.step("emit_result(x)").await.unwrap().final_data.unwrap().as_str(), "2");
}
