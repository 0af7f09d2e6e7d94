//! A listener may be slow, or take nothing at all. It gets no cell beyond its script's limit, keeps
//! nobody waiting without end, and finds everything in the result.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use belljar_runtime::{
    Event, EventKind, EventSink, Execution, ExecutionRequest, ExecutionResult, ResourceLimits, Runtime,
    Sandbox, SandboxConfig, Verdict,
};
use belljar_testing::{HANG, build, config, data, eventually, in_time, run, sandbox_with, session};
use tokio::sync::Notify;

type Taking<'a> = Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>;

/// Long enough for a script that has little to do on a busy machine.
const AMPLE: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_secs(1);

/// A runtime whose sandboxes have so many cells, and no more.
#[track_caller]
fn with_cells(cells: usize) -> Option<Runtime> {
    build(Runtime::builder().max_overflow(cells))
}

/// A sandbox of a runtime that waits for its listeners as long as a test may take.
async fn patient(runtime: &Runtime) -> Sandbox {
    sandbox_with(runtime, config()).await.with_listener_timeout(HANG)
}

fn request(script: &str, limit: Duration) -> ExecutionRequest {
    ExecutionRequest::new(script).with_timeout(limit)
}

/// Waits until so many callers have asked for a cell. Whoever asks after them gets one after them.
async fn in_line(sandbox: &Sandbox, callers: u64) {
    let asked = || sandbox.stats().warm + sandbox.stats().waited;
    eventually("they have asked for a cell", || asked() >= callers).await;
}

/// Takes nothing, ever.
struct Never;

impl EventSink for Never {
    fn on_event(&mut self, _: Event) -> Taking<'_> {
        Some(Box::pin(std::future::pending()))
    }
}

/// Stalls over its first event until it is told to go on. Keeps the names of all it has taken.
#[derive(Default)]
struct Stalled {
    has_stalled: Arc<Notify>,
    goes_on: Arc<Notify>,
    taken: Vec<&'static str>,
}

impl EventSink for Stalled {
    fn on_event(&mut self, event: Event) -> Taking<'_> {
        if self.taken.is_empty() {
            return Some(Box::pin(async move {
                self.has_stalled.notify_one();
                self.goes_on.notified().await;
                self.taken.push(event.kind.name());
            }));
        }
        self.taken.push(event.kind.name());
        None
    }
}

/// Reads a stream to its end. Nothing may be missing, and the last event is the result.
async fn read(execution: Execution) -> (Vec<Event>, ExecutionResult) {
    read_on(Vec::new(), execution).await
}

/// The same, for a stream that was read before.
async fn read_on(mut events: Vec<Event>, mut execution: Execution) -> (Vec<Event>, ExecutionResult) {
    while let Some(event) = in_time(execution.next()).await {
        assert_eq!(event.seq as usize, events.len(), "an event is missing");
        events.push(event);
    }
    let result = in_time(execution.result()).await.unwrap();
    let Some(EventKind::Ended { result: told }) = events.last().map(|event| &event.kind) else {
        panic!("the last event is not the end: {:#?}", events.last())
    };
    assert_eq!(**told, result);
    (events, result)
}

fn count(events: &[Event], name: &str) -> usize {
    events.iter().filter(|event| event.kind.name() == name).count()
}

#[tokio::test]
async fn streams_that_nobody_reads_keep_no_cell_beyond_their_limit() {
    let Some(runtime) = with_cells(2) else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let endless = ["emit_intermediate('x', 1)", "emit_log('x')"]
        .map(|event| format!("for _ in range(200): {event}\nwhile True: time.sleep(1)"));
    let unread = endless.map(|script| sandbox.stream(request(&script, SHORT)));
    in_line(&sandbox, 2).await;
    assert_eq!(data(&run(&sandbox, "emit_result(3)").await), "3");
    for execution in unread {
        let (_, result) = read(execution).await;
        assert_eq!(result.verdict, Verdict::TimeoutWall, "{result:#?}");
        assert_eq!(result.intermediates.len() + result.logs.len(), 200);
    }
}

