//! Version 2: one tree for all controllers.
//!
//! A group that has processes in it cannot delegate controllers to groups below it, except at the
//! root of the tree. So there are two places for the cells' groups:
//!
//! - Below our own group, if it already delegates the controllers (systemd's `Delegate=yes`, with a
//!   leaf for the host process).
//! - At the top of the tree, if we are root and may write there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::group::{Counter, CounterFormat};
use super::{CellCgroup, CgroupError, CgroupLimits, Controller, HostDirectory, Surroundings};

/// The host's directory in the tree.
#[derive(Debug)]
pub(super) struct Tree {
    owned: HostDirectory,
    controllers: Vec<Controller>,
}

/// The controllers of this version. Counting processor time needs none.
const CONTROLLERS: [Controller; 3] = [Controller::Memory, Controller::Cpu, Controller::Pids];

/// Whether the tree mounted here is version 2, and not the empty one that sits beside version 1.
pub(super) fn is_mounted_at(mount: &Path) -> bool {
    fs::read_to_string(mount.join("cgroup.controllers")).is_ok_and(|text| !text.trim().is_empty())
}

impl Tree {
    /// Claims a directory at the first place that delegates controllers. Also returns the
    /// controllers it does not delegate.
    pub(super) fn claim(around: &Surroundings) -> Result<(Self, Vec<(Controller, String)>), String> {
        let mut reasons = Vec::new();
        for parent in candidates(around) {
            match Self::claim_below(&parent) {
                Ok(tree) => {
                    let missing = CONTROLLERS
                        .into_iter()
                        .filter(|controller| !tree.controllers.contains(controller))
                        .map(|controller| {
                            (
                                controller,
                                format!("{} does not hand on {}", parent.display(), controller.name()),
                            )
                        })
                        .collect();
                    return Ok((tree, missing));
                }
                Err(error) => reasons.push(format!("{}: {error}", parent.display())),
            }
        }
        Err(if reasons.is_empty() {
            "no cgroup v2 group of ours was found".into()
        } else {
            reasons.join("; ")
        })
    }

    fn claim_below(parent: &Path) -> io::Result<Self> {
        if delegated_controllers(parent).is_empty() {
            delegate_controllers(parent)?;
        }
        let owned = HostDirectory::claim(parent)?;
        delegate_controllers(&owned.path)?;
        let controllers = delegated_controllers(&owned.path);
        Ok(Self { owned, controllers })
    }

    pub(super) fn limits_swap(&self) -> bool {
        self.owned.path.join("memory.swap.max").exists()
    }

    pub(super) fn create(&self, name: &str, limits: &CgroupLimits) -> Result<CellCgroup, CgroupError> {
        const PERIOD_MICROS: f64 = 100_000.0;
        let path = self.owned.path.join(name);
        let mut settings = Vec::new();
        for controller in &self.controllers {
            match controller {
                Controller::Memory => {
                    settings.push(("memory.max", limits.memory_bytes.to_string()));
                    // This file counts swap alone, but the config counts it together with memory.
                    let swap = limits.memory_and_swap_bytes.map_or("max".to_owned(), |both| {
                        both.saturating_sub(limits.memory_bytes).to_string()
                    });
                    if self.limits_swap() {
                        settings.push(("memory.swap.max", swap));
                    }
                }
                Controller::Cpu => {
                    let quota = (limits.cpu_quota * PERIOD_MICROS).max(1_000.0) as u64;
                    settings.push(("cpu.max", format!("{quota} {}", PERIOD_MICROS as u64)));
                }
                Controller::Pids => settings.push(("pids.max", limits.pids.to_string())),
                Controller::CpuAccounting => {}
            }
        }
        let mut group = CellCgroup::default();
        let made =
            group.add(path.clone(), &settings).and_then(|()| group.add_join_file(&path.join("cgroup.procs")));
        if let Err(error) = made {
            let _ = group.remove();
            return Err(error);
        }
        group.cpu = Counter::open(&path.join("cpu.stat"), CounterFormat::Keyed("usage_usec"));
        group.peak = Counter::open(&path.join("memory.peak"), CounterFormat::Number);
        group.oom = Counter::open(&path.join("memory.events"), CounterFormat::Keyed("oom_kill"));
        group.memory = Some(path.join("memory.current"));
        group.forks = Counter::open(&path.join("pids.events"), CounterFormat::Keyed("max"));
        Ok(group)
    }
}

