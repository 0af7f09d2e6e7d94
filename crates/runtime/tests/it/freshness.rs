//! Two runs in a row share nothing.

use belljar_testing::{config, data, run, runtime, sandbox_with};

/// What one run leaves, and how the next would notice.
const TRACES: [(&str, &str); 10] = [
    ("x = 41", "'x' in globals()"),
    ("import builtins; builtins.len = lambda _: 7", "len([]) == 7"),
    ("import math; math.sqrt = lambda _: 7", "math.sqrt(4) == 7"),
    (
        "import sys, types; sys.modules['ghost'] = types.ModuleType('ghost')",
        "'ghost' in __import__('sys').modules",
    ),
    ("open('/workspace/f', 'w').write('x')", "os.path.exists('/workspace/f')"),
    ("open('/tmp/f', 'w').write('x')", "os.path.exists('/tmp/f')"),
    ("open('/dev/shm/f', 'w').write('x')", "os.path.exists('/dev/shm/f')"),
    ("os.environ['TRACE'] = 'x'", "'TRACE' in os.environ"),
    ("os.chdir('/tmp')", "os.getcwd() == '/tmp'"),
    (
        "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)",
        "len([p for p in os.listdir('/proc') if p.isdigit()]) > 2",
    ),
];

#[tokio::test]
async fn nothing_of_one_run_is_seen_by_the_next() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for (leave, notice) in TRACES {
        assert_eq!(
            data(&run(&sandbox, &format!("{leave}\nemit_result({notice})")).await),
            "true",
            "{leave}: not noticeable"
        );
        assert_eq!(
            data(&run(&sandbox, &format!("emit_result({notice})")).await),
            "false",
            "{leave}: left a trace"
        );
    }
}

#[tokio::test]
async fn a_thread_left_behind_does_not_answer_for_the_next_run() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let leave = "import threading\ndef late():\n    time.sleep(0.2)\n    emit_result('stale')\n\
                 threading.Thread(target=late, daemon=True).start()\nemit_result('first')";
    assert_eq!(data(&run(&sandbox, leave).await), "\"first\"");
    assert_eq!(data(&run(&sandbox, "time.sleep(0.5)\nemit_result('second')").await), "\"second\"");
}

#[tokio::test]
async fn two_cells_do_not_draw_the_same_random_numbers() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let draw = "import random, secrets, tempfile\n\
                emit_result([random.random(), secrets.token_hex(8), str(uuid.uuid4()), os.urandom(8).hex()])";
    let (first, second) = (run(&sandbox, draw).await, run(&sandbox, draw).await);
    let values = |result| -> Vec<serde_json::Value> { serde_json::from_str(data(result)).unwrap() };
    for (a, b) in values(&first).iter().zip(&values(&second)) {
        assert_ne!(a, b);
    }
}

/// Ways to leave a trace in a network namespace, which may be used again by a later cell if nobody
/// has.
const CONVERSATIONS: [&str; 4] = [
    "pass",
    "s = socket.create_server(('127.0.0.1', 40404)); c = socket.create_connection(s.getsockname()); a, _ = s.accept(); c.close()",
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ntry: s.sendto(b'x', ('10.1.2.3', 9))\nexcept OSError: pass",
    "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.sendto(b'x', ('::1', 9))",
];

#[tokio::test]
async fn the_network_has_no_memory() {
    const LOOK: &str = "import socket\nseen = [open('/proc/net/' + f).read() for f in ('dev', 'snmp', 'snmp6', 'netstat', 'tcp', 'udp')]\n";
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut first = None;
    for talk in CONVERSATIONS.iter().chain(&CONVERSATIONS) {
        // What is left of the cell before must be gone for its network namespace to be free again.
        belljar_testing::eventually("the last cell is gone", || {
            belljar_testing::processes_below(std::process::id())
                .iter()
                .all(|pid| belljar_testing::name_of(*pid) != "belljar-init")
        })
        .await;
        let result = run(&sandbox, &format!("{LOOK}{talk}\nemit_result(seen)")).await;
        let seen: Vec<String> = serde_json::from_str(data(&result)).unwrap();
        assert_eq!(first.get_or_insert_with(|| seen.clone()), &seen, "{talk}");
    }
}
