//! Every way a run can end has its own verdict, and nothing of it goes on.

use std::time::{Duration, Instant};

use belljar_runtime::{ExecutionRequest, RuntimeError, Verdict};

use super::claim::{Outcome, claims};
use super::subject::Subject;
use crate::processes::Marked;
use crate::running::{data, run};
use crate::waiting::{eventually, in_time};

claims! {
    each_way_to_die_has_its_own_verdict,
    an_endless_run_ends_by_the_clock,
    too_much_output_ends_the_run,
    a_result_stands_whatever_comes_after_it,
    a_cancelled_run_says_so,
    a_dropped_run_is_killed,
    shutdown_kills_what_runs_and_every_clone_says_so,
}

async fn each_way_to_die_has_its_own_verdict(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    for (script, expected) in [
        ("os._exit(3)", Verdict::Exited { code: 3 }),
        ("os.kill(os.getpid(), 9)", Verdict::Signaled { signal: 9 }),
        ("os.kill(os.getpid(), 15)", Verdict::Signaled { signal: 15 }),
        ("os.abort()", Verdict::Signaled { signal: 6 }),
        ("def f(): f()\nf()", Verdict::Exception),
        ("import sys; sys.exit(3)", Verdict::Exited { code: 3 }),
        ("x = 1", Verdict::NoResult),
    ] {
        let result = run(&sandbox, script).await;
        assert_eq!(result.verdict, expected, "{script}: {result:#?}");
        assert!(result.error.is_some() && !result.success(), "{script} gives no reason");
        assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1", "after {script}");
    }
}

async fn an_endless_run_ends_by_the_clock(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    for script in [
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nwhile True: pass",
        "time.sleep(600)",
    ] {
        let limit = Duration::from_secs(1);
        let began = Instant::now();
        let running = sandbox.run(ExecutionRequest::new(script).with_timeout(limit));
        let result = in_time(running).await.expect("the run can be made");
        assert_eq!(result.verdict, Verdict::TimeoutWall, "{script}: {result:#?}");
        assert!(began.elapsed() >= limit, "{script} ended before its time");
    }
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
}

async fn too_much_output_ends_the_run(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    for script in [
        "while True: print('x' * 1000)",
        "import sys\nwhile True: sys.stderr.write('x' * 1000)",
        "while True: emit_log('x' * 1000)",
        "os.write(1, b'x' * 3_000_000)\nemit_result(1)",
    ] {
        let result = run(&sandbox, script).await;
        assert_eq!(result.verdict, Verdict::Output, "{script}: {:?}", result.error);
    }
    let refused = run(&sandbox, "emit_result('x' * 100_000_000)").await;
    assert_eq!(refused.verdict, Verdict::Exception, "{:?}", refused.error);
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
}

async fn a_result_stands_whatever_comes_after_it(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    for after in ["raise ValueError('late')", "os._exit(4)", "while True: pass", "emit_result(2)"] {
        assert_eq!(data(&run(&sandbox, &format!("emit_result(1)\n{after}")).await), "1", "{after}");
    }
}

async fn a_cancelled_run_says_so(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let mut execution = sandbox.stream("print('begun', flush=True)\nwhile True: pass");
    in_time(execution.next()).await.expect("it prints");
    execution.cancel();
    let result = in_time(execution.result()).await.expect("it has a result");
    assert_eq!((result.verdict, result.stdout.as_str()), (Verdict::Cancelled, "begun\n"));
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
}

async fn a_dropped_run_is_killed(subject: &Subject) -> Outcome {
    let sandbox = subject.sandbox().await;
    let marked = Marked::new();
    let script =
        format!("{}\nemit_intermediate('on', 1)\nwhile True: pass", marked.start("start_new_session=False"));
    let mut execution = sandbox.stream(script);
    in_time(execution.next()).await.expect("it begins");
    if !marked.is_seen() {
        return Outcome::Skipped("cells are not processes of this machine".to_owned());
    }
    drop(execution);
    eventually("what a dropped run has started is gone", || !marked.is_seen()).await;
    eventually("its cell is given back", || sandbox.stats().leased == 0).await;
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
    Outcome::Held
}

async fn shutdown_kills_what_runs_and_every_clone_says_so(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let mut execution = sandbox.stream("emit_intermediate('on', 1)\nwhile True: time.sleep(1)");
    in_time(execution.next()).await.expect("it begins");
    in_time(subject.runtime.shutdown()).await;
    assert!(matches!(in_time(execution.result()).await, Err(RuntimeError::ShutDown)));
    assert!(matches!(in_time(sandbox.clone().run("emit_result(1)")).await, Err(RuntimeError::ShutDown)));
    assert!(subject.runtime.templates().is_empty());
}
