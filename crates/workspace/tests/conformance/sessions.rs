//! Programs that are talked to while they run.

use std::time::{Duration, Instant};

use belljar_testing::{eventually, in_time, runtime};
use belljar_workspace::{
    Context, InteractiveProgramSpec, ProgramSession, ProgramStatus, RunProgramSpec, RunResult,
    WorkspaceEngine, WorkspaceError,
};

use crate::place::{place, place_with, sh};

/// Waits until a session has printed something.
async fn until(session: &dyn ProgramSession, text: &str) {
    let seen = || String::from_utf8_lossy(&session.log_bytes(None, None).data).contains(text);
    eventually(&format!("{text:?} is printed"), seen).await;
}

async fn end(session: &dyn ProgramSession) -> RunResult {
    in_time(session.wait()).await
}

fn terminal(script: &str) -> InteractiveProgramSpec {
    InteractiveProgramSpec { program: sh(script), tty: true, ..Default::default() }
}

#[tokio::test]
async fn case_70_a_program_is_talked_to_through_pipes() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let session = job.start(sh("printf 'ready\\n'; read v; echo out:$v; echo err:$v >&2; exit 3")).await;
    until(&*session, "ready").await;
    assert_eq!((session.state().status, session.result()), (ProgramStatus::Running, None));
    session.write(b"hello", true).await.unwrap();
    let result = end(&*session).await;
    assert_eq!(
        (result.stdout_text().as_ref(), result.stderr_text().as_ref()),
        ("ready\nout:hello\n", "err:hello\n")
    );
    assert_eq!((result.exit_code, session.state().exit_code), (3, Some(3)));
    let poll = session.poll(None);
    assert!(poll.output.contains("out:hello") && poll.output.contains("err:hello"), "{poll:?}");
    assert_eq!(
        (poll.status, poll.exit_code, poll.offset, poll.next_offset),
        (ProgramStatus::Exited, Some(3), 0, 3)
    );
    assert_eq!(session.poll(None).output, "");
}

#[tokio::test]
async fn case_71_a_prompt_in_a_terminal_is_seen_before_its_line_ends() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let session = job
        .start_with(terminal("test -t 0 && test -t 1 && test -t 2 && printf 'choose: '; read v; echo tty:$v"))
        .await;
    until(&*session, "choose: ").await;
    assert_eq!(session.poll(None).output, "choose: ");
    session.write(b"7", true).await.unwrap();
    assert_eq!(end(&*session).await.exit_code, 0);
    assert!(session.log(None, None).output.contains("tty:7"), "{:?}", session.log(None, None));
}

#[tokio::test]
async fn case_72_and_73_lines_that_are_no_longer_kept_are_skipped_and_the_log_moves_nothing() {
    let Some(runtime) = runtime() else { return };
    let place = place_with(&runtime, |options| options.session_log = (2, 1 << 20)).await;
    let job = place.job().await;
    let session = job.start(sh("printf 'one\\ntwo\\nthree\\nfour\\ntail'; read v; exit 3")).await;
    until(&*session, "tail").await;
    for _ in 0..3 {
        let log = session.log(Some(0), Some(1));
        assert_eq!((log.output.as_str(), log.offset, log.next_offset), ("three", 2, 3));
        assert_eq!((log.byte_offset, log.next_byte_offset), (8, 14));
        let log = session.log(Some(10), None);
        assert_eq!((log.output.as_str(), log.offset, log.next_offset), ("tail", 4, 4));
    }
    let poll = session.poll(Some(1));
    assert_eq!((poll.output.as_str(), poll.offset, poll.next_offset), ("three", 2, 3));
    let poll = session.poll(None);
    assert_eq!((poll.output.as_str(), poll.offset, poll.next_offset), ("four\ntail", 3, 4));
    // Bytes have a place of their own.
    let bytes = session.poll_bytes(Some(3));
    assert_eq!((bytes.data.as_slice(), bytes.offset, bytes.next_offset), (&b"thr"[..], 8, 11));
    assert_eq!(session.poll_bytes(None).data, b"ee\nfour\ntail");
    assert_eq!(session.log_bytes(Some(19), Some(2)).data, b"ta");
    session.write(b"", true).await.unwrap();
    assert_eq!(end(&*session).await.exit_code, 3);
    let poll = session.poll(None);
    assert_eq!((poll.output.as_str(), poll.exit_code), ("tail", Some(3)));
}

