//! Hosts with low limits, and hosts whose program cannot be read or is not `/proc/self/exe`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::{ended, host, succeeds};

/// An ordinary host that is started with a limit, by the options of `prlimit`.
fn limited(option: &str) -> Command {
    let mut command = Command::new("prlimit");
    command.arg(option).arg(env!("CARGO_BIN_EXE_belljar-host")).arg("ordinary");
    command.env("BELLJAR_CACHE", belljar_testing::cache());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_host_with_few_descriptors_runs_scripts_or_says_what_is_short() {
    let mut outcomes = Vec::new();
    for most in [24, 32, 40, 64, 100] {
        let output = ended(limited(&format!("--nofile={most}:{most}")));
        let told = stderr(&output);
        match output.status.code() {
            Some(0) => {}
            Some(1 | 2) => assert!(told.contains("ulimit -n") || told.contains("no tokio"), "{most}: {told}"),
            _ => panic!("{most}: {}: {told}", output.status),
        }
        outcomes.push(output.status.success());
    }
    assert!(!outcomes[0] && outcomes[4], "{outcomes:?}");
}

#[test]
fn a_host_that_may_not_write_large_files_is_told_so_and_lives() {
    for limit in ["--fsize=4096:4096", "--fsize=4096:"] {
        let output = ended(limited(limit));
        // A signal would leave no code.
        assert_eq!(output.status.code(), Some(1), "{}: {}", output.status, stderr(&output));
        assert!(stderr(&output).contains("ulimit -f"), "{}", stderr(&output));
    }
}

#[test]
fn a_host_started_through_the_loader_runs_scripts() {
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let loader = loader.into_iter().find(|path| Path::new(path).exists()).expect("a loader");
    let mut command = Command::new(loader);
    command.arg(env!("CARGO_BIN_EXE_belljar-host")).arg("ordinary");
    command.env("BELLJAR_CACHE", belljar_testing::cache());
    let output = ended(command);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// What an ordinary host says that somebody else than root runs, with options of `prlimit`. They
/// cannot read its program. `None` if this user cannot become somebody else.
///
/// The kernel counts the processes of a user, so each test is somebody of its own.
fn as_somebody(user: u32, options: &[&str]) -> Option<Output> {
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let home = std::env::temp_dir().join(format!("belljar-hosts-{user}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(home.join("cache")).expect("a directory");
    let program = home.join("host");
    fs::copy(env!("CARGO_BIN_EXE_belljar-host"), &program).expect("a copy");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o711)).expect("it is ours");
    std::os::unix::fs::chown(home.join("cache"), Some(user), Some(user)).expect("root may");
    let mut command = Command::new("setpriv");
    let user = user.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "prlimit"]).args(options);
    command.arg(program).arg("ordinary").current_dir("/").env_clear();
    command.env("PATH", "/usr/bin:/bin").env("BELLJAR_CACHE", home.join("cache"));
    let output = ended(command);
    fs::remove_dir_all(home).expect("it is ours");
    Some(output)
}

#[test]
fn a_host_whose_program_cannot_be_read_runs_scripts() {
    let Some(output) = as_somebody(54_391, &["--core=0"]) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_host_with_few_processes_runs_scripts_or_says_what_is_short() {
    for most in [3, 4, 5, 6, 8, 64] {
        let Some(output) = as_somebody(54_392, &[&format!("--nproc={most}:{most}")]) else { return };
        let told = stderr(&output);
        let is_told = told.contains("ulimit -u") || told.contains("can't spawn worker thread");
        assert!(output.status.success() || is_told, "{most}: {}: {told}", output.status);
        assert!(output.status.success() || most < 64, "{told}");
    }
}

#[test]
fn a_hard_limit_that_cells_cannot_get_rid_of_is_a_warning() {
    let Some(output) = as_somebody(54_393, &["--as=4000000000:4000000000"]) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("hard limit on address space is 3906250 KiB"), "{told}");
    // A soft limit is lifted by the helper.
    let output = ended(limited("--as=16000000000:"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "\n42\n", "{}", stderr(&output));
}

#[test]
fn small_stacks_of_a_hosts_threads_are_not_ours() {
    let mut command = host("ordinary");
    command.env("RUST_MIN_STACK", "65536");
    succeeds(command);
}

#[test]
fn an_ordinary_host_has_no_warnings() {
    let output = ended(host("ordinary"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "\n42\n", "{}", stderr(&output));
}

#[test]
fn a_pool_leaves_its_host_descriptors_and_no_trace_of_cells_that_could_not_be_made() {
    succeeds(host("few-descriptors"));
}
