//! Describes the machine in a few words, so that figures and reports can be compared.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use serde::Serialize;

/// What matters about a machine here.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    /// Processors that this process may use.
    pub(crate) cores: usize,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// `x86_64`, `aarch64`.
    pub(crate) architecture: &'static str,
    /// `v2`, `v1` or `none`.
    pub(crate) cgroups: &'static str,
    /// Whether this process runs as root.
    pub(crate) root: bool,
}

impl Machine {
    /// Describes this machine.
    pub(crate) fn here() -> Self {
        Self {
            cores: available_parallelism().map_or(1, usize::from),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| "unknown".into(), |release| release.trim().to_owned()),
            architecture: std::env::consts::ARCH,
            cgroups: cgroups(),
            root: rustix::process::geteuid().is_root(),
        }
    }
}

fn cgroups() -> &'static str {
    let root = Path::new("/sys/fs/cgroup");
    // A hybrid host has the memory controller on one side only, and that side counts.
    match (root.join("cgroup.controllers").exists(), root.join("memory").exists()) {
        (true, _) => "v2",
        (false, true) => "v1",
        (false, false) => "none",
    }
}
