use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command};

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