#[tokio::test]
async fn a_reader_who_comes_late_has_everything_and_no_more_than_the_limit() {
    let Some(runtime) = with_cells(1) else { return };
    let limit = 65_536;
    let resource_limits = ResourceLimits { max_output_bytes: limit, ..ResourceLimits::default() };
    let sandbox = sandbox_with(&runtime, SandboxConfig { resource_limits, ..config() }).await;
    let flood = sandbox.stream("while True: print('x' * 1000)");
    in_line(&sandbox, 1).await;
    assert_eq!(data(&run(&sandbox, "emit_result(2)").await), "2");
    let (events, result) = read(flood).await;
    assert_eq!(result.verdict, Verdict::Output, "{result:#?}");
    let texts = events.iter().filter_map(|event| match &event.kind {
        EventKind::Stdout { text } => Some(text.as_str()),
        _ => None,
    });
    let told: String = texts.collect();
    assert_eq!(told, result.stdout);
    assert!(told.len() as u64 <= limit, "{} bytes are kept", told.len());
}

#[tokio::test]
async fn a_script_that_has_ended_needs_no_reader_for_that() {
    let Some(runtime) = with_cells(1) else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "x = 1\nfor i in range(1000): emit_intermediate('i', i)\nemit_result('end')";
    let unread = sandbox.stream(request(script, HANG * 10));
    in_line(&sandbox, 1).await;
    assert_eq!(data(&run(&sandbox, "emit_result('next')").await), "\"next\"");
    let (events, result) = read(unread).await;
    assert_eq!((count(&events, "intermediate"), data(&result)), (1000, "\"end\""));
    assert_eq!(result.warnings, sandbox.report().warnings, "{result:#?}");

    let mut session = session(&sandbox).await;
    let mut unread = session.stream(request(script, HANG * 10));
    let first = in_time(unread.next()).await.expect("it begins");
    eventually("its step is over", || session.is_alive()).await;
    let next = in_time(session.step("emit_result(x)")).await.unwrap();
    assert_eq!(data(&next), "1", "the session has outlived its reader");
    let (events, result) = read_on(vec![first], unread).await;
    assert_eq!((count(&events, "intermediate"), data(&result)), (1000, "\"end\""));
}

/// What is printed takes three times the memory as text. So it is more than may wait, the rest of
/// it is in the kernel, and the script's end is behind it, unread.
#[tokio::test]
async fn a_script_that_has_ended_behind_its_listener_has_not_run_out_of_time() {
    let Some(runtime) = with_cells(1) else { return };
    let sandbox = sandbox_with(&runtime, config()).await.with_listener_timeout(Duration::from_millis(20));
    let print = "emit_log('x')\nfor _ in range(90): os.write(1, b'\\xff' * 4000)";
    let mut held = session(&sandbox).await;
    let step = request(&format!("{print}\nx = 1\nemit_result('end')"), AMPLE);
    let result = in_time(held.step_into(step, &mut Never)).await.unwrap();
    assert_eq!((data(&result), result.stdout.chars().count()), ("\"end\"", 360_000));
    assert_eq!(result.warnings.len(), sandbox.report().warnings.len() + 1, "{:?}", result.warnings);
    assert_eq!(data(&in_time(held.step("emit_result(x)")).await.unwrap()), "1", "the session goes on");
}

#[tokio::test]
async fn a_result_that_is_asked_for_without_its_events_comes_whole() {
    let Some(runtime) = with_cells(1) else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let execution = sandbox.stream("for i in range(2000): emit_intermediate('i', i)\nemit_result('end')");
    in_line(&sandbox, 1).await;
    let result = in_time(execution.result()).await.unwrap();
    assert_eq!((data(&result), result.intermediates.len()), ("\"end\"", 2000));
}