#[tokio::test]
async fn case_74_a_session_is_killed_kindly_then_by_force_then_not_at_all() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let session = job.start(sh("echo ready; exec sleep 600")).await;
    until(&*session, "ready").await;
    in_time(session.kill(Duration::from_secs(60))).await.unwrap();
    let result = session.result().expect("it has ended");
    assert_eq!((result.signal, result.timed_out), (Some(15), false), "{result:?}");
    let stubborn = job.start(sh("trap '' TERM; echo ready; while :; do sleep 0.05; done")).await;
    until(&*stubborn, "ready").await;
    in_time(stubborn.kill(Duration::from_millis(20))).await.unwrap();
    assert!(stubborn.state().is_exited(), "{:?}", stubborn.state());
    for session in [session, stubborn] {
        in_time(session.kill(Duration::from_secs(60))).await.unwrap();
        assert!(matches!(session.signal(15).await, Err(WorkspaceError::NotRunning)));
    }
}

#[tokio::test]
async fn case_75_nothing_is_written_to_a_session_that_has_ended() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let session = job.start(sh("exit 0")).await;
    end(&*session).await;
    let refused = session.write(b"x", true).await.unwrap_err();
    assert_eq!(refused.to_string(), "session is not running");
    session.write(b"", false).await.unwrap();
    assert!(session.send_eof().await.is_err());
    session.close().unwrap();
    session.close().unwrap();
    let open = job.start(sh("read v; echo got:$v; cat")).await;
    open.close().unwrap();
    open.close().unwrap();
    assert!(matches!(
        open.write(b"x", true).await,
        Err(WorkspaceError::NoStdin | WorkspaceError::NotRunning)
    ));
    // It has noticed.
    assert_eq!(end(&*open).await.stdout_text(), "got:\n");
}

#[tokio::test]
async fn a_terminal_is_resized_interrupted_and_ended_by_keys() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let spec = InteractiveProgramSpec {
        rows: Some(33),
        cols: Some(99),
        ..terminal(
            "stty size; trap 'stty size' WINCH; trap 'echo caught' INT; echo ready; while :; do sleep 0.05; done",
        )
    };
    let session = job.start_with(spec).await;
    until(&*session, "33 99").await;
    until(&*session, "ready").await;
    session.resize(11, 22).await.unwrap();
    until(&*session, "11 22").await;
    session.write(b"\x03", false).await.unwrap();
    until(&*session, "caught").await;
    session.interrupt().await.unwrap();
    let twice =
        || String::from_utf8_lossy(&session.log_bytes(None, None).data).matches("caught").count() >= 2;
    eventually("it is interrupted again", twice).await;
    in_time(session.kill(Duration::from_millis(50))).await.unwrap();
    assert!(session.resize(1, 1).await.is_err());
    // Ctrl-D at the beginning of a line is the end of what is typed.
    let session = job.start_with(terminal("cat; echo end")).await;
    session.write(b"line", true).await.unwrap();
    until(&*session, "line\r\nline").await;
    session.send_eof().await.unwrap();
    assert_eq!(end(&*session).await.exit_code, 0);
    until(&*session, "end").await;
    // Without a terminal there is nothing to resize.
    let session = job.start(sh("cat")).await;
    assert!(matches!(session.resize(1, 1).await, Err(WorkspaceError::Unsupported { .. })));
    session.send_eof().await.unwrap();
    assert!(matches!(session.send_eof().await, Err(WorkspaceError::NoStdin | WorkspaceError::NotRunning)));
    assert_eq!(end(&*session).await.exit_code, 0);
}

#[tokio::test]
async fn a_password_is_not_echoed() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let script = "import getpass; word = getpass.getpass('password: '); print(f'{len(word)} letters')";
    let program = RunProgramSpec::new("python3", ["-c", script]);
    let session = job.start_with(InteractiveProgramSpec { program, tty: true, ..Default::default() }).await;
    until(&*session, "password: ").await;
    session.write(b"sesame", true).await.unwrap();
    let result = end(&*session).await;
    let printed = session.log(None, None).output;
    assert!(
        result.is_success() && printed.contains("6 letters") && !printed.contains("sesame"),
        "{printed:?}"
    );
}

#[tokio::test]
async fn a_session_outlives_the_call_and_the_tokio_runtime_that_made_it() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let (runner, ws) = (place.workspaces.runner().interactive().unwrap(), job.ws.clone());
    let made = std::thread::spawn(move || {
        let short = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        short.block_on(async {
            let ctx = Context::new().with_timeout(Duration::from_secs(60));
            let program = sh("while read v; do echo got:$v; done");
            let spec = InteractiveProgramSpec { program, ..Default::default() };
            let session = runner.start_program(&ctx, &ws, spec).await.unwrap();
            session.write(b"one", true).await.unwrap();
            ctx.cancel();
            session
        })
    });
    let session = made.join().unwrap();
    until(&*session, "got:one").await;
    session.write(b"two", true).await.unwrap();
    until(&*session, "got:two").await;
    session.send_eof().await.unwrap();
    assert_eq!(end(&*session).await.stdout_text(), "got:one\ngot:two\n");
}

