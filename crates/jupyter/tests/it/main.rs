//! Claims about kernels, with a real gateway and real kernels. `scripts/jupyter` installs them.
//!
//! A gateway takes seconds to start, so a test has one gateway and makes many claims.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod endings;
mod life;
mod outputs;

use std::path::{Path, PathBuf};
use std::time::Duration;

use belljar_jupyter::{Kernel, KernelRun, Limits, LocalGateway};
use belljar_testing::{HANG, in_time, installed};

/// A Python that has a gateway, or `None` with the reason printed.
fn python() -> Option<PathBuf> {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/jupyter/py/bin/python");
    installed("jupyter", Path::new(place), "scripts/jupyter installs it")
}

async fn gateway(python: &Path, directory: &Path) -> LocalGateway {
    in_time(LocalGateway::start(python, directory)).await.expect("the gateway starts")
}

/// As much time as anything may take.
fn limits() -> Limits {
    Limits { timeout: HANG, grace: HANG, ..Limits::default() }
}

async fn run(kernel: &Kernel, code: &str) -> KernelRun {
    in_time(kernel.execute(code, limits())).await.expect("the kernel is there")
}

/// The value of an expression.
async fn value(kernel: &Kernel, code: &str) -> String {
    let run = run(kernel, code).await;
    run.result().unwrap_or_else(|| panic!("{run:?}")).text().unwrap().to_owned()
}

/// A time limit that fires.
fn short(grace: Duration) -> Limits {
    Limits { timeout: Duration::from_millis(500), grace, ..Limits::default() }
}

/// Whether a process is there, and not dead.
fn lives(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
