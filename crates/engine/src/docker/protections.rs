//! What a daemon enforces for its containers, named as in configs.

use super::daemon::Facts;
use super::ids::Ids;
use crate::{ProtectionState, ProtectionStatus};

/// Every protection and its state on this daemon.
pub(super) fn protections(facts: &Facts) -> Vec<ProtectionStatus> {
    let active = |detail: &str| ProtectionState::Active { detail: detail.to_owned() };
    let limit = |there: bool, what: &str| match there {
        true => active(&format!("cgroup v{}", facts.cgroup_version)),
        false => ProtectionState::Missing {
            reason: format!("the daemon says that it cannot limit {what}"),
            remedy: "give its kernel that controller".to_owned(),
        },
    };
    let own_ids = match facts.ids {
        Ids::Shifted { .. } | Ids::Owners { .. } | Ids::Unknown => active("remapped by the daemon"),
        Ids::Same => ProtectionState::Degraded {
            reason: "the daemon maps no ids".to_owned(),
            instead: "containers run as user 1000 of the daemon's host, without capabilities".to_owned(),
            remedy: "start the daemon with --userns-remap=default, or use a rootless one".to_owned(),
        },
    };
    let calls = match facts.has_seccomp {
        true => active("the daemon's profile and ours"),
        // Native cells have only our filter too.
        false => active("ours; the daemon has no profile of its own"),
    };
    let table = [
        ("user_namespace", "root inside is nobody outside", own_ids),
        ("mount_namespace", "sees only the files it was given", active("a container's, read-only root")),
        ("pid_namespace", "sees and signals only its own processes", active("a container's")),
        ("ipc_namespace", "shares no memory or queues", active("a container's")),
        ("uts_namespace", "cannot change the host's name", active("a container's")),
        ("network_namespace", "has no network but its own loopback", active("network mode none")),
        ("private_root", "has a root directory of its own", active("an image")),
        ("capabilities", "every capability is dropped", active("cap_drop ALL, not root")),
        ("no_new_privs", "nothing it starts can gain privileges", active("no-new-privileges")),
        ("seccomp", "dangerous system calls are refused", calls),
        (
            "landlock",
            "file access is limited a second time, by path",
            ProtectionState::Missing {
                reason: "the root file system of a container is read-only, and nothing checks a second time"
                    .to_owned(),
                remedy: "use the native engine where that is needed".to_owned(),
            },
        ),
        (
            "cgroup_memory",
            "a memory limit that counts the whole process tree",
            limit(facts.limits_memory, "memory"),
        ),
        ("cgroup_cpu", "a share of the processor", limit(facts.limits_cpu, "processor time")),
        ("cgroup_pids", "a bound on processes and threads", limit(facts.limits_pids, "processes")),
    ];
    table.into_iter().map(|(name, purpose, state)| ProtectionStatus { name, purpose, state }).collect()
}
