//! Finds out what this machine lets us enforce, by trying it.

use std::fs;
use std::ops::Range;
use std::path::Path;

use belljar_core::{ProtectionState, ProtectionStatus};

use crate::cgroup::{Cgroups, Controller};
use crate::helper::TrialResult;
use crate::launch::{LaunchError, ask_probe};
use crate::shortage;
use crate::spec::Identity;

/// The result of a survey of this machine.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Every protection. Those that a cell cannot do without come first.
    pub protections: Vec<ProtectionStatus>,
    /// The Landlock version, or 0 if there is none.
    pub landlock: u32,
}

impl Survey {
    /// Finds a protection by name.
    pub fn protection(&self, name: &str) -> Option<&ProtectionStatus> {
        self.protections.iter().find(|protection| protection.name == name)
    }

    /// The protections that a cell needs and that are not in force.
    pub fn obstacles(&self) -> impl Iterator<Item = &ProtectionStatus> {
        self.protections
            .iter()
            .filter(|protection| INDISPENSABLE.contains(&protection.name) && !protection.state.is_active())
    }
}

/// Without these no cell runs.
const INDISPENSABLE: [&str; 10] = [
    "user_namespace",
    "mount_namespace",
    "pid_namespace",
    "ipc_namespace",
    "uts_namespace",
    "network_namespace",
    "private_root",
    "capabilities",
    "no_new_privs",
    "seccomp",
];

/// Tries every protection. This takes a few milliseconds.
pub fn survey(cgroups: &Cgroups) -> Result<Survey, LaunchError> {
    let answer = ask_probe()?;
    let mut protections: Vec<ProtectionStatus> = answer.trials.iter().filter_map(of_trial).collect();
    protections.push(landlock(answer.landlock));
    protections.extend([
        cgroup(
            cgroups,
            Controller::Memory,
            "cgroup_memory",
            "a memory limit that counts the whole process tree",
        ),
        cgroup(cgroups, Controller::Cpu, "cgroup_cpu", "a share of the processor"),
        cgroup(cgroups, Controller::Pids, "cgroup_pids", "a bound on processes and threads"),
    ]);
    Ok(Survey { protections, landlock: answer.landlock })
}

/// Whether this process can give each guest an id of its own, from [`Identity::NOBODYS`].
///
/// Being root is not enough. In a container, "root" may hold a single id, or lack the capabilities.
pub fn has_ids_for_guests() -> bool {
    let Range { start, end } = Identity::NOBODYS;
    let read = |file: &str| fs::read_to_string(Path::new("/proc/self").join(file)).unwrap_or_default();
    let covers = |map: &str| has_range(map, start, end - start);
    has_capabilities(&read("status")) && covers(&read("uid_map")) && covers(&read("gid_map"))
}

/// Whether an id map as in `/proc/self/uid_map` (inside, outside, count) has every id of the range.
fn has_range(map: &str, first: u32, count: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let wanted = u64::from(first)..u64::from(first) + u64::from(count);
        matches!(numbers[..], [inside, _, length] if inside <= wanted.start && wanted.end <= inside + length)
    })
}

/// Whether a `/proc/self/status` shows the capabilities needed to build a jail without a user
/// namespace.
fn has_capabilities(status: &str) -> bool {
    const SETGID: u64 = 1 << 6;
    const SETUID: u64 = 1 << 7;
    const SYS_ADMIN: u64 = 1 << 21;
    const NEEDED: u64 = SETGID | SETUID | SYS_ADMIN;
    let effective =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    effective.is_some_and(|effective| effective & NEEDED == NEEDED)
}

fn of_trial(trial: &TrialResult) -> Option<ProtectionStatus> {
    let (name, purpose) = match trial.name.as_str() {
        "user_namespace" => ("user_namespace", "guests have no rights outside their cell"),
        "mount_namespace" => ("mount_namespace", "a cell has its own file system view"),
        "pid_namespace" => ("pid_namespace", "a cell sees, and dies with, only its own processes"),
        "ipc_namespace" => ("ipc_namespace", "no shared memory or queues between cells"),
        "uts_namespace" => ("uts_namespace", "the host's name stays its own"),
        "network_namespace" => ("network_namespace", "no network but what the config allows"),
        "private_root" => ("private_root", "the host's files are absent, not hidden"),
        "capabilities" => ("capabilities", "every capability is given up"),
        "no_new_privs" => ("no_new_privs", "no program can raise its rights"),
        "seccomp" => ("seccomp", "dangerous system calls are refused"),
        _ => return None,
    };
    let state = match &trial.refused {
        None => ProtectionState::Active { detail: String::new() },
        Some(reason) => ProtectionState::Missing {
            reason: reason.clone(),
            remedy: Circumstances::here().remedy(trial.errno),
        },
    };
    Some(ProtectionStatus { name, purpose, state })
}

/// Facts about this machine that explain a refusal.
#[derive(Debug, Clone, Copy, Default)]
struct Circumstances {
    /// Ubuntu 23.10 and later: AppArmor gives user namespaces only to programs with a profile.
    apparmor_restricts: bool,
    /// The switch of Debian and others.
    clone_is_off: bool,
    /// The kernel's own limit is zero.
    none_allowed: bool,
    /// Docker, Podman, Kubernetes or similar.
    in_container: bool,
}

