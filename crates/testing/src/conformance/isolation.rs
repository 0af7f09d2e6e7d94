//! Cells see nothing of each other, of what ran before and of the host, and leave nothing.

use std::net::TcpListener;
use std::time::Duration;

use belljar_runtime::{ExecutionRequest, Runtime, Sandbox, SandboxConfig, Verdict};

use super::claim::{Outcome, claims};
use super::subject::{Subject, step};
use crate::processes::Marked;
use crate::running::{config, data, run, session};
use crate::waiting::{eventually, in_time};

claims! {
    a_fresh_cell_sees_nothing_of_the_one_before,
    a_cell_that_is_used_again_remembers_nothing,
    two_cells_at_the_same_time_do_not_see_each_other,
    the_end_of_a_run_is_the_end_of_all_its_processes,
    files_of_the_host_are_not_there,
    a_cell_without_a_policy_reaches_nobody,
}

/// What one run leaves, and how the next would notice.
const TRACES: [(&str, &str); 6] = [
    (
        "open(os.path.join(os.getcwd(), 'f'), 'w').write('x')",
        "os.path.exists(os.path.join(os.getcwd(), 'f'))",
    ),
    ("open('/tmp/f', 'w').write('x')", "os.path.exists('/tmp/f')"),
    ("open('/dev/shm/f', 'w').write('x')", "os.path.exists('/dev/shm/f')"),
    ("os.environ['TRACE'] = 'x'", "'TRACE' in os.environ"),
    ("os.chdir('/tmp')", "os.getcwd() == '/tmp'"),
    (
        // The kernel gives it its name a moment after `Popen` returns.
        "import subprocess\nleft = subprocess.Popen(['sleep', '600'], start_new_session=True)\n\
         while open(f'/proc/{left.pid}/comm').read() != 'sleep\\n': time.sleep(0.01)",
        "any(open(f'/proc/{p}/comm').read() == 'sleep\\n' for p in os.listdir('/proc') if p.isdigit())",
    ),
];

async fn leave_and_notice(sandbox: &Sandbox) {
    for (leave, notice) in TRACES {
        let left = run(sandbox, &format!("{leave}\nemit_result({notice})")).await;
        assert_eq!(data(&left), "true", "{leave}: not noticeable");
        let next = run(sandbox, &format!("emit_result({notice})")).await;
        assert_eq!(data(&next), "false", "{leave}: left a trace");
    }
}

async fn a_fresh_cell_sees_nothing_of_the_one_before(subject: &Subject) {
    leave_and_notice(&subject.sandbox().await).await;
}

/// There is one cell, so an engine whose cells come back must use it again for each run.
async fn a_cell_that_is_used_again_remembers_nothing(subject: &Subject) {
    let runtime = subject.runtime_with(Runtime::builder().max_overflow(0)).await;
    let config = SandboxConfig { pool_size: 1, ..config() };
    let sandbox = in_time(runtime.sandbox(config)).await.expect("the sandbox can be made ready");
    leave_and_notice(&sandbox).await;
    // Runs that ended badly leave nothing either.
    for bad in
        ["open('/tmp/f', 'w').write('x')\nos._exit(3)", "open('/tmp/f', 'w').write('x')\nwhile True: pass"]
    {
        let request = ExecutionRequest::new(bad).with_timeout(Duration::from_secs(1));
        in_time(sandbox.run(request)).await.expect("the run can be made");
        assert_eq!(data(&run(&sandbox, "emit_result(os.path.exists('/tmp/f'))").await), "false", "{bad}");
    }
    runtime.shutdown().await;
}

async fn two_cells_at_the_same_time_do_not_see_each_other(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let (mut one, mut other) = (session(&sandbox).await, session(&sandbox).await);
    for (leave, notice) in TRACES {
        let left = step(&mut one, format!("{leave}\nemit_result({notice})")).await;
        assert_eq!(data(&left), "true", "{leave}: not noticeable");
        let seen = step(&mut other, format!("emit_result({notice})")).await;
        assert_eq!(data(&seen), "false", "{leave}: seen by a neighbour");
    }
}

async fn the_end_of_a_run_is_the_end_of_all_its_processes(subject: &Subject) -> Outcome {
    let sandbox = subject.sandbox().await;
    // In a session of its own: it is in no process group of the script's.
    let detached = |marked: &Marked| marked.start("start_new_session=True");

    let cancelled = Marked::new();
    let endless = "emit_intermediate('on', 1)\nwhile True: time.sleep(1)";
    let mut execution = sandbox.stream(format!("{}\n{endless}", detached(&cancelled)));
    in_time(execution.next()).await.expect("it begins");
    if !cancelled.is_seen() {
        return Outcome::Skipped("cells are not processes of this machine".to_owned());
    }
    execution.cancel();
    assert_eq!(in_time(execution.result()).await.expect("it has a result").verdict, Verdict::Cancelled);
    eventually("what a cancelled run has started is gone", || !cancelled.is_seen()).await;

    for (last, seconds, expected) in [
        ("time.sleep(600)", 3, Verdict::TimeoutWall),
        ("emit_result(1)", 60, Verdict::Ok),
        ("os._exit(3)", 60, Verdict::Exited { code: 3 }),
    ] {
        let marked = Marked::new();
        let request = ExecutionRequest::new(format!("{}\n{last}", detached(&marked)));
        let running = sandbox.run(request.with_timeout(Duration::from_secs(seconds)));
        let result = in_time(running).await.expect("the run can be made");
        assert_eq!(result.verdict, expected, "{last}: {result:#?}");
        eventually("what a run has started is gone", || !marked.is_seen()).await;
    }
    Outcome::Held
}

async fn files_of_the_host_are_not_there(subject: &Subject) {
    let path = std::env::temp_dir().join(format!("belljar-conformance-{}", std::process::id()));
    std::fs::write(&path, "the host's").expect("a temporary file can be written");
    let result = run(&subject.sandbox().await, &format!("emit_result(os.path.exists({path:?}))")).await;
    std::fs::remove_file(&path).expect("it can be removed");
    assert_eq!(data(&result), "false");
}

async fn a_cell_without_a_policy_reaches_nobody(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let host = TcpListener::bind("0.0.0.0:0").expect("a port is free");
    host.set_nonblocking(true).expect("a socket can be set up");
    let port = host.local_addr().expect("it is bound").port();
    let script = format!(
        "import socket\nout = []\nfor at in [('127.0.0.1', {port}), ('127.0.0.77', {port}), ('1.1.1.1', 53)]:\n\
         \x20   try: socket.create_connection(at, timeout=5); out.append(at)\n    except OSError: pass\nemit_result(out)"
    );
    assert_eq!(data(&run(&sandbox, &script).await), "[]");
    let heard = host.accept().expect_err("a guest got through to the host");
    assert_eq!(heard.kind(), std::io::ErrorKind::WouldBlock);
}