#[tokio::test]
async fn a_sink_that_takes_nothing_gets_its_result_after_the_limit_and_is_told_so() {
    let Some(runtime) = with_cells(1) else { return };
    let sandbox = sandbox_with(&runtime, config()).await.with_listener_timeout(Duration::from_millis(20));
    let endless = request("print('begun', flush=True)\nwhile True: time.sleep(1)", SHORT);
    let complaint = |result: &ExecutionResult| {
        let told: Vec<_> = result.warnings.iter().filter(|told| told.contains("listener")).collect();
        assert_eq!(told.len(), 1, "{result:#?}");
        told[0].clone()
    };
    let result = in_time(sandbox.run_into(endless.clone(), &mut Never)).await.unwrap();
    assert_eq!((&result.verdict, result.stdout.as_str()), (&Verdict::TimeoutWall, "begun\n"));
    // What was printed, the error, the end; and with some engines more.
    assert!(complaint(&result).contains("did not take"), "{result:#?}");

    let mut held = session(&sandbox).await;
    let result = in_time(held.step_into(endless, &mut Never)).await.unwrap();
    assert_eq!(result.verdict, Verdict::TimeoutWall);
    complaint(&result);
    drop(held);

    // One that ends by itself is no different, and its session goes on.
    let mut held = session(&sandbox).await;
    let result = in_time(held.step_into("x = 1\nemit_result(x)", &mut Never)).await.unwrap();
    assert_eq!(data(&result), "1");
    assert!(complaint(&result).contains("3 events"), "final_result, script_done, ended: {result:#?}");
    assert_eq!(data(&in_time(held.step("emit_result(x + 1)")).await.unwrap()), "2");
}

/// Runs a script with a listener that stalls over the first event until somebody else has had the
/// only cell.
async fn outlasted(sandbox: &Sandbox, script: ExecutionRequest) -> (ExecutionResult, Stalled) {
    let mut sink = Stalled::default();
    let (has_stalled, goes_on) = (sink.has_stalled.clone(), sink.goes_on.clone());
    let stalled = sandbox.run_into(script, &mut sink);
    let next = async {
        has_stalled.notified().await;
        let result = run(sandbox, "emit_result('next')").await;
        goes_on.notify_one();
        result
    };
    let (stalled, next) = tokio::join!(in_time(stalled), next);
    assert_eq!(data(&next), "\"next\"");
    let result = stalled.unwrap();
    assert_eq!(result.warnings, sandbox.report().warnings, "it took everything in the end: {result:#?}");
    (result, sink)
}

#[tokio::test]
async fn a_cell_is_given_back_while_an_event_is_still_being_taken() {
    let Some(runtime) = with_cells(1) else { return };
    let sandbox = patient(&runtime).await;
    let killed = request("emit_intermediate('i', 1)\nwhile True: time.sleep(1)", SHORT);
    let (result, sink) = outlasted(&sandbox, killed).await;
    assert_eq!(result.verdict, Verdict::TimeoutWall, "{result:#?}");
    assert_eq!((sink.taken.first(), sink.taken.last()), (Some(&"intermediate"), Some(&"ended")));

    // A script that ends has no limit to wait for.
    let script = "for i in range(1000): emit_intermediate('i', i)\nemit_result(1)";
    let (result, sink) = outlasted(&sandbox, request(script, HANG * 10)).await;
    assert_eq!((data(&result), result.intermediates.len()), ("1", 1000));
    assert_eq!(sink.taken[999..], ["intermediate", "final_result", "script_done", "ended"]);
}

/// Answers the first event with a run of its own.
struct Nested {
    sandbox: Sandbox,
    inner: Option<ExecutionResult>,
}

impl EventSink for Nested {
    fn on_event(&mut self, _: Event) -> Taking<'_> {
        self.inner.is_none().then(|| {
            Box::pin(async {
                self.inner = Some(self.sandbox.run("emit_result('inner')").await.unwrap());
            }) as _
        })
    }
}

#[tokio::test]
async fn a_sink_may_wait_for_a_run_that_needs_the_same_cell() {
    let Some(runtime) = with_cells(1) else { return };
    let sandbox = patient(&runtime).await;
    for (script, limit, verdict) in [
        ("emit_intermediate('i', 1)\nwhile True: time.sleep(1)", SHORT, Verdict::TimeoutWall),
        ("emit_intermediate('i', 1)\nemit_result(1)", AMPLE, Verdict::Ok),
    ] {
        let mut sink = Nested { sandbox: sandbox.clone(), inner: None };
        let outer = in_time(sandbox.run_into(request(script, limit), &mut sink)).await.unwrap();
        assert_eq!(outer.verdict, verdict, "{outer:#?}");
        assert_eq!(data(&sink.inner.expect("the inner run has returned")), "\"inner\"");
    }
}
