//! Gateways begin and end.

use std::path::Path;
use std::process::Command;

use belljar_jupyter::{Gateway, JupyterError, Kernel, LocalGateway, Transport};
use belljar_testing::{eventually, in_time, processes_below};

use super::{gateway, limits, lives, python, run};

async fn pid_of(kernel: &Kernel) -> u32 {
    run(kernel, "import os; print(os.getpid())").await.stdout().trim().parse().unwrap()
}

#[tokio::test]
async fn a_gateway_ends_with_all_its_kernels_when_its_owner_goes() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    // Longer than the address of a socket may be, and with a module of a name that the gateway uses.
    let deep = directory.path().join("d".repeat(150));
    std::fs::create_dir(&deep).unwrap();
    std::fs::write(deep.join("tornado.py"), "raise SystemExit('shadowed')").unwrap();
    let local = gateway(&python, &deep).await;
    a_wrong_token_is_refused(&deep).await;
    let unknown = in_time(local.gateway().start_kernel("cobol")).await.unwrap_err();
    assert!(matches!(unknown, JupyterError::NoSuchKernel { .. }), "{unknown}");

    let kernel = in_time(local.gateway().start_kernel("python3")).await.unwrap();
    let dropped = in_time(local.gateway().start_kernel("python3")).await.unwrap();
    let (first, second) = (pid_of(&kernel).await, pid_of(&dropped).await);
    drop(dropped);
    eventually("a kernel that nobody holds has ended", || !lives(second)).await;

    let third = in_time(local.gateway().start_kernel("python3")).await.unwrap();
    let third_pid = pid_of(&third).await;
    // Shut down in the midst of a run.
    let running = third.execute("while True: pass", limits());
    let (ended, closed) = in_time(async { tokio::join!(running, third.shutdown()) }).await;
    assert!(matches!(ended, Err(JupyterError::Closed)), "{ended:?}");
    closed.unwrap();
    assert!(matches!(in_time(third.execute("1", limits())).await, Err(JupyterError::Closed)));
    in_time(third.shutdown()).await.unwrap();
    eventually("a kernel that was shut down has ended", || !lives(third_pid)).await;

    // A process that leaves its group and its parents behind.
    let code = "import subprocess\np = subprocess.Popen('setsid sleep 1000 >/dev/null 2>&1 & echo $!', shell=True, stdout=-1)\nprint(int(p.stdout.readline()))";
    let daemon: u32 = run(&kernel, code).await.stdout().trim().parse().unwrap();
    let mut all = vec![local.process(), first, daemon];
    assert!(all.iter().all(|pid| lives(*pid)), "{all:?}");
    all.extend(processes_below(local.process()));
    drop(local);
    eventually("nothing is left of a gateway", || !all.iter().any(|pid| lives(*pid))).await;
    let gone = in_time(kernel.execute("1", limits())).await.unwrap_err();
    assert!(matches!(gone, JupyterError::Unreachable { .. } | JupyterError::Lost { .. }), "{gone}");
}

async fn a_wrong_token_is_refused(directory: &Path) {
    let transport = Transport::unix(directory.join(".jupyter/gateway.sock"));
    for token in ["wrong", "", "two\nlines"] {
        let refused = in_time(Gateway::connect(transport.clone(), token)).await.unwrap_err();
        assert!(matches!(refused, JupyterError::Token), "{token:?}: {refused}");
    }
}

#[tokio::test]
async fn a_python_without_a_gateway_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let bare = directory.path().join("bare");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&bare).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("jupyter: skipped (python3 with venv is not there)");
        return;
    }
    let started = in_time(LocalGateway::start(&bare.join("bin/python"), directory.path())).await;
    let refused = started.unwrap_err().to_string();
    assert!(refused.contains("No module named kernel_gateway"), "{refused}");
    assert!(refused.contains("jupyter-kernel-gateway"), "{refused}");
}

#[tokio::test]
async fn a_program_that_is_no_python_is_told_of() {
    let directory = tempfile::tempdir().unwrap();
    let refused = in_time(LocalGateway::start(Path::new("/bin/false"), directory.path())).await.unwrap_err();
    assert!(matches!(refused, JupyterError::Gateway { .. }), "{refused}");
    let refused = in_time(LocalGateway::start(Path::new("/nowhere"), directory.path())).await.unwrap_err();
    assert!(matches!(refused, JupyterError::Start { .. }), "{refused}");
}
