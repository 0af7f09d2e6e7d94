//! A host at its own limits gets an answer: a result, or an error with its reason and exit code 3. Never a panic.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::belljar::{Outcome, command, finish};

/// Lowers a limit, becomes nobody special where that matters, and becomes the program.
const LIMITED: &str = "\
import os, resource, sys
name, value, uid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if uid: os.setgroups([]); os.setgid(uid); os.setuid(uid)
resource.setrlimit(getattr(resource, 'RLIMIT_' + name), (value, value))
os.execv(sys.argv[4], sys.argv[4:])
";

fn limited(name: &str, value: u64, uid: u32, cache: &std::path::Path) -> Outcome {
    let program = command(&["run", "-"]);
    let mut limited = Command::new("python3");
    limited.args(["-c", LIMITED, name, &value.to_string(), &uid.to_string()]);
    limited.arg(program.get_program()).args(program.get_args());
    limited.env("BELLJAR_CACHE", cache).env("RUST_BACKTRACE", "0");
    limited.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(limited, "emit_result(6 * 7)")
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

/// Tries limits upwards until the run works, which it must in the end.
fn works_in_the_end(name: &str, values: impl Iterator<Item = u64>, uid: u32) {
    let cache = tempfile::tempdir().unwrap();
    std::fs::set_permissions(cache.path(), PermissionsExt::from_mode(0o700)).unwrap();
    if uid != 0 {
        std::os::unix::fs::chown(cache.path(), Some(uid), Some(uid)).unwrap();
    }
    let mut values = values;
    let enough = values.find(|value| {
        let outcome = limited(name, *value, uid, cache.path());
        is_an_answer(&outcome, &format!("{name} {value}"))
    });
    assert!(enough.is_some(), "{name}: no limit was enough");
}

#[test]
fn few_descriptors_are_an_error_that_says_so() {
    // The loader needs a few to start at all.
    works_in_the_end("NOFILE", (12..=64).step_by(4).chain([256, 1024]), 0);
}

#[test]
fn few_processes_are_an_error_that_says_so() {
    if !rustix::process::geteuid().is_root() {
        println!(
            "few processes: skipped (only root can become a user whose processes nobody else's count with)"
        );
        return;
    }
    // Root is above this limit, so somebody else runs it.
    const NOBODY_ELSE: u32 = 61_234;
    works_in_the_end("NPROC", (2..=12).chain([64, 1024]), NOBODY_ELSE);
}
