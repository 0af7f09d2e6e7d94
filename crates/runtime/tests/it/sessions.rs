//! Steps share their variables; sessions do not.

use std::time::Duration;

use belljar_runtime::{
    Event, EventKind, ExecutionRequest, ExecutionResult, FileResource, OutputStream, Runtime, RuntimeError,
    SandboxConfig, Session, Verdict,
};
use belljar_testing::{
    HANG, about_the_run, build, config, eventually, has, needs_isolation, runtime, sandbox_with,
};

#[tokio::test]
async fn a_session_keeps_its_variables_and_a_second_one_does_not_see_them() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let first = session.step("x = 1").await.unwrap();
    assert_eq!((first.verdict, first.final_data), (Verdict::Ok, None));
    session.step("x += 1\ndef double(y): return 2 * y").await.unwrap();
    let third = session.step("emit_result(double(x))").await.unwrap();
    assert_eq!(third.final_data.unwrap().as_str(), "4");
    let mut other = sandbox.session().await.unwrap();
    let stranger = other.step("emit_result(x)").await.unwrap();
    assert!(stranger.error.unwrap().contains("NameError"));
}

#[tokio::test]
async fn a_session_that_begins_anew_keeps_its_place_and_nothing_else() {
    let Some(runtime) = build(Runtime::builder().max_overflow(0)) else { return };
    let sandbox = sandbox_with(&runtime, SandboxConfig { pool_size: 1, ..config() }).await;
    let mut session = sandbox.session().await.unwrap();
    session.step("x = 1\nopen('left', 'w').close()").await.unwrap();
    // Somebody waits for the only place, and keeps what comes of it.
    let (other, came) = (sandbox.clone(), tokio::sync::oneshot::channel());
    let waits = tokio::spawn(async move {
        let session = other.session().await.unwrap();
        let _ = came.0.send(());
        session
    });
    eventually("somebody waits", || sandbox.stats().waiting == 1).await;
    for _ in 0..3 {
        session.renew().await.unwrap();
        let seen = session.step("import os\nemit_result(['x' in globals(), os.listdir()])").await.unwrap();
        assert_eq!(seen.final_data.unwrap().as_str(), "[false,[]]");
    }
    drop(session);
    tokio::time::timeout(HANG, came.1).await.expect("its turn comes").unwrap();
    drop(waits.await.unwrap());
}

#[tokio::test]
async fn a_failed_step_leaves_the_session_usable() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    session.step("x = 1").await.unwrap();
    let failed = session.step("y = 2\nraise ValueError('no')").await.unwrap();
    assert_eq!(failed.verdict, Verdict::Exception);
    assert!(failed.traceback.unwrap().contains("line 2"));
    assert_eq!(session.step("emit_result(x + y)").await.unwrap().final_data.unwrap().as_str(), "3");
}

#[tokio::test]
async fn a_step_shows_the_value_of_its_last_expression() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    assert_eq!(session.step("x = [1, 2]\nx * 2").await.unwrap().stdout, "[1, 2, 1, 2]\n");
    assert_eq!(session.step("None").await.unwrap().stdout, "");
}

#[tokio::test]
async fn a_step_that_crashes_ends_the_session_and_says_so() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    assert_eq!(session.step("os._exit(5)").await.unwrap().verdict, Verdict::Exited { code: 5 });
    assert!(!session.is_alive());
    assert!(matches!(session.step("1").await, Err(RuntimeError::SessionOver { .. })));
}

#[tokio::test]
async fn a_step_that_obeys_its_alarm_leaves_the_session_alive() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    session.step("x = 1").await.unwrap();
    let late = ExecutionRequest::new("while True: time.sleep(0.01)").with_timeout(Duration::from_millis(500));
    let late = session.step(late).await.unwrap();
    assert_eq!(late.verdict, Verdict::TimeoutWall, "{late:#?}");
    if session.is_alive() {
        assert_eq!(session.step("emit_result(x)").await.unwrap().final_data.unwrap().as_str(), "1");
    }
}

#[tokio::test]
async fn a_dropped_step_ends_the_session() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let (began, seen) = tokio::sync::oneshot::channel();
    let mut began = Some(began);
    let step = session.step_with("emit_intermediate('began', 1)\nwhile True: pass", move |_| {
        began.take().map(|began| began.send(()));
    });
    tokio::select! {
        _ = step => panic!("an endless step ended"),
        _ = seen => {}
    }
    assert!(!session.is_alive());
}

