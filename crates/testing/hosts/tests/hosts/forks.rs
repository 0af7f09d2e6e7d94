//! Hosts that fork without running another program. The child has a copy of every descriptor.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Instant;

use belljar_testing::{kill, name_of, processes_below};

use crate::foreign::{printed, python};
use crate::{HANG, ended, host, succeeds};

/// Whether a process runs, and is not merely waiting for its parent to take note of its end.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn all_cells_end_with_their_host_though_its_child_lives_on() {
    let mut host = python(&["forks"]);
    let mut host = host.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 can be started");
    let mut lines = BufReader::new(host.stdout.take().expect("it is piped")).lines();
    let child = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("child ")?.parse::<u32>().ok())
        .expect("it says who its child is");
    // Another cell is being made in place of the one that was used.
    let began = Instant::now();
    let (below, names) = loop {
        let mut below = processes_below(host.id());
        below.retain(|pid| *pid != child);
        let names: Vec<String> = below.iter().map(|pid| name_of(*pid)).collect();
        if names.iter().any(|name| name == "belljar-init") || began.elapsed() > HANG {
            break (below, names);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert!(names.iter().any(|name| name == "belljar-jail"), "{names:?}");
    assert!(names.iter().any(|name| name == "belljar-init"), "{names:?}");

    host.stdin.take().expect("it is piped").write_all(b"\n").expect("it waits for this");
    assert!(host.wait().expect("it is ours").success());
    let began = Instant::now();
    while let Some(left) = below.iter().find(|pid| is_alive(**pid)) {
        assert!(began.elapsed() < HANG, "{left} ({}) outlives its host", name_of(*left));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(is_alive(child), "else this test shows nothing");
    kill(child);
}

#[test]
fn shutdown_does_not_wait_for_a_child_of_the_host() {
    // The child is killed only after the library has been shut down.
    assert_eq!(printed(python(&["shuts-down"])), "ok\n42\n\nshut down\n");
}

#[test]
fn a_host_that_forks_all_the_time_runs_scripts() {
    assert_eq!(printed(python(&["forks-often"])), "ok\n42\n\n".repeat(15));
}

#[test]
fn a_forked_child_is_told_and_can_begin_anew_and_its_parent_goes_on() {
    succeeds(host("forked-child"));
}

#[test]
fn a_run_that_a_fork_cuts_in_two_is_answered_in_the_child_and_goes_on_in_the_parent() {
    succeeds(host("forked-in-a-run"));
}

#[test]
fn a_fork_in_a_sink_takes_nothing_from_the_parent() {
    succeeds(host("forked-in-a-sink"));
}

#[test]
fn a_fork_that_has_the_number_of_its_parent_is_told() {
    if !rustix::process::getuid().is_root() {
        return; // It takes root to make a pid namespace without a user namespace.
    }
    let mut command = std::process::Command::new("unshare");
    command.args(["--fork", "--pid", "--mount-proc", env!("CARGO_BIN_EXE_belljar-host")]);
    command.arg("same-number-in-a-fork").env("BELLJAR_CACHE", belljar_testing::cache());
    succeeds(command);
}

#[test]
fn whatever_a_fork_drops_it_waits_for_nobody() {
    succeeds(host("drops-in-forks"));
}

#[test]
fn a_fork_at_any_moment_hangs_nowhere() {
    succeeds(host("forks-at-any-moment"));
}

#[test]
fn a_host_that_becomes_a_daemon_is_told_and_can_begin_anew() {
    let output = ended(host("daemon"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("the daemon is well"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
