//! Version 1: one tree per controller, mounted side by side.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::group::{Counter, CounterFormat};
use super::membership::is_ours;
use super::{CellCgroup, CgroupError, CgroupLimits, Controller, HostDirectory, Surroundings};

/// The limit on what sockets hold.
const SOCKETS: &str = "memory.kmem.tcp.limit_in_bytes";
/// The limit on memory and swap together, on kernels that count swap.
const MEMORY_AND_SWAP: &str = "memory.memsw.limit_in_bytes";

/// The host's directory in each controller's tree.
#[derive(Debug)]
pub(super) struct Trees {
    owned: Vec<(Controller, HostDirectory)>,
}

impl Trees {
    pub(super) fn claim(around: &Surroundings) -> (Self, Vec<(Controller, String)>) {
        let (mut owned, mut missing) = (Vec::<(Controller, HostDirectory)>::new(), Vec::new());
        for controller in Controller::ALL {
            match place_of(around, controller) {
                None => missing
                    .push((controller, format!("no cgroup tree has the {} controller", controller.name()))),
                Some(place) => match HostDirectory::claim(&place) {
                    Ok(directory) => {
                        if controller == Controller::Memory {
                            // The kernel starts counting socket memory when the first group gets a
                            // limit, and stops with the last. Each time it patches its own code.
                            // This value limits nothing, but keeps the counting on for the life of
                            // this host.
                            let _ = set(&directory.path.join(SOCKETS), "-1");
                            if !directory.path.join(MEMORY_AND_SWAP).exists() {
                                // Where swap is not counted, it can still be avoided. Cells inherit
                                // this.
                                let _ = set(&directory.path.join("memory.swappiness"), "0");
                            }
                        }
                        owned.push((controller, directory));
                    }
                    Err(error) => missing.push((controller, format!("{}: {error}", place.display()))),
                },
            }
        }
        (Self { owned }, missing)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    pub(super) fn limits_swap(&self) -> bool {
        let memory = self.owned.iter().find(|(controller, _)| *controller == Controller::Memory);
        memory.is_some_and(|(_, owned)| owned.path.join(MEMORY_AND_SWAP).exists())
    }

    pub(super) fn create(&self, name: &str, limits: &CgroupLimits) -> Result<CellCgroup, CgroupError> {
        let mut group = CellCgroup::default();
        for (controller, owned) in &self.owned {
            let path = owned.path.join(name);
            if let Err(error) = add(&mut group, *controller, &path, limits) {
                let _ = group.remove();
                return Err(error);
            }
        }
        Ok(group)
    }
}

/// Writes to a file of the kernel's, and makes none where there is none.
fn set(file: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).open(file)?.write_all(text.as_bytes())
}

fn add(
    group: &mut CellCgroup,
    controller: Controller,
    path: &Path,
    limits: &CgroupLimits,
) -> Result<(), CgroupError> {
    match controller {
        Controller::Memory => {
            group.add(path.into(), &[("memory.limit_in_bytes", limits.memory_bytes.to_string())])?;
            let swap = path.join(MEMORY_AND_SWAP);
            if swap.exists() {
                std::fs::write(&swap, limits.memory_and_swap_bytes.to_string())
                    .map_err(CgroupError::at("set the limit", &swap))?;
            }
            // The memory limit does not include what sockets hold. Despite its name, this file
            // covers datagrams as well as streams.
            let sockets = path.join(SOCKETS);
            if sockets.exists() {
                std::fs::write(&sockets, limits.socket_bytes.to_string())
                    .map_err(CgroupError::at("set the limit", &sockets))?;
            }
            group.peak = Counter::open(&path.join("memory.max_usage_in_bytes"), CounterFormat::Number);
            group.oom = Counter::open(&path.join("memory.oom_control"), CounterFormat::Keyed("oom_kill"));
            group.memory = Some(path.join("memory.usage_in_bytes"));
        }
        Controller::Cpu => {
            const PERIOD_MICROS: f64 = 100_000.0;
            // The kernel refuses slices under one millisecond.
            let quota = (limits.cpu_quota * PERIOD_MICROS).max(1_000.0) as u64;
            group.add(
                path.into(),
                &[
                    ("cpu.cfs_period_us", (PERIOD_MICROS as u64).to_string()),
                    ("cpu.cfs_quota_us", quota.to_string()),
                ],
            )?;
        }
        Controller::CpuAccounting => {
            group.add(path.into(), &[])?;
            group.cpu = Counter::open(&path.join("cpuacct.usage"), CounterFormat::Nanoseconds);
        }
        Controller::Pids => {
            group.add(path.into(), &[("pids.max", limits.pids.to_string())])?;
            group.forks = Counter::open(&path.join("pids.events"), CounterFormat::Keyed("max"));
        }
    }
    // `tasks`, not `cgroup.procs`: a process that moves only itself avoids the lock on all forks.
    group.add_join_file(&path.join("tasks"))
}

