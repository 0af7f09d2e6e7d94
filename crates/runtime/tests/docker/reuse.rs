//! One container, many uses: nothing of one is seen by the next, and whatever is in doubt is not
//! used again.

use std::collections::BTreeSet;

use belljar_engine::docker::Docker;
use belljar_runtime::Verdict;
use serde_json::json;

use crate::world::{WHICH, answer, config, eventually, run, runtime, runtime_with, sandbox};

#[tokio::test]
async fn a_container_is_used_as_often_as_it_may_be_and_then_replaced() {
    let Some(runtime) = runtime_with(Docker::new().max_uses(3)) else {
        return;
    };
    let sandbox = sandbox(&runtime, config("uses")).await;
    let mut seen = Vec::new();
    for _ in 0..6 {
        eventually("a container is idle", || sandbox.stats().idle > 0).await;
        seen.push(answer(&sandbox, &format!("emit_result({WHICH})")).await);
    }
    let distinct: BTreeSet<String> = seen.iter().map(ToString::to_string).collect();
    assert_eq!(distinct.len(), 2, "{seen:?}");
    assert_eq!((&seen[0], &seen[3]), (&seen[2], &seen[5]), "{seen:?}");
}

/// Each leaves something behind in its own way; the second looks for it.
const TRACES: [(&str, &str, &str); 10] = [
    (
        "files",
        "for p in ('/workspace', '/tmp', '/dev/shm'): open(p + '/left', 'w').write('x')",
        "[os.listdir(p) for p in ('/workspace', '/tmp', '/dev/shm')] == [[], [], []]",
    ),
    (
        "files that do not want to go",
        "os.makedirs('/tmp/a/b/c'); open('/tmp/a/b/c/f', 'w').close(); os.symlink('/etc', '/tmp/a/link'); os.mkfifo('/workspace/fifo')\n\
         os.chmod('/tmp/a/b/c', 0); os.chmod('/tmp/a/b', 0); os.chmod('/tmp/a', 0)\n\
         os.chdir('/workspace')\nfor _ in range(300): os.mkdir('d' * 100); os.chdir('d' * 100)",
        "[os.listdir(p) for p in ('/workspace', '/tmp', '/dev/shm')] == [[], [], []] and os.path.exists('/etc/passwd')",
    ),
    (
        "variables",
        "import json; json.left = left = 1; os.environ['LEFT'] = '1'",
        "'left' not in globals() and not hasattr(__import__('json'), 'left') and 'LEFT' not in os.environ",
    ),
    (
        "processes",
        "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n    os._exit(0)",
        "sorted(int(p) for p in os.listdir('/proc') if p.isdigit()) == [1, os.getpid()]",
    ),
    (
        "shared memory",
        "import ctypes\nlibc = ctypes.CDLL(None)\nassert libc.shmget(77, 4096, 0o1666) >= 0 and libc.semget(78, 1, 0o1666) >= 0 and libc.msgget(79, 0o1666) >= 0",
        "[len(open('/proc/sysvipc/' + k).readlines()) for k in ('shm', 'sem', 'msg')] == [1, 1, 1]",
    ),
    (
        "limits",
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50)); os.nice(19)",
        "__import__('resource').getrlimit(7) == (1024, 1024) and os.nice(0) == 0",
    ),
    (
        "a changed root of the scratch places",
        "try: os.chmod('/workspace', 0)\nexcept OSError: pass",
        "oct(os.stat('/workspace').st_mode) == '0o41777'",
    ),
    (
        "signals",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])",
        "__import__('signal').getsignal(15) == 0 and not __import__('signal').pthread_sigmask(0, [])",
    ),
    (
        "a working directory that is gone",
        "os.mkdir('/workspace/x'); os.chdir('/workspace/x'); os.rmdir('/workspace/x')",
        "os.getcwd() == '/workspace'",
    ),
    ("nothing at all", "pass", "True"),
];

#[tokio::test]
async fn nothing_of_one_use_is_seen_by_the_next() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox(&runtime, config("traces")).await;
    let first = answer(&sandbox, &format!("emit_result({WHICH})")).await;
    for (what, leave, look) in TRACES {
        eventually("a container is idle", || sandbox.stats().idle > 0).await;
        answer(&sandbox, &format!("{leave}\nemit_result(1)")).await;
        eventually("a container is idle", || sandbox.stats().idle > 0).await;
        let found = answer(&sandbox, &format!("emit_result([{WHICH}, {look}])")).await;
        assert_eq!(
            found,
            json!([first, true]),
            "{what}: the same container, and nothing of it: {:?}",
            sandbox.stats()
        );
    }
}

#[tokio::test]
async fn what_one_use_was_told_is_not_in_the_memory_of_the_next() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox(&runtime, config("memory")).await;
    let first = answer(
        &sandbox,
        &format!("said = 'orange-marmalade-2081'\nprint(said)\nemit_log(said)\nemit_result({WHICH})"),
    )
    .await;
    eventually("a container is idle", || sandbox.stats().idle > 0).await;
    let script = format!(
        "import re
def found(needle):
    count = 0
    with open('/proc/self/mem', 'rb', 0) as memory:
        for line in open('/proc/self/maps'):
            m = re.match(r'([0-9a-f]+)-([0-9a-f]+) r', line)
            if not m or '[v' in line: continue
            begin, end = int(m[1], 16), int(m[2], 16)
            try:
                memory.seek(begin); count += memory.read(end - begin).count(needle)
            except (OSError, OverflowError): pass
    return count
parts = ['orange', 'marmalade', '2081']
own = 'kept-in-' + 'this-process'
emit_result([{WHICH}, found('-'.join(parts).encode()[1:]) <= 1, found(own.encode()) > 0])"
    );
    // The needle itself is in memory once, as what is looked for.
    assert_eq!(answer(&sandbox, &script).await, json!([first, true, true]));
}

#[tokio::test]
async fn a_container_in_doubt_is_not_used_again() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox(&runtime, config("doubt")).await;
    let which = format!("emit_result({WHICH})");
    for (what, script, verdict) in [
        (
            "it used the network",
            "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); emit_result(1)",
            Verdict::Ok,
        ),
        ("it died", "os._exit(3)", Verdict::Exited { code: 3 }),
        ("its harness is not to be trusted", "os.close(900)", Verdict::Exited { code: 0 }),
    ] {
        eventually("a container is idle", || sandbox.stats().idle > 0).await;
        let before = answer(&sandbox, &which).await;
        eventually("a container is idle", || sandbox.stats().idle > 0).await;
        let result = run(&sandbox, script).await;
        let as_expected = result.verdict == verdict || !matches!(verdict, Verdict::Ok) && !result.success();
        assert!(as_expected, "{what}: {result:#?}");
        eventually("a container is idle", || sandbox.stats().idle > 0).await;
        assert_ne!(answer(&sandbox, &which).await, before, "{what}");
    }
}

#[tokio::test]
async fn sessions_keep_their_container_and_runs_beside_them_have_others() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox(&runtime, config("sessions")).await;
    let mut session = sandbox.session().await.unwrap();
    let held = session.step(format!("x = 20\nemit_result({WHICH})")).await.unwrap();
    let beside = run(&sandbox, &format!("emit_result([{WHICH}, 'x' in globals()])")).await;
    assert!(!beside.final_data.unwrap().as_str().contains(held.final_data.unwrap().as_str()));
    let again = session.step("emit_result(x + 1)").await.unwrap();
    assert_eq!(again.final_data.unwrap().as_str(), "21");
}
