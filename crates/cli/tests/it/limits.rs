//! A host at its own limits gets an answer: a result, or an error with its reason and exit code 3.
//! It never gets a panic.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::belljar::{Outcome, command, finish};

/// Lowers a limit, drops privileges if that matters, and executes the program.
const LIMITED: &str = "\
import os, resource, sys
name, value, uid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if uid: os.setgroups([]); os.setgid(uid); os.setuid(uid)
resource.setrlimit(getattr(resource, 'RLIMIT_' + name), (value, value))
os.execv(sys.argv[4], sys.argv[4:])
";

/// A user id without any other processes. Only root can become it.
const NOBODY_ELSE: u32 = 61_234;

fn limited_command(name: &str, value: u64, uid: u32, cache: &Path) -> Command {
    let program = command(&["run", "-"]);
    let mut limited = Command::new("python3");
    limited.args(["-c", LIMITED, name, &value.to_string(), &uid.to_string()]);
    limited.arg(program.get_program()).args(program.get_args());
    limited.env("BELLJAR_CACHE", cache).env("RUST_BACKTRACE", "0");
    limited.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    limited
}

fn limited(name: &str, value: u64, uid: u32, cache: &Path) -> Outcome {
    finish(limited_command(name, value, uid, cache), "emit_result(6 * 7)")
}

fn cache_for(uid: u32) -> tempfile::TempDir {
    let cache = tempfile::tempdir().unwrap();
    std::fs::set_permissions(cache.path(), PermissionsExt::from_mode(0o700)).unwrap();
    if uid != 0 {
        std::os::unix::fs::chown(cache.path(), Some(uid), Some(uid)).unwrap();
    }
    cache
}

fn can_be_others() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("limits of another user: skipped (only root can become one)");
    }
    is_root
}

fn is_an_answer(outcome: &Outcome, what: &str) -> bool {
    match outcome.code {
        Some(0) => {
            assert_eq!(outcome.stdout.trim(), "42", "{what}: {outcome:#?}");
            true
        }
        Some(3) => {
            assert!(outcome.stderr.contains("error: "), "{what}: no reason: {outcome:#?}");
            assert!(!outcome.stderr.contains("internal error"), "{what}: {outcome:#?}");
            false
        }
        _ => panic!("{what}: {outcome:#?}"),
    }
}

/// Tries higher and higher limits until the run works, which must happen in the end. Until then the
/// error must say what to raise. Returns the limit that was enough.
fn works_in_the_end(name: &str, remedy: &str, values: impl Iterator<Item = u64>, uid: u32) -> u64 {
    let cache = cache_for(uid);
    let mut values = values;
    let enough = values.find(|value| {
        let outcome = limited(name, *value, uid, cache.path());
        let works = is_an_answer(&outcome, &format!("{name} {value}"));
        assert!(works || outcome.stderr.contains(remedy), "{name} {value}: no remedy: {outcome:#?}");
        works
    });
    enough.unwrap_or_else(|| panic!("{name}: no limit was enough"))
}

#[test]
fn few_descriptors_are_an_error_that_says_so() {
    // The loader needs a descriptor to start at all.
    let enough = works_in_the_end("NOFILE", "ulimit -n", (4..=64).chain([256, 1024]), 0);
    assert!(enough <= 64, "{enough} descriptors are needed for one run");
}

#[test]
fn few_descriptors_of_an_ordinary_user_are_an_error_that_says_so() {
    if can_be_others() {
        let enough =
            works_in_the_end("NOFILE", "ulimit -n", (4..=64).step_by(3).chain([128, 1024]), NOBODY_ELSE);
        assert!(enough <= 64, "{enough} descriptors are needed for one run");
    }
}

