//! Finds out what this machine lets us enforce, by trying it.

use std::fs;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use belljar_core::{ProtectionState, ProtectionStatus, remedies};

use crate::cgroup::{Cgroups, Controller, GroupOptions, Missing, Surroundings};
use crate::circumstances::Circumstances;
use crate::helper::TrialResult;
use crate::launch::{LaunchError, ask_probe};
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

/// Tries every protection, and meanwhile finds a place for control groups. This takes a few
/// milliseconds.
pub fn survey(options: GroupOptions) -> Result<(Survey, Cgroups), LaunchError> {
    let (cgroups, answer) = thread::scope(|scope| {
        let detect = || Cgroups::detect(&Surroundings::of_this_process(), options);
        let detecting = thread::Builder::new().name("belljar-groups".into()).spawn_scoped(scope, detect);
        let answer = ask_probe();
        match detecting {
            Ok(detecting) => (detecting.join().unwrap_or_else(|panic| resume_unwind(panic)), answer),
            // No thread can be had. Then it is done here.
            Err(_) => (detect(), answer),
        }
    });
    let answer = answer?;
    let mut protections: Vec<ProtectionStatus> = answer.trials.iter().filter_map(of_trial).collect();
    if are_guests_root_outside() {
        let ours = protections.iter_mut().filter(|protection| protection.name == "user_namespace");
        ours.for_each(|protection| {
            if let ProtectionState::Active { detail } = &mut protection.state {
                "but they have root's id there: SYS_ADMIN, SETUID or SETGID is missing".clone_into(detail);
            }
        });
    }
    protections.push(landlock(answer.landlock));
    protections.extend([
        cgroup(
            &cgroups,
            Controller::Memory,
            "cgroup_memory",
            "a memory limit that counts the whole process tree",
        ),
        cgroup(&cgroups, Controller::Cpu, "cgroup_cpu", "a share of the processor"),
        cgroup(&cgroups, Controller::Pids, "cgroup_pids", "a bound on processes and threads"),
    ]);
    Ok((Survey { protections, landlock: answer.landlock }, cgroups))
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

/// Whether guests have the id of root outside of their cells, though none of its rights: where a
/// container's root is the machine's, and may not give them another.
fn are_guests_root_outside() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    rustix::process::geteuid().is_root() && is_root_outside(&map) && !has_ids_for_guests()
}

/// Whether 0 inside is 0 outside.
fn is_root_outside(map: &str) -> bool {
    let begins = map.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>());
    begins.into_iter().any(|begin| begin == ["0", "0"])
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
            remedy: Circumstances::here().remedy(trial.errno).into(),
        },
    };
    Some(ProtectionStatus { name, purpose, state })
}

fn landlock(version: u32) -> ProtectionStatus {
    let state = match version {
        0 => ProtectionState::Missing {
            reason: "the kernel has no Landlock".into(),
            remedy: remedies::LANDLOCK.text.into(),
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
        Some(Missing { reason, remedy }) => {
            let (reason, remedy) = (reason.clone(), remedy.text.to_owned());
            match controller {
                Controller::Cpu | Controller::CpuAccounting => ProtectionState::Missing { reason, remedy },
                Controller::Memory | Controller::Pids => {
                    ProtectionState::Degraded { reason, instead: without(controller).into(), remedy }
                }
            }
        }
    };
    ProtectionStatus { name, purpose, state }
}

/// What a limit means where its controller is missing.
pub fn without(controller: Controller) -> &'static str {
    match controller {
        Controller::Memory => "memory_mb counts for each process by itself, and not for files in memory",
        Controller::Pids => "pids_limit counts all processes of this user",
        Controller::Cpu => "cpu_quota is not kept",
        Controller::CpuAccounting => "processor time is not counted",
    }
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
    fn a_root_that_is_somebody_else_outside_is_told_apart() {
        assert!(is_root_outside("         0          0 4294967295\n"));
        assert!(!is_root_outside("         0       1000          1\n         1     100000      65536\n"));
        assert!(!is_root_outside("      1000          0          1\n") && !is_root_outside(""));
    }

    #[test]
    fn a_root_without_capabilities_is_none() {
        assert!(has_capabilities("Name:\tx\nCapEff:\t000001ffffffffff\n"));
        // The capabilities a container engine leaves its root by default.
        assert!(!has_capabilities("CapEff:\t00000000a80425fb\n"));
    }
}