impl Circumstances {
    fn here() -> Self {
        let holds = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
        Self {
            apparmor_restricts: holds("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            clone_is_off: holds("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            none_allowed: holds("/proc/sys/user/max_user_namespaces", "0"),
            in_container: ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"]
                .iter()
                .any(|path| Path::new(path).exists()),
        }
    }

    /// The usual cause of a refusal, and how to fix it.
    fn remedy(self, errno: Option<i32>) -> String {
        const EPERM: i32 = 1;
        if let Some(remedy) = errno.and_then(shortage) {
            return remedy.into();
        }
        let text = match (self, errno) {
            (Self { apparmor_restricts: true, .. }, _) => {
                "AppArmor restricts user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, \
                 or give this program a profile that allows `userns`"
            }
            (Self { clone_is_off: true, .. }, _) => {
                "user namespaces are switched off: sysctl -w kernel.unprivileged_userns_clone=1"
            }
            (Self { none_allowed: true, .. }, _) => {
                "user namespaces are switched off: sysctl -w user.max_user_namespaces=15000"
            }
            (Self { in_container: true, .. }, Some(EPERM)) => {
                "this is a container, whose seccomp profile or masked /proc is in the way: run it with \
                 --security-opt seccomp=unconfined --security-opt systempaths=unconfined (Docker, Podman), or run outside of it"
            }
            (_, Some(EPERM)) => {
                "something forbids it, most often a container's seccomp profile or masked /proc: run with \
                 --security-opt seccomp=unconfined --security-opt systempaths=unconfined, or outside the container"
            }
            _ => "the kernel was built without it, or is older than 5.12",
        };
        text.into()
    }

    /// How to get limits on whole process trees.
    fn cgroup_remedy(self) -> String {
        let text = if self.in_container {
            "in a container, mount the control groups writable (Docker, Podman: --cgroupns=private -v /sys/fs/cgroup:/sys/fs/cgroup:rw, \
             as root), or run outside of it"
        } else {
            "run as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes …"
        };
        text.into()
    }
}

fn landlock(version: u32) -> ProtectionStatus {
    let state = match version {
        0 => ProtectionState::Missing {
            reason: "the kernel has no Landlock".into(),
            remedy: "add `landlock` to the kernel's `lsm=` boot parameter (5.13 and later)".into(),
        },
        version => ProtectionState::Active { detail: format!("ABI {version}") },
    };
    ProtectionStatus { name: "landlock", purpose: "a second lock on the file system", state }
}

fn cgroup(
    cgroups: &Cgroups,
    controller: Controller,
    name: &'static str,
    purpose: &'static str,
) -> ProtectionStatus {
    let state = match cgroups.why_missing(controller) {
        None => ProtectionState::Active { detail: format!("cgroup {}", cgroups.version()) },
        Some(reason) => ProtectionState::Degraded {
            reason: format!("{reason}; resource limits per process stand in for it"),
            remedy: Circumstances::here().cgroup_remedy(),
        },
    };
    ProtectionStatus { name, purpose, state }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_used_only_where_the_map_has_it() {
        let whole = "         0          0 4294967295\n";
        let rootless = "         0       1000          1\n         1     100000      65536\n";
        assert!(has_range(whole, 0x7000_0000, 0x1_0000));
        assert!(!has_range(rootless, 0x7000_0000, 0x1_0000));
        assert!(!has_range("", 0, 1));
    }

    #[test]
    fn each_known_cause_has_its_remedy() {
        const EPERM: Option<i32> = Some(1);
        let here = Circumstances::default();
        for (circumstances, errno, named) in [
            (
                Circumstances { apparmor_restricts: true, ..here },
                EPERM,
                "apparmor_restrict_unprivileged_userns=0",
            ),
            (Circumstances { clone_is_off: true, ..here }, EPERM, "unprivileged_userns_clone=1"),
            (Circumstances { none_allowed: true, ..here }, Some(28), "max_user_namespaces=15000"),
            (Circumstances { in_container: true, ..here }, EPERM, "seccomp=unconfined"),
            (here, EPERM, "systempaths=unconfined"),
            (Circumstances { in_container: true, ..here }, Some(11), "ulimit -u"),
            (here, Some(12), "no memory left"),
            (here, Some(24), "ulimit -n"),
            (here, Some(22), "older than 5.12"),
        ] {
            let remedy = circumstances.remedy(errno);
            assert!(remedy.contains(named), "{circumstances:?}: {remedy}");
        }
        assert!(here.cgroup_remedy().contains("Delegate=yes"));
        assert!(Circumstances { in_container: true, ..here }.cgroup_remedy().contains("/sys/fs/cgroup:rw"));
    }

    #[test]
    fn a_root_without_capabilities_is_none() {
        assert!(has_capabilities("Name:\tx\nCapEff:\t000001ffffffffff\n"));
        // The capabilities a container engine leaves its root by default.
        assert!(!has_capabilities("CapEff:\t00000000a80425fb\n"));
    }
}
