//! `belljar ws run`: programs in a workspace.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::docker::has_daemon;
use crate::workspaces::Home;

fn with_workspace() -> Home {
    let home = Home::new();
    home.ok(&["ws", "new", "w"]);
    home
}

#[test]
fn the_exit_code_is_the_programs_own() {
    let home = with_workspace();
    for (script, code) in
        [("true", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill $$", 143)]
    {
        let outcome = home.belljar(&["ws", "run", "w", "--", "sh", "-c", script]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(code), ""), "{script}: {outcome:#?}");
    }
    let outcome = home.belljar(&["ws", "run", "w", "--", "no-such-program"]);
    assert_eq!(outcome.code, Some(127), "{outcome:#?}");
    assert!(outcome.stderr.contains("no-such-program: command not found"), "{outcome:#?}");
}

#[test]
fn limits_have_codes_and_advice_of_their_own() {
    let home = with_workspace();
    let outcome = home.belljar(&["ws", "run", "w", "--timeout", "1", "--", "sleep", "60"]);
    assert_eq!(outcome.code, Some(124), "{outcome:#?}");
    assert!(outcome.stderr.contains("--timeout SECS"), "{outcome:#?}");
    let greedy = "b = bytearray(1 << 30)\nfor i in range(0, len(b), 4096): b[i] = 1";
    let outcome = home.belljar(&["ws", "run", "w", "--memory", "64m", "--", "python3", "-c", greedy]);
    // Where memory is limited per process only, the interpreter itself says so.
    assert!(outcome.code == Some(137) || outcome.stderr.contains("MemoryError"), "{outcome:#?}");
    home.refused(&["ws", "run", "w", "--timeout", "-1", "--", "true"], "--timeout");
    home.refused(&["ws", "run", "w", "--env", "A", "--", "true"], "must be NAME=VALUE");
    home.refused(&["ws", "run", "w", "--tool", "x.py", "--", "true"], "belljar run --tool");
    home.refused(&["ws", "run", "w", "--cwd", "../..", "--", "true"], "escapes workspace");
    home.refused(&["ws", "run", "w"], "required");
}

#[test]
fn a_program_has_its_place_its_variables_and_both_streams() {
    let home = with_workspace();
    let script = "echo $GREETING from ${PWD#$WORKSPACE_DIR}; echo no >&2; test -d \"$OUTPUT_DIR\"";
    let outcome = home.belljar(&[
        "ws",
        "run",
        "w",
        "--cwd",
        "work/deep",
        "--env",
        "GREETING=hi",
        "--",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "hi from /work/deep\n"), "{outcome:#?}");
    assert!(outcome.stderr.ends_with("no\n"), "{outcome:#?}");
}

#[test]
fn stdin_is_passed_on_unless_it_is_declined() {
    let home = with_workspace();
    let outcome = home.with_stdin(&["ws", "run", "w", "--", "wc", "-c"], vec![b'x'; 300_000]);
    assert_eq!(outcome.stdout.trim(), "300000", "{outcome:#?}");
    let outcome = home.with_stdin(&["ws", "run", "w", "--no-stdin", "--", "wc", "-c"], "abc");
    assert_eq!(outcome.stdout.trim(), "0", "{outcome:#?}");
}

#[test]
fn json_has_the_whole_result_and_the_exit_code_stays() {
    let home = with_workspace();
    let script = "cat; printf '\\377' >&2; exit 5";
    let outcome = home.with_stdin(&["ws", "run", "w", "--json", "--", "sh", "-c", script], "in");
    assert_eq!(outcome.code, Some(5), "{outcome:#?}");
    let result = outcome.json();
    assert_eq!((&result["stdout"], &result["exit_code"]), (&json!("in"), &json!(5)), "{result:#}");
    assert_eq!(
        (&result["stderr_base64"], &result["timed_out"]),
        (&json!("/w=="), &json!(false)),
        "{result:#}"
    );
    let outcome = home.belljar(&["ws", "run", "w", "--json", "--timeout", "1", "--", "sleep", "60"]);
    assert_eq!((outcome.code, &outcome.json()["timed_out"]), (Some(124), &json!(true)), "{outcome:#?}");
}

/// Starts a program, and waits for its first line.
fn begun(home: &Home, script: &str) -> (Child, BufReader<impl Read>) {
    let mut child = home.command(&["ws", "run", "w", "--", "sh", "-c", script]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n", "{:?}", child.wait_with_output());
    (child, stdout)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
}

#[test]
fn what_it_prints_comes_as_it_is_printed() {
    let home = with_workspace();
    // It goes on only after its first line was seen.
    let (mut child, mut stdout) = begun(&home, "echo begun; read line; echo $line");
    child.stdin.take().unwrap().write_all(b"more\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("more\n", Some(0)));
}

#[test]
fn ctrl_c_interrupts_the_program_which_may_end_as_it_likes() {
    let home = with_workspace();
    let (child, mut stdout) =
        begun(&home, "trap 'echo caught; exit 7' INT; echo begun; while :; do sleep 0.05; done");
    signal(&child, Signal::INT);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((rest.as_str(), output.status.code()), ("caught\n", Some(7)), "{output:?}");
    let (child, _stdout) = begun(&home, "echo begun; exec sleep 600");
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
}

#[test]
fn a_second_ctrl_c_kills_a_program_that_does_not_listen() {
    let home = with_workspace();
    let (child, mut stdout) =
        begun(&home, "trap 'echo caught' INT; echo begun; while :; do sleep 0.05; done");
    signal(&child, Signal::INT);
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "caught\n");
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).ends_with("cancelled\n"), "{output:?}");
}