async fn step(session: &mut Session, script: &str) -> (ExecutionResult, Vec<Event>) {
    let mut events = Vec::new();
    let running = session.step_with(script, |event| events.push(event));
    let result = tokio::time::timeout(HANG, running).await.expect("the step hangs").unwrap();
    (result, events)
}

#[tokio::test]
async fn a_step_that_goes_on_after_its_result_is_interrupted_and_the_next_one_begins_anew() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let (first, _) = step(&mut session, "x = 5\nemit_result(1)\ntime.sleep(600)\nprint('leftover')").await;
    assert_eq!((&first.verdict, first.stdout.as_str()), (&Verdict::Ok, ""), "{first:#?}");
    let interrupted = "went on after emit_result and was interrupted";
    assert!(first.logs.iter().any(|line| line.message.contains(interrupted)), "{first:#?}");
    let (second, _) = step(&mut session, "print('mine')\nemit_result(x)").await;
    assert_eq!((second.stdout.as_str(), second.final_data.unwrap().as_str()), ("mine\n", "5"));
    assert_eq!(second.warnings, sandbox.report().warnings);
}

#[tokio::test]
async fn a_step_that_cannot_be_interrupted_ends_the_session_and_says_so() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for script in [
        "emit_result(1)\nwhile True:\n    try:\n        while True: time.sleep(1)\n    except BaseException: pass",
        "import signal\nemit_result(1)\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nwhile True: pass",
    ] {
        let mut session = sandbox.session().await.unwrap();
        let (first, _) = step(&mut session, script).await;
        assert_eq!((&first.verdict, first.final_data.as_ref().unwrap().as_str()), (&Verdict::Ok, "1"));
        let said = first.warnings.iter().any(|warning| warning.contains("its session is over"));
        assert!(said && !session.is_alive(), "{first:#?}");
        assert!(matches!(session.step("1").await, Err(RuntimeError::SessionOver { .. })));
    }
}

/// A directory that a guest of either engine can write to, and how it is granted.
pub(crate) fn shared() -> (tempfile::TempDir, SandboxConfig) {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let grant = FileResource { read_only: false, ..FileResource::new(directory.path(), "/shared") };
    (directory, SandboxConfig { resources: vec![grant], ..config() })
}

/// Lets what waits for `/shared/go` go on, and waits until it has made `/shared/gone`.
async fn let_go(shared: &tempfile::TempDir) {
    std::fs::write(shared.path().join("go"), "").unwrap();
    eventually("what was left running has done its part", || shared.path().join("gone").exists()).await;
    for name in ["go", "gone"] {
        std::fs::remove_file(shared.path().join(name)).unwrap();
    }
}

const LATE_THREAD: &str = r#"
import threading
def late():
    while not os.path.exists("/shared/go"): time.sleep(0.01)
    print("leftover")
    open("/shared/gone", "w").close()
threading.Thread(target=late).start()
print("mine")
"#;

const LATE_CHILD: &str = r#"
import subprocess
wait = "until test -e /shared/go; do sleep 0.01; done; echo leftover >&2; touch /shared/gone"
child = subprocess.Popen(["sh", "-c", wait])
print("mine")
"#;

#[tokio::test]
async fn what_is_printed_between_two_steps_is_told_and_in_neither() {
    if needs_isolation("its scripts wait for marks in a granted directory") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let (shared, config) = shared();
    let sandbox = sandbox_with(&runtime, config).await;
    for (script, stream) in [(LATE_THREAD, OutputStream::Stdout), (LATE_CHILD, OutputStream::Stderr)] {
        let mut session = sandbox.session().await.unwrap();
        let (first, _) = step(&mut session, script).await;
        assert_eq!((first.stdout.as_str(), first.stderr.as_str()), ("mine\n", ""), "{first:#?}");
        let_go(&shared).await;
        let (second, events) = step(&mut session, "print('second')").await;
        assert_eq!((second.stdout.as_str(), second.stderr.as_str()), ("second\n", ""), "{second:#?}");
        let leftover = EventKind::Leftover { stream, text: "leftover\n".into() };
        assert_eq!(events.first().map(|event| &event.kind), Some(&leftover), "{events:#?}");
        let warning = "printed 9 bytes after their step had ended";
        assert!(second.warnings.iter().any(|told| told.contains(warning)), "{:?}", second.warnings);
        let (third, _) = step(&mut session, "1").await;
        assert!(about_the_run(&third.warnings).is_empty(), "{third:#?}");
    }
}

