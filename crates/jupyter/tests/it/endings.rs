//! How runs end that do not end by themselves.

use std::time::Duration;

use belljar_jupyter::{JupyterError, Kernel, KernelStatus, LocalGateway};
use belljar_testing::{HANG, eventually, in_time, kill, processes_below};
use tokio::sync::Notify;

use super::{gateway, limits, lives, python, run, short, value};

const LOOPS: &str = "print('begun', flush=True)\nimport time\nwhile True: time.sleep(0.001)";

#[tokio::test]
async fn a_run_that_does_not_end_is_ended_and_it_is_said_how() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let local = gateway(&python, directory.path()).await;
    let kernel = in_time(local.gateway().start_kernel("python3")).await.unwrap();
    time_that_is_up_interrupts_and_what_is_defined_stays(&kernel).await;
    an_interrupt_ends_the_run_under_way(&kernel).await;
    a_call_that_is_given_up_does_not_go_on(&kernel).await;
    runs_at_once_wait_for_their_turn(&kernel).await;
    a_run_that_ignores_interrupts_costs_the_process(&kernel).await;
    a_kernel_that_dies_is_told_and_replaced(&kernel).await;
    a_kernel_that_dies_between_runs_is_told_too(&kernel).await;
    a_kernel_that_the_gateway_gave_up_is_replaced(&kernel).await;
    a_gateway_that_is_killed_leaves_nothing(&local, &kernel).await;
}

async fn time_that_is_up_interrupts_and_what_is_defined_stays(kernel: &Kernel) {
    run(kernel, "kept = 1").await;
    let looped = in_time(kernel.execute("kept = 2\nwhile True: pass", short(HANG))).await.unwrap();
    assert_eq!((looped.status, looped.kernel_was_restarted), (KernelStatus::TimedOut, false));
    assert_eq!(looped.error().unwrap().name, "KeyboardInterrupt");
    assert_eq!(value(kernel, "kept").await, "2");
}

async fn an_interrupt_ends_the_run_under_way(kernel: &Kernel) {
    assert!(!in_time(kernel.interrupt()).await.unwrap(), "nothing runs");
    let begun = Notify::new();
    let running = kernel.execute_with(LOOPS, limits(), |_| begun.notify_one());
    let interrupting = async {
        begun.notified().await;
        kernel.interrupt().await.unwrap()
    };
    let (looped, was_running) = in_time(async { tokio::join!(running, interrupting) }).await;
    assert!(was_running);
    assert_eq!(looped.unwrap().status, KernelStatus::Interrupted);
    // One that comes before the code runs is not lost.
    let running = kernel.execute("while True: pass", limits());
    let (looped, was_running) = in_time(async { tokio::join!(running, kernel.interrupt()) }).await;
    assert_eq!((looped.unwrap().status, was_running.unwrap()), (KernelStatus::Interrupted, true));
}

async fn a_call_that_is_given_up_does_not_go_on(kernel: &Kernel) {
    let begun = Notify::new();
    let running = kernel.execute_with(LOOPS, limits(), |_| begun.notify_one());
    in_time(async {
        tokio::select! {
            _ = running => panic!("it never ends"),
            () = begun.notified() => {}
        }
    })
    .await;
    assert_eq!(value(kernel, "kept").await, "2");
}

async fn runs_at_once_wait_for_their_turn(kernel: &Kernel) {
    let code =
        |n: u32| format!("import time\nfor _ in range(20): print({n}, flush=True); time.sleep(0.001)\n{n}");
    let codes: Vec<String> = (0..6).map(code).collect();
    let runs = futures_util::future::join_all(codes.iter().map(|code| kernel.execute(code, limits())));
    let runs: Vec<_> = in_time(runs).await.into_iter().map(Result::unwrap).collect();
    for (n, run) in runs.iter().enumerate() {
        assert_eq!(run.stdout(), format!("{n}\n").repeat(20));
        assert_eq!(run.result().unwrap().text(), Some(n.to_string().as_str()));
    }
    let counts: Vec<_> = runs.iter().map(|run| run.execution_count.unwrap()).collect();
    assert!(counts.is_sorted(), "{counts:?}");
}

async fn a_run_that_ignores_interrupts_costs_the_process(kernel: &Kernel) {
    // Some loops are interrupted in spite of their `try`, between two rounds.
    let code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    let grace = Duration::from_millis(500);
    let stubborn = in_time(kernel.execute(code, short(grace))).await.unwrap();
    assert_eq!(
        (stubborn.status, stubborn.kernel_was_restarted),
        (KernelStatus::TimedOut, true),
        "{stubborn:?}"
    );
    let next = run(kernel, "'kept' in globals()").await;
    assert_eq!((next.result().unwrap().text(), next.kernel_was_restarted), (Some("False"), false));
}

async fn a_kernel_that_dies_is_told_and_replaced(kernel: &Kernel) {
    let died = run(
        kernel,
        "kept = 3\nprint('last words', flush=True)\nimport os, time; time.sleep(0.5); os._exit(1)",
    )
    .await;
    assert_eq!((died.status, died.kernel_was_restarted), (KernelStatus::KernelDied, true));
    assert_eq!(died.stdout(), "last words\n");
    let next = run(kernel, "'kept' in globals()").await;
    assert_eq!((next.status, next.kernel_was_restarted), (KernelStatus::Ok, false));
    assert_eq!(next.result().unwrap().text(), Some("False"));
}

async fn a_kernel_that_dies_between_runs_is_told_too(kernel: &Kernel) {
    run(kernel, "import os, threading; threading.Timer(0.1, lambda: os._exit(1)).start()").await;
    let told = async { while !run(kernel, "1").await.kernel_was_restarted {} };
    in_time(told).await;
    assert!(!run(kernel, "1").await.kernel_was_restarted);
}

/// A gateway restarts a kernel that dies within seconds five times, and then no more.
async fn a_kernel_that_the_gateway_gave_up_is_replaced(kernel: &Kernel) {
    for _ in 0..8 {
        let died = run(kernel, "import os; os._exit(1)").await;
        assert_eq!((died.status, died.kernel_was_restarted), (KernelStatus::KernelDied, true));
    }
    assert_eq!(value(kernel, "40 + 2").await, "42");
}

/// Neither the relay nor the gateway can tidy up.
async fn a_gateway_that_is_killed_leaves_nothing(local: &LocalGateway, kernel: &Kernel) {
    let running = kernel.execute("while True: pass", limits());
    let killing = async {
        let all = processes_below(local.process());
        assert!(all.len() >= 2, "a gateway and a kernel: {all:?}");
        kill(local.process());
        eventually("nothing is left of a gateway that was killed", || !all.iter().any(|pid| lives(*pid)))
            .await;
    };
    let (lost, ()) = in_time(async { tokio::join!(running, killing) }).await;
    assert!(matches!(lost, Err(JupyterError::Lost { .. })), "{lost:?}");
}
