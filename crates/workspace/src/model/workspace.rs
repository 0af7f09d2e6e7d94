//! A workspace, and what an engine can do with one.

use serde::{Deserialize, Serialize};

/// A workspace that an engine has made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workspace {
    /// The id that its creator chose.
    #[serde(alias = "ID")]
    pub id: String,
    /// Where it is: a path on the host, or inside a container. Only its engine may open it.
    #[serde(alias = "Path")]
    pub path: String,
}

/// How a workspace is made and ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkspacePolicy {
    /// Whether its programs must be isolated from the host. An engine that cannot do that refuses.
    #[serde(alias = "Isolated")]
    pub isolated: bool,
    /// Whether it stays when it is cleaned up.
    #[serde(alias = "Persist")]
    pub persist: bool,
    /// How many bytes it may hold. 0 is the engine's own limit.
    #[serde(alias = "MaxDiskBytes")]
    pub max_disk_bytes: u64,
}

/// Limits of one program. 0 is the engine's own limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceLimits {
    /// Processor time, in percent of one processor.
    #[serde(alias = "CPUPercent")]
    pub cpu_percent: u32,
    /// Memory, in MiB.
    #[serde(alias = "MemoryMB")]
    pub memory_mb: u64,
    /// Processes and threads.
    #[serde(alias = "MaxPIDs")]
    pub max_pids: u32,
    /// What the program may add to the workspace, in MiB.
    pub disk_mb: u64,
}

impl ResourceLimits {
    /// Names of the limits that are set and that an engine cannot enforce.
    pub fn beyond(&self, enforced: EnforcedLimits) -> impl Iterator<Item = &'static str> {
        [
            ("cpu_percent", self.cpu_percent > 0 && !enforced.cpu_percent),
            ("memory_mb", self.memory_mb > 0 && !enforced.memory_mb),
            ("max_pids", self.max_pids > 0 && !enforced.max_pids),
            ("disk_mb", self.disk_mb > 0 && !enforced.disk_mb),
        ]
        .into_iter()
        .filter_map(|(name, is_beyond)| is_beyond.then_some(name))
    }
}

/// Which [`ResourceLimits`] an engine can enforce.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnforcedLimits {
    /// Whether processor time can be limited.
    pub cpu_percent: bool,
    /// Whether memory can be limited.
    pub memory_mb: bool,
    /// Whether processes can be limited.
    pub max_pids: bool,
    /// Whether a program's share of the disk can be limited.
    pub disk_mb: bool,
}

/// What an engine can do. It says no more than it does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// How programs are kept from the host: `none`, `cell`, `container`.
    pub isolation: String,
    /// Whether programs can reach a network.
    pub network_allowed: bool,
    /// Whether a directory can be mounted read-only in place of a copy.
    pub read_only_mount: bool,
    /// Whether output can be read while a program runs.
    pub streaming: bool,
    /// Whether a program can be talked to while it runs.
    pub interactive: bool,
    /// Whether an interactive program can have a terminal.
    pub terminal: bool,
    /// How many bytes a workspace may hold. 0 is as many as the disk has.
    pub max_disk_bytes: u64,
    /// Whether a program can start without the engine's own environment.
    pub supports_clean_env: bool,
    /// Which limits of a program can be enforced.
    pub limits: EnforcedLimits,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_nobody_enforces_is_named() {
        let limits = ResourceLimits { memory_mb: 64, max_pids: 5, ..ResourceLimits::default() };
        let enforced = EnforcedLimits { memory_mb: true, ..EnforcedLimits::default() };
        assert_eq!(limits.beyond(enforced).collect::<Vec<_>>(), ["max_pids"]);
        assert_eq!(ResourceLimits::default().beyond(EnforcedLimits::default()).count(), 0);
    }
}
