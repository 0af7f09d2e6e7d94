//! One step of a session against the next, and one session against another.

use std::time::Duration;

use belljar_runtime::{Event, ExecutionRequest, ExecutionResult, RuntimeError, Session, Verdict};
use belljar_testing::{HANG, about_the_run, config, data, has, run, runtime, sandbox_with};

use crate::attack::{PRELUDE, check_stream};

async fn step(session: &mut Session, request: impl Into<ExecutionRequest>) -> ExecutionResult {
    let mut events: Vec<Event> = Vec::new();
    let running = session.step_with(request, |event| events.push(event));
    let result = tokio::time::timeout(HANG, running).await.expect("the host waits for ever").unwrap();
    check_stream(&events, &result).unwrap_or_else(|why| panic!("{why}: {events:#?}"));
    result
}

fn text(result: &ExecutionResult) -> Option<&str> {
    result.final_data.as_ref().map(|data| data.as_str())
}

#[tokio::test]
async fn frames_of_an_earlier_step_are_noise_in_a_later_one() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let keep = format!(
        "{PRELUDE}\nstale = sealed('final_result', data='stale') + sealed('error', message='stale') + \
         sealed('log', message='stale') + sealed('script_done')\nold = harness.execution.running"
    );
    assert_eq!(step(&mut session, keep.as_str()).await.verdict, Verdict::Ok);
    let replay = "raw(stale)\nraw(stale.replace(b'\"known\"', b'\"step-2\"'))\nold.final_result('stale')\nold.log('stale')\nold.done()\n\
                  emit_result('real')";
    let second = step(&mut session, ExecutionRequest::new(replay).with_execution_id("step-2")).await;
    assert_eq!((&second.verdict, text(&second)), (&Verdict::Ok, Some("\"real\"")), "{second:#?}");
    assert!(second.logs.is_empty(), "{second:#?}");
    // The same when nothing real follows.
    let third = step(&mut session, "raw(stale)\nold.final_result('stale')").await;
    assert_eq!((&third.verdict, text(&third)), (&Verdict::Ok, None), "{third:#?}");
}

#[tokio::test]
async fn a_thread_left_by_an_earlier_step_does_not_speak_in_a_later_one() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let linger = format!(
        "{PRELUDE}\nstale = sealed('final_result', data='stale') + sealed('script_done')\nold = harness.execution.running\n\
         go, gone = threading.Event(), threading.Event()\n\
         def linger():\n    go.wait()\n    for _ in range(100): raw(stale); old.intermediate('stale', 1)\n    gone.set()\n\
         threading.Thread(target=linger, daemon=True).start()"
    );
    assert_eq!(step(&mut session, linger.as_str()).await.verdict, Verdict::Ok);
    let second = step(&mut session, "go.set()\ngone.wait()\nemit_result('real')").await;
    assert_eq!((&second.verdict, text(&second)), (&Verdict::Ok, Some("\"real\"")), "{second:#?}");
    assert!(second.intermediates.is_empty(), "{second:#?}");
}

#[tokio::test]
async fn half_a_line_left_by_a_step_does_not_spoil_the_next() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let half = format!("{PRELUDE}\nraw(sealed('script_done') + b'{{\"type\":\"final_result\",\"data\":')");
    assert_eq!(step(&mut session, half.as_str()).await.verdict, Verdict::Ok);
    let second = step(&mut session, "emit_result('real')").await;
    assert_eq!((&second.verdict, text(&second)), (&Verdict::Ok, Some("\"real\"")), "{second:#?}");
}

#[tokio::test]
async fn an_end_told_too_early_gives_the_step_after_it_no_result() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    // The script runs on after the end it told; what it then says belongs to no step.
    let early = format!(
        "{PRELUDE}\nraw(sealed('script_done'))\nfor n in range(100): emit_intermediate('late', n)\nemit_result('late')"
    );
    let first = step(&mut session, early.as_str()).await;
    assert_eq!((&first.verdict, text(&first)), (&Verdict::Ok, None), "{first:#?}");
    let second = step(&mut session, "x = 1").await;
    assert_eq!((&second.verdict, text(&second)), (&Verdict::Ok, None), "{second:#?}");
    assert!(second.intermediates.is_empty(), "{second:#?}");
}

