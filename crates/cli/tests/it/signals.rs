use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::belljar::command;

/// Starts the command, gives it a script and waits for the first line it prints.
fn start(mut command: Command, script: &str) -> (Child, BufReader<impl Read>) {
    let mut child = command.spawn().expect("the binary was built for this test");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    stdin.write_all(script.as_bytes()).expect("it reads its stdin");
    drop(stdin);
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("it prints text");
    assert_eq!(line, "begun\n");
    (child, stdout)
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a child's id is positive");
    kill_process(pid, signal).expect("the child is ours");
}

fn end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("its output can be read");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn an_interrupt_cancels_the_run() {
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (child, _stdout) = start(command(&["run", "-"]), "print('begun', flush=True)\nwhile True: pass");
        signal(&child, sent);
        assert_eq!(end(child), (Some(code), "cancelled\n".to_owned()));
    }
}

#[test]
fn an_interrupt_ends_a_shell_that_nobody_types_into() {
    let (child, _stdout) = start(command(&["shell"]), "print('begun', flush=True); time.sleep(600)\n");
    signal(&child, Signal::INT);
    let (code, stderr) = end(child);
    assert_eq!(code, Some(130), "{stderr}");
}

#[test]
fn a_reader_who_leaves_ends_the_run_quietly() {
    let script =
        "print('begun', flush=True)\nwhile True:\n    print('more', flush=True)\n    time.sleep(0.01)";
    let (child, stdout) = start(command(&["run", "-"]), script);
    drop(stdout);
    assert_eq!(end(child), (Some(141), String::new()));
}

/// Waits until the command listens for signals, as the kernel sees it.
fn listens(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let begun = std::time::Instant::now();
    loop {
        let text = std::fs::read_to_string(&status).expect("it is alive");
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("the kernel says so");
        let caught = u64::from_str_radix(caught.trim(), 16).expect("it is a number");
        if caught >> (Signal::TERM.as_raw() - 1) & 1 == 1 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not listen");
        std::thread::yield_now();
    }
}

#[test]
fn an_interrupt_before_the_script_begins_has_a_result_too() {
    let place = tempfile::tempdir().unwrap();
    let tool = place.path().join("slow.py");
    std::fs::write(&tool, "import time\ntime.sleep(20)\n").unwrap();
    for (output, sent, code) in
        [("--json", Signal::INT, 130), ("--events", Signal::TERM, 143), ("--json", Signal::HUP, 129)]
    {
        let words = ["run", output, "--execution-id", "mine", "--tool", tool.to_str().unwrap(), "-c", "1"];
        let child = command(&words).spawn().expect("the binary was built for this test");
        listens(&child);
        signal(&child, sent);
        let output = child.wait_with_output().expect("its output can be read");
        assert_eq!(output.status.code(), Some(code));
        let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
        let result: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text:?}"));
        assert_eq!((&result["verdict"], &result["execution_id"]), (&"cancelled".into(), &"mine".into()));
        assert_eq!(result["engine"], "native");
    }
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let mut shell = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_belljar");
    let script = "print('begun', flush=True)\nimport time\ntime.sleep(0.5)\nprint('done')";
    let inherited = command(&[]);
    for (name, value) in inherited.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.args(["-c", "trap '' HUP INT; exec \"$0\" run -", program]);
    shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let (child, mut stdout) = start(shell, script);
    for sent in [Signal::HUP, Signal::INT] {
        signal(&child, sent);
    }
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("it prints text");
    assert_eq!(rest, "done\n");
    assert_eq!(end(child).0, Some(0));
}
