//! What a config may insist on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One layer of confinement that a kernel or an engine may lack.
///
/// A config that `require`s one is refused where it cannot be had; one that does not runs with the layers there are, and
/// the engine's capabilities say which those were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// Ids of its own: root inside is nobody outside.
    UserNamespace,
    /// Sees and signals only its own processes, and all of them die with it.
    PidNamespace,
    /// Sees only the files it was given.
    MountNamespace,
    /// Has no network but its own loopback.
    NetworkNamespace,
    /// Shares no System V or POSIX message queues and memory.
    IpcNamespace,
    /// Cannot read or change the host's name.
    UtsNamespace,
    /// Memory, processor share and number of processes of the whole process tree: all three of the following.
    Cgroup,
    /// Memory of the whole process tree is counted and limited by the kernel.
    CgroupMemory,
    /// Processor share of the whole process tree is limited by the kernel.
    CgroupCpu,
    /// Number of processes and threads of the whole tree is limited by the kernel.
    CgroupPids,
    /// Dangerous system calls are refused.
    Seccomp,
    /// File access is limited a second time, by path.
    Landlock,
    /// No program it starts can gain privileges.
    NoNewPrivs,
    /// Every capability is dropped, from the bounding set too.
    Capabilities,
}

/// A word that names no protection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a protection: must be one of {}", Protection::ALL.map(Protection::name).join(", "))]
pub struct UnknownProtection {
    /// The word.
    pub name: String,
}

impl Protection {
    /// Every protection, in the order they are shown.
    pub const ALL: [Self; 14] = [
        Self::UserNamespace,
        Self::PidNamespace,
        Self::MountNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::UtsNamespace,
        Self::Cgroup,
        Self::CgroupMemory,
        Self::CgroupCpu,
        Self::CgroupPids,
        Self::Seccomp,
        Self::Landlock,
        Self::NoNewPrivs,
        Self::Capabilities,
    ];

    /// The single layers it stands for: mostly itself.
    pub fn layers(&self) -> &[Self] {
        match self {
            Self::Cgroup => &[Self::CgroupMemory, Self::CgroupCpu, Self::CgroupPids],
            single => std::slice::from_ref(single),
        }
    }

    /// Its name, as it stands in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user_namespace",
            Self::PidNamespace => "pid_namespace",
            Self::MountNamespace => "mount_namespace",
            Self::NetworkNamespace => "network_namespace",
            Self::IpcNamespace => "ipc_namespace",
            Self::UtsNamespace => "uts_namespace",
            Self::Cgroup => "cgroup",
            Self::CgroupMemory => "cgroup_memory",
            Self::CgroupCpu => "cgroup_cpu",
            Self::CgroupPids => "cgroup_pids",
            Self::Seccomp => "seccomp",
            Self::Landlock => "landlock",
            Self::NoNewPrivs => "no_new_privs",
            Self::Capabilities => "capabilities",
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Protection {
    type Err = UnknownProtection;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|protection| protection.name() == name);
        known.ok_or_else(|| UnknownProtection { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protection_has_one_name_everywhere() {
        for protection in Protection::ALL {
            let name = protection.name();
            assert_eq!(serde_json::to_string(&protection).unwrap(), format!("{name:?}"));
            assert_eq!(serde_json::from_str::<Protection>(&format!("{name:?}")).unwrap(), protection);
            assert_eq!(name.parse(), Ok(protection));
            assert_eq!(protection.to_string(), name);
        }
    }

    #[test]
    fn an_unknown_protection_is_answered_with_the_known_ones() {
        let error = "firewall".parse::<Protection>().unwrap_err().to_string();
        assert!(
            error.starts_with("\"firewall\" is not a protection: must be one of user_namespace, "),
            "{error}"
        );
    }
}