#[tokio::test]
async fn a_channel_shut_for_reading_ends_the_session_and_not_the_host() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    // A thread keeps the process there when the harness has found its channel shut.
    let shut = format!(
        "{PRELUDE}\nos._exit = lambda code: [time.sleep(1) for _ in iter(int, 1)]\n\
         socket.socket(fileno=os.dup(900)).shutdown(socket.SHUT_RD)"
    );
    assert_eq!(step(&mut session, shut.as_str()).await.verdict, Verdict::Ok);
    let request = ExecutionRequest::new("emit_result(1)").with_timeout(Duration::from_secs(1));
    let second = step(&mut session, request).await;
    assert_eq!(second.verdict, Verdict::TimeoutWall, "{second:#?}");
    assert!(matches!(session.step("1").await, Err(RuntimeError::SessionOver { .. })));
    assert_eq!(data(&run(&sandbox, "emit_result('fine')").await), "\"fine\"");
}

#[tokio::test]
async fn the_seal_of_one_session_is_noise_in_another() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let (mut one, mut other) = (sandbox.session().await.unwrap(), sandbox.session().await.unwrap());
    let steal = format!("{PRELUDE}\nemit_result(seal_from_frames())");
    let stolen = step(&mut one, steal.as_str()).await;
    let stolen: String = stolen.final_data.unwrap().to().unwrap();
    assert_eq!(stolen.len(), 32);
    let forge = format!(
        "{PRELUDE}\nraw(unsealed('final_result', data='forged', seal='{stolen}'))\nemit_result(seal_from_frames() == '{stolen}')"
    );
    let result = step(&mut other, forge.as_str()).await;
    assert_eq!((&result.verdict, text(&result)), (&Verdict::Ok, Some("false")), "{result:#?}");
}

#[tokio::test]
async fn a_harness_replaced_in_one_session_is_whole_in_the_next() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let replace = format!(
        "{PRELUDE}\ndef mine(self, channel, request):\n    raw(unsealed('final_result', data='mine', seal=request['seal']) + unsealed('script_done', seal=request['seal']))\n\
         harness.scripts.Scripts.execute = mine"
    );
    assert_eq!(step(&mut session, replace.as_str()).await.verdict, Verdict::Ok);
    // The guest speaks for its own session, as it may …
    assert_eq!(text(&step(&mut session, "emit_result('real')").await), Some("\"mine\""));
    // … and for no other.
    let mut other = sandbox.session().await.unwrap();
    assert_eq!(text(&step(&mut other, "emit_result('real')").await), Some("\"real\""));
}

#[tokio::test]
async fn words_of_a_step_that_ended_early_do_not_reach_the_next_ones_result() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    // It tells its end, and then everything that would be a success of the next step, with every
    // seal it has.
    let early = format!(
        "{PRELUDE}\nold = sealed('final_result', data='stale') + sealed('log', message='stale') + sealed('script_done')\n\
         emit_result(1)\ntime.sleep(600)\nraw(old)"
    );
    let first = step(&mut session, early.as_str()).await;
    assert_eq!((&first.verdict, text(&first)), (&Verdict::Ok, Some("1")), "{first:#?}");
    let second = step(&mut session, "raw(old)\nprint('mine')").await;
    assert_eq!((&second.verdict, text(&second), second.stdout.as_str()), (&Verdict::Ok, None, "mine\n"));
    assert!(second.logs.is_empty(), "{second:#?}");
}

#[tokio::test]
async fn a_step_cannot_make_the_host_believe_that_it_has_ended_and_be_alive_after_its_time() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    // The harness's own alarm is taken away, and nothing tells the end: the host's clock is left.
    let stay = format!(
        "{PRELUDE}\nharness.alarm.Alarm.hasten = lambda self, seconds: None\nsignal.setitimer(signal.ITIMER_REAL, 0)\n\
         emit_result(1)\nwhile True: time.sleep(1)"
    );
    let first = step(&mut session, stay.as_str()).await;
    assert_eq!((&first.verdict, text(&first)), (&Verdict::Ok, Some("1")), "{first:#?}");
    assert!(about_the_run(&first.warnings)[0].contains("its session is over"), "{first:#?}");
    assert!(matches!(session.step("1").await, Err(RuntimeError::SessionOver { .. })));
}

#[tokio::test]
async fn a_kill_for_memory_in_one_step_cannot_be_claimed_by_another() {
    let Some(runtime) = runtime() else { return };
    if !has(&runtime, "cgroup_memory") {
        return;
    }
    let mut config = config();
    config.resource_limits.memory_mb = 64;
    let sandbox = sandbox_with(&runtime, config).await;
    let mut session = sandbox.session().await.unwrap();
    let eaten = "pid = os.fork()\nif pid == 0: held = bytearray(b'x') * (1 << 29)\nos.waitpid(pid, 0)\nNone";
    assert_eq!(step(&mut session, eaten).await.usage.oom_kills, Some(1));
    let second = step(&mut session, "os.kill(os.getpid(), 9)").await;
    assert_eq!(second.verdict, Verdict::Signaled { signal: 9 }, "{second:#?}");
}
