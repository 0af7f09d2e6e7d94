//! `belljar exec`: one program, in a workspace that is gone afterwards.

use std::fs;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use serde_json::json;

use crate::belljar::{Outcome, finish};
use crate::workspaces::Home;

fn exec(home: &Home, arguments: &[&str], stdin: &str) -> Outcome {
    let mut command = home.command(&[&["exec"], arguments].concat());
    command.env("XDG_DATA_HOME", home.path("data"));
    finish(command, stdin)
}

#[test]
fn a_command_runs_and_nothing_of_it_stays() {
    let home = Home::new();
    let outcome = exec(&home, &["--", "sh", "-c", "cat; echo x > file; exit 4"], "in\n");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(4), "in\n"), "{outcome:#?}");
    let left: Vec<_> = fs::read_dir(home.path("data/belljar/exec/native")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(exec(&home, &["--", "no-such-program"], "").code, Some(127));
    assert_eq!(exec(&home, &["--timeout", "1", "--", "sleep", "60"], "").code, Some(124));
    assert_eq!(exec(&home, &[], "").code, Some(2));
}

#[test]
fn a_source_runs_in_its_language_with_its_arguments_and_files() {
    let home = Home::new();
    home.write("sum.py", "import sys\nprint(sys.argv, open('data/n').read().strip(), input())\n");
    home.write("data/n", "42\n");
    let outcome = exec(&home, &["sum.py", "--file", "data", "--", "a", "-b"], "typed\n");
    assert_eq!(outcome.stdout, "['sum.py', 'a', '-b'] 42 typed\n", "{outcome:#?}");
    home.write("hello", "echo \"hello $1\"\n");
    let outcome = exec(&home, &["hello", "--lang", "bash", "--", "you"], "");
    assert_eq!(outcome.stdout, "hello you\n", "{outcome:#?}");
    let outcome = exec(&home, &["hello"], "");
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("say --lang: python, bash"), "{outcome:#?}");
    let outcome = exec(&home, &["hello", "--lang", "klingon"], "");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("this version knows"), "{outcome:#?}");
    let outcome = exec(&home, &["-", "--lang", "python"], "print(6 * 7)\n");
    assert_eq!(outcome.stdout, "42\n", "{outcome:#?}");
}

#[test]
fn what_a_program_makes_or_changes_is_saved() {
    let home = Home::new();
    home.write("same", "same");
    home.write("changed", "old");
    let script = "echo new > changed; mkdir plots; echo 1 > plots/a.txt; echo 2 > b.csv";
    let arguments = ["--file", "same", "--file", "changed", "--out", "results", "--", "sh", "-c", script];
    let outcome = exec(&home, &arguments, "");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(fs::read_to_string(home.path("results/changed")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(home.path("results/plots/a.txt")).unwrap(), "1\n");
    assert!(!home.path("results/same").exists());
    let arguments = ["--out", "few", "--collect", "**/*.csv", "--", "sh", "-c", "echo 1 > a.csv; echo 2 > b"];
    assert_eq!(exec(&home, &arguments, "").code, Some(0));
    assert!(home.path("few/a.csv").exists() && !home.path("few/b").exists());
}

#[test]
fn a_compiler_that_fails_is_the_end() {
    let home = Home::new();
    home.write("bad.c", "int main( {\n");
    let outcome = exec(&home, &["bad.c"], "");
    if outcome.stderr.contains("cannot run c") {
        println!("compiling: skipped (there is no compiler for C)");
        return;
    }
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.stderr.contains("error:"), "{outcome:#?}");
    home.write("good.c", "int main(int count, char **words) { return count; }\n");
    let outcome = exec(&home, &["good.c", "--", "a", "b"], "");
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
}

#[test]
fn json_has_one_result() {
    let home = Home::new();
    let outcome = exec(&home, &["--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3"], "");
    let result = outcome.json();
    assert_eq!((outcome.code, &result["exit_code"]), (Some(3), &json!(3)), "{result:#}");
    assert_eq!((&result["stdout"], &result["stderr"]), (&json!("out\n"), &json!("err\n")), "{result:#}");
}

#[test]
fn a_program_writes_no_more_than_it_may() {
    let home = Home::new();
    let script = "for i in 1 2 3 4 5 6 7 8; do head -c 4M /dev/zero > f$i; sleep 0.2; done; echo all";
    let outcome = exec(&home, &["--disk", "10m", "--", "sh", "-c", script], "");
    assert!(outcome.code != Some(0) && !outcome.stdout.contains("all"), "{outcome:?}");
}

#[test]
fn a_user_without_a_home_leaves_nothing_where_everybody_looks() {
    let home = Home::new();
    std::fs::create_dir(home.path("tmp")).unwrap();
    let mut command = home.command(&["exec", "--", "echo", "homeless"]);
    command.env_remove("HOME").env_remove("XDG_DATA_HOME").env("TMPDIR", home.path("tmp"));
    let outcome = finish(command, "");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "homeless\n"), "{outcome:#?}");
    assert_eq!(std::fs::read_dir(home.path("tmp")).unwrap().count(), 0);
}

#[test]
fn what_never_comes_or_never_ends_is_refused_or_a_signal_ends_the_wait() {
    let home = Home::new();
    let fifo = home.fifo("fifo.py");
    home.refused(&["exec", &fifo], "not a regular file");
    home.refused(&["exec", "--sandbox", &fifo, "--", "true"], "not a regular file");
    home.refused(&["exec", "--lang", "python", "/dev/zero"], "not a regular file");
    home.refused(&["exec", "--sandbox", "/dev/zero", "--", "true"], "not a regular file");
    // Secrets may come from a program that takes its time. Until it is there nothing is caught.
    let mut command = home.command(&["exec", "--secrets-file", &fifo, "--", "true"]);
    let mut child = command.env("XDG_DATA_HOME", home.path("data")).spawn().unwrap();
    // Opens as soon as somebody reads, who then waits for what is written.
    let until = Instant::now() + Duration::from_secs(60);
    let _writer = loop {
        match rustix::fs::open(&fifo, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()) {
            Ok(writer) => break writer,
            Err(error) => assert!(Instant::now() < until, "it never asks for its secrets: {error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(!child.wait().unwrap().success());
}