#[tokio::test]
async fn many_callers_talk_to_one_session_at_once() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let session: std::sync::Arc<dyn ProgramSession> = job.start(sh("cat")).await.into();
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..20 {
        let session = std::sync::Arc::clone(&session);
        callers.spawn(async move {
            for line in 0..50 {
                session.write(format!("{number}-{line}").as_bytes(), true).await.unwrap();
                session.log(None, Some(3));
                session.log_bytes(None, Some(10));
                session.state();
            }
        });
    }
    in_time(callers.join_all()).await;
    session.send_eof().await.unwrap();
    let result = end(&*session).await;
    let mut lines: Vec<String> = result.stdout_text().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 1000);
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), 1000, "each line is whole");
    let waits = (0..10).map(|_| session.wait());
    let all = in_time(futures_util::future::join_all(waits)).await;
    assert!(all.iter().all(|one| *one == result));
}

#[tokio::test]
async fn a_session_that_nobody_uses_is_ended_and_so_is_one_that_lasts_too_long() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let spec = InteractiveProgramSpec {
        program: sh("echo ready; sleep 600"),
        idle_timeout: Some(Duration::from_millis(300)),
        ..Default::default()
    };
    let session = job.start_with(spec).await;
    let result = end(&*session).await;
    assert!(result.timed_out && result.exit_code == -1, "{result:?}");
    let began = Instant::now();
    let program = RunProgramSpec { timeout: Some(Duration::from_millis(700)), ..sh("echo ready; sleep 600") };
    let session = job.start(program).await;
    while !session.state().is_exited() && began.elapsed() < belljar_testing::HANG {
        // Being used does not help.
        session.poll(None);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(session.result().unwrap().timed_out);
}

#[tokio::test]
async fn two_hundred_megabytes_are_printed_in_little_memory() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    const ALL: u64 = 200 << 20;
    let before = crate::large::peak_mib();
    let session = job.start(sh(&format!("head -c {ALL} /dev/zero | tr '\\0' 'x'"))).await;
    let result = end(&*session).await;
    let cut = result.truncated.stdout.clone().expect("it is cut");
    assert_eq!((result.exit_code, cut.total_bytes, result.stdout.len()), (0, ALL, 1 << 20));
    let kept = session.log_bytes(None, None);
    assert!(
        kept.next_offset == ALL && kept.data.len() <= 8 << 20,
        "{} {}",
        kept.next_offset,
        kept.data.len()
    );
    let grown = crate::large::peak_mib() - before;
    assert!(grown < 120, "{grown} MiB more");
}

#[tokio::test]
async fn binary_output_of_a_session_is_kept_byte_for_byte() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let script = "import os\nfor n in range(256): os.write(1, bytes([n]))";
    let session = job.start(RunProgramSpec::new("python3", ["-c", script])).await;
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(end(&*session).await.stdout, all);
    let mut read = Vec::new();
    loop {
        let piece = session.poll_bytes(Some(7));
        if piece.data.is_empty() {
            break;
        }
        read.extend(piece.data);
    }
    assert_eq!(read, all);
    assert!(!session.poll(None).output.is_empty());
}

#[tokio::test]
async fn a_session_that_is_dropped_takes_its_program_with_it() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let session = job.start(sh(&format!("{}; sleep 600", crate::programs::heartbeat()))).await;
    eventually("it beats", || job.dir().join("beat").exists()).await;
    drop(session);
    crate::programs::assert_stopped(&job).await;
}

#[tokio::test]
async fn what_a_session_is_started_with_is_typed_first() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let session = job.start(RunProgramSpec { stdin: b"first\n".to_vec(), ..sh("cat") }).await;
    session.write(b"second", true).await.unwrap();
    session.send_eof().await.unwrap();
    assert_eq!(end(&*session).await.stdout_text(), "first\nsecond\n");
    // One that cannot be started has ended, and says why.
    let session = job.start(RunProgramSpec::new("no-such-program", [""; 0])).await;
    let result = end(&*session).await;
    assert_eq!(result.exit_code, -1);
    assert!(result.stderr_text().contains("command not found"), "{result:?}");
}
