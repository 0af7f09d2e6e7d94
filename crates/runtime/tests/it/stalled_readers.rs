//! Whoever is slow to read the end of a run gives nobody in the cell more time to act.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use belljar_runtime::{
    Event, EventKind, EventSink, ExecutionMode, ExecutionRequest, ExecutionResult, FileResource,
    ResourceLimits, Runtime, Sandbox, SandboxConfig,
};
use belljar_testing::{HANG, about_the_run, config, eventually, has, runtime, sandbox_with};
use rustix::fs::{FlockOperation, flock};
use tokio::sync::Notify;

/// Takes everything but the last event, which it takes when it is told to.
#[derive(Default)]
struct Stalled {
    has_stalled: Arc<Notify>,
    goes_on: Arc<Notify>,
}

impl EventSink for Stalled {
    fn on_event(&mut self, event: Event) -> Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> {
        matches!(event.kind, EventKind::Ended { .. }).then(|| {
            self.has_stalled.notify_one();
            Box::pin(self.goes_on.notified()) as _
        })
    }
}

/// A directory of the host's that a script may write to, with a file in it that can be locked.
struct Shared(tempfile::TempDir);

impl Shared {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o777)).unwrap();
        // Each cell is another user to the host.
        for file in ["lock", "log"].map(|name| directory.path().join(name)) {
            File::create(&file).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
        }
        Self(directory)
    }

    async fn sandbox(&self, runtime: &Runtime, cpu_time_sec: Option<f64>) -> Sandbox {
        let grant = FileResource { read_only: false, ..FileResource::new(self.0.path(), "/shared") };
        let resource_limits = ResourceLimits {
            max_output_bytes: 100_000,
            execution_timeout_sec: 3.0,
            cpu_time_sec,
            ..Default::default()
        };
        sandbox_with(runtime, SandboxConfig { resources: vec![grant], resource_limits, ..config() }).await
    }

    /// Whether nobody holds the lock: whoever did is dead.
    fn is_free(&self) -> bool {
        let file = File::open(self.0.path().join("lock")).unwrap();
        flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }
}

/// Starts a process that holds the lock as long as it lives, in a session of its own, computing and
/// writing all the while.
const BUSY_CHILD: &str = "
import fcntl
ready, begun = os.pipe()
if os.fork() == 0:
    os.setsid()
    lock = open('/shared/lock')
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(begun, b'1')
    while True:
        with open('/shared/log', 'w') as log: log.write(str(sum(range(10000))))
os.read(ready, 1)
";

/// Runs a script whose last event nobody takes until the child is dead.
async fn run_stalled(sandbox: &Sandbox, shared: &Shared, request: ExecutionRequest) -> ExecutionResult {
    let mut sink = Stalled::default();
    let (has_stalled, goes_on) = (sink.has_stalled.clone(), sink.goes_on.clone());
    let run = sandbox.run_into(request, &mut sink);
    let look = async {
        has_stalled.notified().await;
        eventually("the child is dead while nobody reads", || shared.is_free()).await;
        goes_on.notify_one();
    };
    let (result, ()) =
        tokio::time::timeout(2 * HANG, async { tokio::join!(run, look) }).await.expect("it hangs");
    result.unwrap()
}

#[tokio::test]
async fn nothing_of_a_run_acts_while_the_last_event_is_not_taken() {
    let Some(runtime) = runtime() else { return };
    let shared = Shared::new();
    let sandbox = shared.sandbox(&runtime, None).await;
    for (end, verdict) in [
        ("emit_result(1)", "ok"),
        ("raise ValueError", "exception"),
        ("pass", "no_result"),
        ("emit_result(1); time.sleep(600)", "ok"),
        ("time.sleep(600)", "timeout_wall"),
        ("os.write(1, b'x' * 200_000)", "output"),
        ("os._exit(7)", "exited with 7"),
    ] {
        let result = run_stalled(&sandbox, &shared, format!("{BUSY_CHILD}{end}").into()).await;
        assert_eq!(result.verdict.to_string(), verdict, "{end}: {result:#?}");
    }
    let request = ExecutionRequest::new(format!("{BUSY_CHILD}pass")).with_mode(ExecutionMode::Interactive);
    assert!(run_stalled(&sandbox, &shared, request).await.success(), "an interactive run is one run as well");
    if has(&runtime, "cgroup_cpu") {
        let counted = shared.sandbox(&runtime, Some(2.5)).await;
        let result = run_stalled(&counted, &shared, format!("{BUSY_CHILD}emit_result(1)").into()).await;
        assert!(result.success() && result.usage.cpu_ms.is_some(), "{result:#?}");
    }
}

/// The queue and the pipes are full when the script ends: the way it was done with `--events` and a
/// reader that sleeps.
#[tokio::test]
async fn nothing_of_a_run_acts_while_its_stream_is_not_read() {
    let Some(runtime) = runtime() else { return };
    let shared = Shared::new();
    let sandbox = shared.sandbox(&runtime, None).await;
    for events in [50, 62, 63, 64] {
        let script =
            format!("{BUSY_CHILD}for _ in range({events}): emit_intermediate('l', 1)\nemit_result(1)");
        let mut execution =
            sandbox.stream(ExecutionRequest::new(script).with_timeout(Duration::from_secs(20)));
        let first = tokio::time::timeout(HANG, execution.next()).await.expect("it hangs");
        assert!(first.is_some());
        eventually("the child is dead while nobody reads", || shared.is_free()).await;
        let mut kinds = vec![first.unwrap().kind.name()];
        while let Some(event) = execution.next().await {
            kinds.push(event.kind.name());
        }
        assert_eq!(kinds.len(), events + 3, "{kinds:?}");
        let end = &kinds[kinds.len() - 3..];
        assert_eq!(end, ["final_result", "script_done", "ended"], "with {events} events before");
        let result = execution.result().await.unwrap();
        assert!(result.success() && about_the_run(&result.warnings).is_empty(), "{result:#?}");
    }
}

/// A cell that waits for nobody's last event is there for the next run.
#[tokio::test]
async fn a_reader_who_stalls_keeps_no_cell() {
    let Some(runtime) = belljar_testing::build(Runtime::builder().max_overflow(0)) else { return };
    let sandbox = sandbox_with(&runtime, SandboxConfig { pool_size: 1, ..config() }).await;
    let mut sink = Stalled::default();
    let (has_stalled, goes_on) = (sink.has_stalled.clone(), sink.goes_on.clone());
    let stalled = sandbox.run_into("emit_result(1)", &mut sink);
    let next = async {
        has_stalled.notified().await;
        let result = tokio::time::timeout(HANG, sandbox.run("emit_result(2)")).await.expect("it waits");
        goes_on.notify_one();
        result
    };
    let (stalled, next) = tokio::join!(stalled, next);
    let data = [stalled, next].map(|result| result.unwrap().final_data.unwrap().as_str().to_owned());
    assert_eq!(data, ["1", "2"]);
}