#[tokio::test]
async fn a_step_says_when_something_of_an_earlier_one_speaks_during_it() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let thread = "import threading\ngo, gone = threading.Event(), threading.Event()\n\
                  def late():\n    go.wait()\n    print('late')\n    gone.set()\n\
                  threading.Thread(target=late).start()";
    let (first, _) = step(&mut session, thread).await;
    assert!(first.logs.is_empty(), "{first:#?}");
    let (second, _) = step(&mut session, "go.set()\ngone.wait()").await;
    assert!(second.logs[0].message.contains("a thread of an earlier step"), "{second:#?}");
    let (third, _) =
        step(&mut session, "import subprocess\nchild = subprocess.Popen(['sleep', '600'])").await;
    assert!(third.logs.is_empty(), "{third:#?}");
    let (fourth, _) = step(&mut session, "child.kill()\nchild.wait()\nNone").await;
    assert!(fourth.logs[0].message.contains("a process of an earlier step"), "{fourth:#?}");
    assert!(step(&mut session, "1").await.0.logs.is_empty());
}

const LATE_RESULT: &str = r#"
import threading
def late():
    global refused
    while not os.path.exists("/shared/go"): time.sleep(0.01)
    try: emit_result("late")
    except RuntimeError as error: refused = str(error)
    open("/shared/gone", "w").close()
threading.Thread(target=late).start()
"#;

#[tokio::test]
async fn nobody_emits_between_two_steps() {
    if needs_isolation("its scripts wait for marks in a granted directory") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let (shared, config) = shared();
    let sandbox = sandbox_with(&runtime, config).await;
    let mut session = sandbox.session().await.unwrap();
    step(&mut session, LATE_RESULT).await;
    let_go(&shared).await;
    let (second, _) = step(&mut session, "emit_result(refused)").await;
    assert!(second.final_data.unwrap().as_str().contains("no script is running"));
}

const LATE_BURNER: &str = r#"
import threading
def late():
    while not os.path.exists("/shared/go"): time.sleep(0.01)
    until = time.thread_time() + 1.2
    while time.thread_time() < until: pass
    open("/shared/gone", "w").close()
threading.Thread(target=late).start()
"#;

#[tokio::test]
async fn what_is_used_between_two_steps_is_charged_to_neither() {
    let Some(runtime) = runtime() else { return };
    if !has(&runtime, "cgroup_cpu") {
        return;
    }
    let (shared, mut config) = shared();
    config.resource_limits.cpu_time_sec = Some(1.0);
    let sandbox = sandbox_with(&runtime, config).await;
    let mut session = sandbox.session().await.unwrap();
    assert_eq!(step(&mut session, LATE_BURNER).await.0.verdict, Verdict::Ok);
    let_go(&shared).await;
    // It would be out of processor time at its first look.
    let (second, _) = step(&mut session, "time.sleep(0.05)\nemit_result(1)").await;
    assert_eq!(second.verdict, Verdict::Ok, "{second:#?}");
    assert!(second.usage.cpu_ms.unwrap() < 1000.0, "{second:#?}");
}

#[tokio::test]
async fn a_step_with_a_time_limit_that_is_none_costs_no_session() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    session.step("x = 1").await.unwrap();
    let request = ExecutionRequest::new("emit_result(x)").with_timeout(Duration::ZERO);
    assert!(matches!(session.step(request).await, Err(RuntimeError::Timeout { .. })));
    assert_eq!(session.step("emit_result(x)").await.unwrap().final_data.unwrap().as_str(), "1");
}

/// Runs a step that says when it is under way, interrupts it then, and gives its result.
async fn interrupted(session: &mut Session, script: &str) -> ExecutionResult {
    let handle = session.interrupt_handle();
    let step = session.step_with(script, |event| {
        if matches!(event.kind, EventKind::Intermediate { .. }) {
            handle.interrupt();
        }
    });
    tokio::time::timeout(HANG, step).await.expect("the step hangs").unwrap()
}

