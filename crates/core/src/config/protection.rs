//! What a config may require.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One layer of confinement that a kernel or an engine may lack.
///
/// A config that `require`s a layer is refused if the layer is not available. Any other config runs
/// with the layers there are. The engine's capabilities say which layers those are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// User ids of its own: root inside is nobody outside.
    UserNamespace,
    /// It sees and signals only its own processes. They all die with it.
    PidNamespace,
    /// It sees only the files it was given.
    MountNamespace,
    /// It has no network but its own loopback.
    NetworkNamespace,
    /// It shares no System V or POSIX message queues and memory.
    IpcNamespace,
    /// It cannot read or change the host's name.
    UtsNamespace,
    /// Memory, processor share and number of processes are limited for the whole process tree: all
    /// three of the following.
    Cgroup,
    /// The kernel counts and limits the memory of the whole process tree.
    CgroupMemory,
    /// The kernel limits the processor share of the whole process tree.
    CgroupCpu,
    /// The kernel limits the number of processes and threads of the whole tree.
    CgroupPids,
    /// Dangerous system calls are refused.
    Seccomp,
    /// File access is limited a second time, by path.
    Landlock,
    /// No program that it starts can gain privileges.
    NoNewPrivs,
    /// Every capability is dropped, also from the bounding set.
    Capabilities,
}

/// A word that is not the name of a protection.
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

    /// The single layers that it stands for. Usually that is the protection itself.
    pub fn layers(&self) -> &[Self] {
        match self {
            Self::Cgroup => &[Self::CgroupMemory, Self::CgroupCpu, Self::CgroupPids],
            single => std::slice::from_ref(single),
        }
    }

    /// Its name in documents.
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