/// There used to be a gap: the channel's number in a cell was higher than the limit.
#[test]
fn a_limit_on_descriptors_that_is_enough_stays_enough() {
    for uid in [0, NOBODY_ELSE] {
        if uid != 0 && !can_be_others() {
            return;
        }
        let cache = cache_for(uid);
        for value in [64, 65, 100, 512, 576, 700, 899, 900, 901, 902, 903, 904, 905, 1024] {
            let outcome = limited("NOFILE", value, uid, cache.path());
            assert!(is_an_answer(&outcome, &format!("NOFILE {value}")), "{value}: {outcome:#?}");
        }
    }
}

#[test]
fn few_processes_are_an_error_that_says_so() {
    // This limit does not apply to root, so another user runs it.
    if can_be_others() {
        works_in_the_end("NPROC", "", (2..=12).chain([64, 1024]), NOBODY_ELSE);
    }
}

#[test]
fn files_that_may_not_be_large_are_an_error_that_says_so() {
    works_in_the_end("FSIZE", "ulimit -f", [0, 1, 1024, 16 << 10, 1 << 20, 64 << 20].into_iter(), 0);
}

/// The command's own handling of that signal does not reach the script.
#[test]
fn a_script_may_still_die_of_a_file_that_is_too_large() {
    let script = "import signal\nemit_result(signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN)";
    let plain = finish(command(&["run", "-"]), script);
    // Python itself ignores the signal. A program that it starts has the default again.
    let started = "import subprocess\nstatus = dict(l.split(':', 1) for l in subprocess.run(['/usr/bin/cat', '/proc/self/status'], capture_output=True, text=True).stdout.splitlines())\nemit_result(int(status['SigIgn'], 16) >> 24 & 1)";
    assert_eq!(plain.stdout.trim(), "true", "{plain:#?}");
    let outcome = finish(command(&["run", "-"]), started);
    assert_eq!(outcome.stdout.trim(), "0", "{outcome:#?}");
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    for stdout in [
        std::fs::File::open("/dev/null").unwrap(),
        std::fs::File::open(std::env::current_exe().unwrap()).unwrap(),
    ] {
        let mut command = command(&["run", "-"]);
        command.stdout(Stdio::from(stdout));
        let outcome = finish(command, "emit_result(6 * 7)");
        assert_eq!(outcome.code, Some(3), "{outcome:#?}");
        assert!(outcome.stderr.contains("standard output is not open for writing"), "{outcome:#?}");
    }
}

/// Sends descriptors to itself and receives none, until the kernel takes no more.
const FULL: &str = "\
import array, socket, sys, time
pairs, sent = [], 0
files = array.array('i', [0] * 253)
try:
    while True:
        pairs.append(socket.socketpair())
        for _ in range(8):
            for count in (253, 64, 16, 4, 1):
                try:
                    while True:
                        pairs[-1][0].setblocking(False)
                        pairs[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files[:count])])
                        sent += count
                except BlockingIOError: break
                except OSError as error:
                    if count == 1: raise
except OSError as error:
    print('full', sent, error, flush=True)
time.sleep(600)
";

#[test]
fn descriptors_on_their_way_in_one_cell_leave_enough_to_make_another() {
    if !can_be_others() {
        return;
    }
    // Another user again: descriptors in flight are counted by user.
    const USER: u32 = NOBODY_ELSE + 1;
    const DESCRIPTORS: u64 = 1024;
    let cache = cache_for(USER);
    let mut greedy = limited_command("NOFILE", DESCRIPTORS, USER, cache.path()).spawn().unwrap();
    greedy.stdin.take().unwrap().write_all(FULL.as_bytes()).unwrap();
    let mut said = String::new();
    BufReader::new(greedy.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let beside = limited("NOFILE", DESCRIPTORS, USER, cache.path());
    greedy.kill().unwrap();
    greedy.wait().unwrap();
    assert!(said.starts_with("full") && said.contains("Too many references"), "it was not full: {said}");
    assert!(is_an_answer(&beside, "beside a cell that holds all it can"), "{said}: {beside:#?}");
}