/// Where this process is in a controller's tree. `/proc/self/cgroup` has lines like
/// `4:memory:/some/where`.
fn place_of(around: &Surroundings, controller: Controller) -> Option<PathBuf> {
    around.membership.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, place) = rest.split_once(':')?;
        if !controllers.split(',').any(|name| name == controller.name()) {
            return None;
        }
        // A tree is mounted under the controller's own name, or under the joint name of the
        // controllers that share it.
        [controller.name(), controllers].iter().find_map(|mounted| {
            let root = around.mount.join(mounted);
            let inside = root.join(place.trim_start_matches('/'));
            // In a container the root of the tree is our own group, and the path only makes sense
            // on the host. Or it is the host's, and not ours at all.
            [inside, root].into_iter().find(|path| path.is_dir() && is_ours(path))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cgroup::{Cgroups, GroupOptions};

    fn fake_machine() -> (tempfile::TempDir, Surroundings) {
        let root = tempfile::tempdir().unwrap();
        for controller in ["memory", "pids", "cpu", "cpuacct"] {
            fs::create_dir_all(root.path().join(controller).join("user/me")).unwrap();
        }
        let membership =
            "4:memory:/user/me\n3:pids:/user/me\n2:cpuacct:/user/me\n1:cpu:/user/me\n0::/\n".to_owned();
        let around =
            Surroundings { mount: root.path().into(), membership, manager: None, in_container: false };
        (root, around)
    }

    #[test]
    fn each_controller_is_found_where_this_process_is() {
        let (root, around) = fake_machine();
        let cgroups = Cgroups::detect(&around, GroupOptions::default());
        assert_eq!(cgroups.version(), "v1");
        assert!(Controller::ALL.iter().all(|controller| cgroups.has(*controller)));
        let ours: Vec<_> = fs::read_dir(root.path().join("memory/user/me")).unwrap().collect();
        assert_eq!(ours.len(), 1);
        drop(cgroups);
        assert_eq!(fs::read_dir(root.path().join("memory/user/me")).unwrap().count(), 0, "left behind");
    }

    #[test]
    fn a_controller_that_is_not_there_is_named_with_the_reason() {
        let (_root, mut around) = fake_machine();
        around.membership = around.membership.replace("3:pids:/user/me\n", "");
        let cgroups = Cgroups::detect(&around, GroupOptions::default());
        assert!(cgroups.why_missing(Controller::Pids).unwrap().reason.contains("pids"));
        assert!(cgroups.has(Controller::Memory));
    }

    #[test]
    fn directories_of_dead_hosts_are_swept_and_those_of_live_ones_are_not() {
        let (root, around) = fake_machine();
        let memory = root.path().join("memory/user/me");
        fs::create_dir_all(memory.join("belljar-1-0/cell-7")).unwrap();
        fs::create_dir_all(memory.join("belljar-server/cell-7")).unwrap();
        let alive = Cgroups::detect(&around, GroupOptions::default());
        assert!(!memory.join("belljar-1-0").exists(), "an orphan was left");
        assert!(memory.join("belljar-server/cell-7").exists(), "somebody else's directory was swept");
        let second = Cgroups::detect(&around, GroupOptions::default());
        assert_eq!(fs::read_dir(&memory).unwrap().count(), 3, "a live host's directory was swept");
        drop((alive, second));
    }
}
