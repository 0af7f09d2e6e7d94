//! Hosts that are not Rust's, and load Belljar as a shared library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ended;

/// This package as a shared library. Cargo puts it beside the tests.
fn library() -> PathBuf {
    let tests = std::env::current_exe().expect("this is a program");
    let library = tests.with_file_name("libbelljar_hosts.so");
    assert!(library.exists(), "{} is built with the tests", library.display());
    library
}

fn foreign(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("foreign").join(name)
}

/// A Python program that loads the library.
pub(crate) fn python(arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg(foreign("ctypes_host.py")).arg(library()).args(arguments);
    command.env("BELLJAR_CACHE", belljar_testing::cache());
    command
}

/// Compiles a C program that loads the library, and lets it run to its end. What it printed.
pub(crate) fn c(arguments: &[&str]) -> String {
    static TURN: AtomicU32 = AtomicU32::new(0);
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    let name = format!("dlopen_host-{}-{turn}", std::process::id());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(foreign("dlopen_host.c"));
    compile.args(["-ldl", "-lpthread"]);
    printed(compile);
    let mut command = Command::new(&program);
    command.arg(library()).args(arguments).env("BELLJAR_CACHE", belljar_testing::cache());
    let told = printed(command);
    std::fs::remove_file(program).expect("it is ours");
    told
}

/// Lets such a program run to its end, which must be a good one. What it printed.
pub(crate) fn printed(command: Command) -> String {
    let output = ended(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn a_python_program_that_loads_the_library_runs_scripts() {
    assert_eq!(printed(python(&["plain"])), "ok\n42\n\n");
}

#[test]
fn a_c_program_that_loads_the_library_runs_scripts_and_its_main_once() {
    assert_eq!(c(&["run"]), "main\nok\n42\n");
}