#[test]
fn a_command_that_is_asked_to_end_asks_its_program() {
    let home = with_workspace();
    let (child, mut stdout) =
        begun(&home, "trap 'echo bye; exit 0' TERM; echo begun; while :; do sleep 0.05; done");
    signal(&child, Signal::TERM);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait_with_output().unwrap().status.code()), ("bye\n", Some(0)));
}

#[test]
fn a_reader_who_leaves_ends_the_program_quietly() {
    let home = with_workspace();
    let (child, stdout) = begun(&home, "echo begun; exec yes");
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141), "{output:?}");
}

#[test]
fn a_reader_who_does_not_read_does_not_fill_the_memory() {
    let home = with_workspace();
    let (child, mut stdout) = begun(&home, "echo begun; head -c 200000000 /dev/zero; echo end >&2");
    // The program waits with a full pipe; it cannot have ended.
    let status = || std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let resident = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().to_owned();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let before = resident(status());
    let mut read = 0;
    let mut piece = vec![0; 1 << 20];
    loop {
        match stdout.read(&mut piece).unwrap() {
            0 => break,
            more => read += more,
        }
        if read > 50_000_000 && read < 60_000_000 {
            let grown = resident(status()).saturating_sub(before);
            assert!(grown < 60_000, "{grown} KiB are held for a reader who is slow");
        }
    }
    assert_eq!((read, child.wait_with_output().unwrap().status.code()), (200_000_000, Some(0)));
}

#[test]
fn without_isolation_that_is_said() {
    let home = Home::new();
    home.ok(&["ws", "new", "w", "--engine", "local"]);
    home.refused(&["ws", "run", "w", "--", "true"], "the native engine has no workspace");
    let outcome = home.belljar(&["ws", "run", "w", "--engine", "local", "--", "sh", "-c", "echo hi; exit 2"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), "hi\n"), "{outcome:#?}");
    assert!(outcome.stderr.contains("no isolation"), "{outcome:#?}");
}

#[test]
fn containers_share_a_workspace_as_cells_do() {
    if !has_daemon() {
        return;
    }
    let home = Home::new();
    let docker = ["--engine", "docker"];
    home.write("f", "hi\n");
    home.ok(&[&["ws", "new", "w"][..], &docker].concat());
    home.ok(&[&["ws", "put", "w", "f"][..], &docker].concat());
    let script = "cat f; echo x > out/y; exit 3";
    let run = [&["ws", "run", "w"][..], &docker, &["--", "sh", "-c", script]].concat();
    let outcome = home.belljar(&run);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), "hi\n"), "{outcome:#?}");
    assert_eq!(home.ok(&[&["ws", "get", "w", "out/y", "-"][..], &docker].concat()), "x\n");
    let outcome = home.belljar(&[&["ws", "run", "w"][..], &docker, &["--", "no-such-program"]].concat());
    assert_eq!(outcome.code, Some(127), "{outcome:#?}");
    home.ok(&[&["ws", "rm", "w"][..], &docker].concat());
}

#[test]
fn a_workspace_is_not_removed_under_a_program_of_another_process() {
    let home = with_workspace();
    let (mut child, _stdout) = begun(&home, "echo begun; sleep 600");
    home.refused(&["ws", "rm", "w"], "somebody else works in it");
    home.ok(&["ws", "run", "w", "--", "true"]);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    home.ok(&["ws", "rm", "w"]);
    assert_eq!(home.ok(&["ws", "ls"]), "");
}