#[tokio::test]
async fn an_interrupted_step_ends_and_the_session_keeps_its_variables() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    // Nothing is the value of the step, or the interrupt could come between the rest and that.
    for (round, wait) in ["while True: pass", "while True: time.sleep(0.001)"].into_iter().enumerate() {
        let result =
            interrupted(&mut session, &format!("x = {round}\nemit_intermediate('on', 1)\n{wait}")).await;
        assert_eq!(result.verdict, Verdict::Cancelled, "{result:#?}");
        assert!(result.error.as_ref().unwrap().contains("KeyboardInterrupt"), "{result:#?}");
        assert!(result.traceback.as_ref().unwrap().contains("<agent_script"), "{result:#?}");
        assert!(session.is_alive());
        assert_eq!(
            session.step("emit_result(x)").await.unwrap().final_data.unwrap().as_str(),
            round.to_string()
        );
    }
}

#[tokio::test]
async fn a_step_that_catches_its_interrupt_goes_on() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let script = "try:\n    emit_intermediate('on', 1)\n    while True: pass\nexcept KeyboardInterrupt:\n    emit_result('tidied up')";
    let result = interrupted(&mut session, script).await;
    assert_eq!((result.verdict, result.final_data.unwrap().as_str()), (Verdict::Ok, "\"tidied up\""));
    // The script's own handlers count, in this step and in the next.
    let own = "import signal\nheard = []\nsignal.signal(signal.SIGINT, lambda *_: heard.append(1))\n\
               emit_intermediate('on', 1)\nwhile not heard: pass";
    assert_eq!(interrupted(&mut session, own).await.verdict, Verdict::Ok);
    let again = "emit_intermediate('on', 1)\nwhile len(heard) < 2: pass\nemit_result(len(heard))";
    assert_eq!(interrupted(&mut session, again).await.final_data.unwrap().as_str(), "2");
}

/// An interrupt that comes before the guest has read the request belongs to it; one that comes
/// after the step belongs to nobody.
#[tokio::test]
async fn an_interrupt_finds_its_step_or_nobody() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    for _ in 0..20 {
        let mut execution = session.stream("while True: pass");
        execution.interrupt();
        while execution.next().await.is_some() {}
        let result = tokio::time::timeout(HANG, execution.result()).await.expect("it hangs").unwrap();
        assert_eq!(result.verdict, Verdict::Cancelled, "{result:#?}");
        session.interrupt_handle().interrupt();
        assert_eq!(session.step("emit_result(1)").await.unwrap().verdict, Verdict::Ok);
    }
}

/// An interrupt may be on its way when its step ends. It must not reach the next one.
#[tokio::test]
async fn an_interrupt_that_comes_too_late_does_not_reach_the_next_step() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    for round in 0..100 {
        // Ever later in a step that takes about as long as an interrupt is on its way.
        let mut execution = session.stream("for _ in range(2000): pass");
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        execution.interrupt();
        while execution.next().await.is_some() {}
        let result = tokio::time::timeout(HANG, execution.result()).await.expect("it hangs").unwrap();
        assert!(matches!(result.verdict, Verdict::Ok | Verdict::Cancelled), "{result:#?}");
        let next = session.step("for _ in range(20_000): pass\nemit_result(1)").await.unwrap();
        assert_eq!(next.verdict, Verdict::Ok, "round {round}: {next:#?}");
    }
}

#[tokio::test]
async fn a_step_can_be_streamed_and_cancelled_and_only_one_runs_at_a_time() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let mut execution = session.stream("emit_intermediate('on', 1)\nimport time; time.sleep(1000)");
    assert!(matches!(execution.next().await.unwrap().kind, EventKind::Intermediate { .. }));
    assert!(matches!(session.step("1").await, Err(RuntimeError::StepUnderWay { .. })));
    execution.cancel();
    let result = tokio::time::timeout(HANG, execution.result()).await.expect("it hangs").unwrap();
    assert_eq!(result.verdict, Verdict::Cancelled);
    assert!(matches!(session.step("1").await, Err(RuntimeError::SessionOver { .. })));
}
