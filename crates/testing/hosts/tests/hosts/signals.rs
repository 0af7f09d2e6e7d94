//! Hosts that do unusual things with signals, limits and priorities.

use crate::foreign::{c, printed, python};

/// What a script finds of everything that a process inherits, and what signals do in it.
const INHERITED: &str = r#"
import os, resource, signal, subprocess, sys, time

def ignored():
    return sorted(int(n) for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN)

rang = []
signal.signal(signal.SIGALRM, lambda *_: rang.append(True))
signal.alarm(1)
began = time.monotonic()
while not rang and time.monotonic() - began < 30:
    time.sleep(0.05)
sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
sleeper.terminate()
umask = os.umask(0)
emit_result({
    "blocked": sorted(int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "ignored": ignored(),
    "rang": bool(rang),
    "terminated": sleeper.wait(timeout=30),
    "umask": umask,
    "nice": os.nice(0),
    "limits": [resource.getrlimit(limit) for limit in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_STACK)],
})
"#;

#[test]
fn a_script_finds_nothing_of_the_signals_and_limits_of_its_host() {
    let (ordinary, strict) =
        (printed(python(&["plain", INHERITED])), printed(python(&["strict", INHERITED])));
    assert!(ordinary.starts_with("ok\n"), "{ordinary}");
    assert!(ordinary.contains(r#""blocked":[]"#) && ordinary.contains(r#""terminated":-15"#), "{ordinary}");
    assert!(ordinary.contains(r#""rang":true"#), "{ordinary}");
    assert_eq!(strict, ordinary);
}

#[test]
fn a_time_out_has_its_traceback_in_a_host_that_blocks_every_signal() {
    let script = "def forever():\n    while True:\n        pass\nforever()\n";
    for kind in ["plain", "strict"] {
        let told = printed(python(&[kind, script, "1"]));
        assert!(told.starts_with("timeout_wall\n"), "{kind}: {told}");
        assert!(told.contains("in forever"), "{kind}: {told}");
    }
}

#[test]
fn a_host_that_is_interrupted_all_the_time_runs_scripts() {
    assert_eq!(c(&["interrupted"]), format!("main\n{}", "ok\n42\n".repeat(5)));
}
