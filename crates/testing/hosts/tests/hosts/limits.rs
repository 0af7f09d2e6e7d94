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
fn as_somebody(name: &str, options: &[&str]) -> Option<Output> {
    const SOMEBODY: &str = "54321";
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let home = std::env::temp_dir().join(format!("belljar-hosts-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(home.join("cache")).expect("a directory");
    let program = home.join("host");
    fs::copy(env!("CARGO_BIN_EXE_belljar-host"), &program).expect("a copy");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o711)).expect("it is ours");
    let owner = Some(SOMEBODY.parse().expect("a number"));
    std::os::unix::fs::chown(home.join("cache"), owner, owner).expect("root may");
    let mut command = Command::new("setpriv");
    command.args(["--reuid", SOMEBODY, "--regid", SOMEBODY, "--clear-groups", "prlimit"]).args(options);
    command.arg(program).arg("ordinary").current_dir("/").env_clear();
    command.env("PATH", "/usr/bin:/bin").env("BELLJAR_CACHE", home.join("cache"));
    let output = ended(command);
    fs::remove_dir_all(home).expect("it is ours");
    Some(output)
}

#[test]
fn a_host_whose_program_cannot_be_read_runs_scripts() {
    let Some(output) = as_somebody("unreadable", &["--core=0"]) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_hard_limit_that_cells_cannot_get_rid_of_is_a_warning() {
    let Some(output) = as_somebody("address-space", &["--as=4000000000:4000000000"]) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("hard limit on address space is 3906250 KiB"), "{told}");
    // A soft limit is lifted by the helper.
    let output = ended(limited("--as=16000000000:"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "\n42\n", "{}", stderr(&output));
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