/// Our own group first, then the top of the tree.
fn candidates(around: &Surroundings) -> Vec<PathBuf> {
    let own = around
        .membership
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .map(|place| around.mount.join(place.trim_start_matches('/')))
        .filter(|path| path.is_dir());
    let mut places: Vec<PathBuf> = own.into_iter().collect();
    if !places.contains(&around.mount) {
        places.push(around.mount.clone());
    }
    places
}

fn delegated_controllers(group: &Path) -> Vec<Controller> {
    let text = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    CONTROLLERS
        .into_iter()
        .filter(|controller| text.split_whitespace().any(|name| name == controller.name()))
        .collect()
}

/// Asks a group to delegate each controller we use. One write each, so that a missing controller
/// does not spoil the others.
fn delegate_controllers(group: &Path) -> io::Result<()> {
    let file = group.join("cgroup.subtree_control");
    let available = fs::read_to_string(group.join("cgroup.controllers"))?;
    let mut result = Err(io::Error::new(io::ErrorKind::Unsupported, "no controller is available there"));
    for controller in CONTROLLERS {
        if available.split_whitespace().any(|name| name == controller.name()) {
            result = fs::write(&file, format!("+{}", controller.name()));
            if result.is_err() {
                break;
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::Cgroups;

    /// A tree of plain files. Each test prepares what the kernel would do: new files in new groups,
    /// `+memory` becoming `memory`.
    fn fake_tree(own_delegates: &str) -> (tempfile::TempDir, Surroundings) {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("cgroup.controllers"), "cpuset cpu io memory pids\n").unwrap();
        fs::write(root.path().join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        let own = root.path().join("app.slice");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
        fs::write(own.join("cgroup.subtree_control"), own_delegates).unwrap();
        let around = Surroundings { mount: root.path().into(), membership: "0::/app.slice\n".into() };
        (root, around)
    }

    #[test]
    fn an_empty_companion_of_the_first_generation_is_not_taken() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("cgroup.controllers"), "\n").unwrap();
        assert!(!is_mounted_at(root.path()));
        assert_eq!(
            Cgroups::detect(&Surroundings { mount: root.path().into(), membership: "0::/\n".into() })
                .version(),
            "none"
        );
    }

    #[test]
    fn our_own_group_comes_before_the_top_of_the_tree() {
        let (root, around) = fake_tree("memory pids\n");
        assert_eq!(candidates(&around), [root.path().join("app.slice"), root.path().to_owned()]);
        assert_eq!(
            delegated_controllers(&root.path().join("app.slice")),
            [Controller::Memory, Controller::Pids]
        );
    }

    #[test]
    fn limits_are_written_in_the_second_generations_words() {
        let (root, _) = fake_tree("cpu memory pids\n");
        let owned = HostDirectory::claim(root.path()).unwrap();
        fs::write(owned.path.join("memory.swap.max"), "max").unwrap();
        let cell = owned.path.join("cell-1");
        let tree = Tree { owned, controllers: CONTROLLERS.into() };
        let limits = CgroupLimits {
            memory_bytes: 256 << 20,
            memory_and_swap_bytes: Some(384 << 20),
            socket_bytes: 4 << 20,
            cpu_quota: 0.5,
            pids: 64,
        };
        // Plain files do not appear in a new directory by themselves. So the join file is missing
        // and the group is removed again...
        let error = tree.create("cell-1", &limits).unwrap_err();
        assert!(error.to_string().contains("cgroup.procs"), "{error}");
        // ...but the limits had been written by then.
        let read = |file: &str| fs::read_to_string(cell.join(file)).unwrap();
        assert_eq!(read("memory.max"), (256u64 << 20).to_string());
        assert_eq!(read("memory.swap.max"), (128u64 << 20).to_string());
        assert_eq!(read("cpu.max"), "50000 100000");
        assert_eq!(read("pids.max"), "64");
    }

    #[test]
    fn counters_are_read_in_the_second_generations_words() {
        let root = tempfile::tempdir().unwrap();
        let at = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::write(&path, text).unwrap();
            path
        };
        let stat = at("cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
        assert_eq!(Counter::open(&stat, CounterFormat::Keyed("usage_usec")).unwrap().read(), Some(1234));
        let events = at("memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 1\n");
        assert_eq!(Counter::open(&events, CounterFormat::Keyed("oom_kill")).unwrap().read(), Some(2));
        let peak = at("memory.peak", "4096\n");
        assert_eq!(Counter::open(&peak, CounterFormat::Number).unwrap().read(), Some(4096));
    }
}
