//! Version 2: one tree for all controllers.
//!
//! `place` decides below which group the groups of cells are made. It is a group that was delegated
//! (`leaf`), or one that systemd is asked for (`scope`). `group_files` has the rules for what may
//! be written into a group.

mod group_files;
mod leaf;
mod place;
mod scope;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use belljar_core::remedies;

use self::group_files::{CONTROLLERS, Group};
use self::place::Place;
use self::scope::Admission;
use super::group::{Counter, CounterFormat};
use super::{
    CellCgroup, CgroupError, CgroupLimits, Controller, GroupOptions, GroupSource, HostDirectory, Missing,
    Surroundings,
};

/// The part of the tree that this host has.
#[derive(Debug)]
pub(super) struct Tree {
    around: Surroundings,
    options: GroupOptions,
    /// Exchanged when systemd has ended it, as it does with all of a user's when they log out.
    claimed: RwLock<Arc<Claimed>>,
    /// Those that were ended. What dying cells keep of their groups is removed at the end.
    ended: Mutex<Vec<Arc<Claimed>>>,
}

/// The host's directory and where it is.
#[derive(Debug)]
struct Claimed {
    /// Dropped first. What its place becomes then depends on who is left there.
    owned: HostDirectory,
    controllers: Vec<Controller>,
    limits_swap: bool,
    place: Place,
}

/// Whether the tree mounted here is version 2, and not the empty one that sits beside version 1.
pub(super) fn is_mounted_at(mount: &Path) -> bool {
    fs::read_to_string(mount.join("cgroup.controllers")).is_ok_and(|text| !text.trim().is_empty())
}

impl Tree {
    /// Claims a directory. Also returns the controllers that groups below it do not have.
    pub(super) fn claim(
        around: &Surroundings,
        options: GroupOptions,
    ) -> Result<(Self, Vec<(Controller, Missing)>), Missing> {
        let claimed = Claimed::new(around, options)?;
        let missing = CONTROLLERS
            .into_iter()
            .filter(|controller| !claimed.controllers.contains(controller))
            .map(|controller| (controller, why_missing(controller, around, &claimed.place)))
            .collect();
        let (around, claimed) = (around.clone(), RwLock::new(Arc::new(claimed)));
        Ok((Self { around, options, claimed, ended: Mutex::default() }, missing))
    }

    fn claimed(&self) -> Arc<Claimed> {
        Arc::clone(&self.claimed.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn source(&self) -> GroupSource {
        match &self.claimed().place {
            Place::Root(_) => GroupSource::Root,
            Place::Delegated(delegated) => {
                let inside = delegated.group.path.strip_prefix(&self.around.mount).unwrap_or(Path::new(""));
                GroupSource::Delegated { group: Path::new("/").join(inside) }
            }
            Place::Scope(scope) => {
                GroupSource::Scope { unit: scope.unit.clone(), manager: scope.manager.name() }
            }
        }
    }

    /// Puts a helper where its cells can be moved from.
    pub(super) fn admit(&self, helper: u32) -> Result<(), String> {
        // Somebody may end one scope after the other, but hardly for long.
        const ATTEMPTS: usize = 5;
        let mut claimed = self.claimed();
        for _ in 0..ATTEMPTS {
            match &claimed.place {
                Place::Scope(scope) => match scope.admit(helper)? {
                    Admission::Admitted => return Ok(()),
                    Admission::ScopeIsGone => claimed = self.claim_again(&claimed)?,
                },
                // It is there already, with the process that started it.
                Place::Delegated(_) | Place::Root(_) => return Ok(()),
            }
        }
        Err("systemd ends every scope of its cells at once".into())
    }

    /// Lets go of what only waits for more cells.
    pub(super) fn settle(&self) {
        if let Place::Scope(scope) = &self.claimed().place {
            scope.let_go();
        }
    }

    /// Asks for another place where systemd has ended the one there was. It must have every
    /// controller that was promised.
    fn claim_again(&self, ended: &Arc<Claimed>) -> Result<Arc<Claimed>, String> {
        let mut current = self.claimed.write().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&current, ended) {
            return Ok(Arc::clone(&current));
        }
        let claimed = Claimed::new(&self.around, self.options).map_err(|Missing { reason, remedy }| {
            format!(
                "systemd has ended the scope of its cells, and there is no other: {reason}. {}",
                remedy.text
            )
        })?;
        let lost = ended.controllers.iter().find(|controller| !claimed.controllers.contains(controller));
        if let Some(lost) = lost {
            return Err(format!("systemd no longer hands on the controller {}", lost.name()));
        }
        let mut past = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        past.retain(|claimed| claimed.owned.path.exists());
        past.push(std::mem::replace(&mut *current, Arc::new(claimed)));
        Ok(Arc::clone(&current))
    }

    pub(super) fn limits_swap(&self) -> bool {
        self.claimed().limits_swap
    }

    pub(super) fn create(&self, name: &str, limits: &CgroupLimits) -> Result<CellCgroup, CgroupError> {
        let claimed = self.claimed();
        claimed.create(name, limits).map_err(|error| match &claimed.place {
            Place::Scope(scope) if scope.is_gone() => CgroupError::ScopeEnded { unit: scope.unit.clone() },
            _ => error,
        })
    }
}

impl Claimed {
    fn new(around: &Surroundings, options: GroupOptions) -> Result<Self, Missing> {
        let (place, owned) = place::find(around, options)?;
        let directory = Group::at(&owned.path);
        directory.hand_on().map_err(|error| Missing {
            reason: format!("{}: {error}", owned.path.display()),
            remedy: &remedies::DELEGATE,
        })?;
        let limits_swap = owned.path.join("memory.swap.max").exists();
        Ok(Self { controllers: directory.handed_on(), limits_swap, owned, place })
    }

    fn create(&self, name: &str, limits: &CgroupLimits) -> Result<CellCgroup, CgroupError> {
        const PERIOD_MICROS: f64 = 100_000.0;
        let path = self.owned.path.join(name);
        let mut settings = Vec::new();
        for controller in &self.controllers {
            match controller {
                Controller::Memory => {
                    settings.push(("memory.max", limits.memory_bytes.to_string()));
                    // This file counts swap alone, but the config counts it together with memory.
                    let swap = limits.memory_and_swap_bytes.saturating_sub(limits.memory_bytes);
                    if self.limits_swap {
                        settings.push(("memory.swap.max", swap.to_string()));
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

/// Why a controller is not handed on to us.
fn why_missing(controller: Controller, around: &Surroundings, place: &Place) -> Missing {
    let name = controller.name();
    if !Group::at(&around.mount).controllers().contains(&controller) && !around.in_container {
        return Missing {
            reason: format!("the kernel was booted without the controller {name}"),
            remedy: &remedies::BOOT_CONTROLLER,
        };
    }
    let remedy = match place {
        _ if around.in_container => &remedies::CONTAINER_GROUPS,
        // What a user's manager was not given, it cannot hand on to a service of its own either.
        _ if place.group().path.iter().any(place::is_user_manager) => &remedies::USER_CONTROLLERS,
        _ => &remedies::DELEGATE,
    };
    Missing { reason: format!("{} is not given the controller {name}", place.group().path.display()), remedy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::Cgroups;
    use crate::systemd::Manager;

    fn surroundings(mount: &Path, membership: &str) -> Surroundings {
        let (mount, membership) = (mount.into(), membership.into());
        Surroundings { mount, membership, manager: None, in_container: false }
    }

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
        let around = surroundings(root.path(), "0::/app.slice\n");
        (root, around)
    }

    #[test]
    fn an_empty_companion_of_the_first_generation_is_not_taken() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("cgroup.controllers"), "\n").unwrap();
        assert!(!is_mounted_at(root.path()));
        assert_eq!(
            Cgroups::detect(&surroundings(root.path(), "0::/\n"), GroupOptions::default()).version(),
            "none"
        );
    }

    #[test]
    fn what_is_handed_on_is_topped_up() {
        let (root, _) = fake_tree("memory pids\n");
        let own = Group::at(root.path().join("app.slice"));
        fs::write(own.path.join("cgroup.procs"), "").unwrap();
        assert_eq!(own.handed_on(), [Controller::Memory, Controller::Pids]);
        own.hand_on().unwrap();
        assert!(fs::read_to_string(own.path.join("cgroup.subtree_control")).unwrap().starts_with("+cpu"));
    }

    #[test]
    fn a_group_with_processes_is_never_told_to_hand_anything_on() {
        let (root, _) = fake_tree("");
        let own = Group::at(root.path().join("app.slice"));
        fs::write(own.path.join("cgroup.procs"), "812\n").unwrap();
        fs::write(own.path.join("cgroup.type"), "domain\n").unwrap();
        assert_eq!(own.hand_on().unwrap_err().kind(), std::io::ErrorKind::ResourceBusy);
        assert_eq!(fs::read_to_string(own.path.join("cgroup.subtree_control")).unwrap(), "");
    }

    #[test]
    fn a_group_that_nobody_delegated_is_left_alone() {
        let (root, mut around) = fake_tree("");
        let own = root.path().join("app.slice");
        for (file, text) in [("cgroup.procs", ""), ("cgroup.type", "domain\n")] {
            fs::write(own.join(file), text).unwrap();
            fs::write(root.path().join(file), text).unwrap();
        }
        // Who is root and finds no systemd takes its own group. So there is one here.
        around.manager = Some(Manager::at_nowhere(true));
        let cgroups = Cgroups::detect(&around, GroupOptions::default());
        assert_eq!(cgroups.source(), GroupSource::None);
        assert!(cgroups.why_missing(Controller::Memory).unwrap().reason.contains("is not there"));
        assert_eq!(Group::at(&own).children(), Vec::<std::path::PathBuf>::new());
        assert_eq!(Group::at(&own).handed_on(), []);
    }

    #[test]
    fn who_must_not_be_moved_is_told_how_cells_can_have_groups() {
        let (root, mut around) = fake_tree("");
        // The tree of a container: its root has a type, and is this process's own group.
        for (file, text) in [("cgroup.procs", ""), ("cgroup.type", "domain\n")] {
            fs::write(root.path().join(file), text).unwrap();
        }
        around.membership = "0::/\n".into();
        let source = |around: &Surroundings, move_processes| {
            let cgroups = Cgroups::detect(around, GroupOptions { move_processes });
            (cgroups.source(), cgroups.why_missing(Controller::Memory).map(|missing| missing.remedy))
        };
        let taken = GroupSource::Delegated { group: "/".into() };
        assert_eq!(source(&around, false), (GroupSource::None, Some(&remedies::MOVE_PROCESSES)));
        assert_eq!(source(&around, true).0, taken);
        // Who is below the group already needs no move.
        fs::create_dir(root.path().join(leaf::LEAF)).unwrap();
        around.membership = format!("0::/{}\n", leaf::LEAF);
        assert_eq!(source(&around, false).0, taken);
    }

    /// Limits that any tree of plain files takes.
    const LIMITS: CgroupLimits = CgroupLimits {
        memory_bytes: 256 << 20,
        memory_and_swap_bytes: 384 << 20,
        socket_bytes: 4 << 20,
        cpu_quota: 0.5,
        pids: 64,
    };

    #[test]
    fn whoever_asks_for_a_group_hears_that_systemd_has_ended_the_scope() {
        let (root, mut around) = fake_tree("");
        around.manager = Some(Manager::at_nowhere(false));
        let scope = scope::Scope::held_at(root.path());
        let owned = HostDirectory::claim(root.path()).unwrap();
        fs::remove_dir(&owned.path).unwrap();
        let claimed = Claimed { owned, controllers: vec![], limits_swap: false, place: Place::Scope(scope) };
        let tree = Tree {
            around,
            options: GroupOptions::default(),
            claimed: RwLock::new(Arc::new(claimed)),
            ended: Mutex::default(),
        };
        assert!(matches!(tree.create("cell-1", &LIMITS), Err(CgroupError::Refused { .. })));
        if let Place::Scope(scope) = &tree.claimed().place {
            scope.begin_to_end();
        }
        let said = tree.create("cell-1", &LIMITS).unwrap_err();
        assert!(
            matches!(&said, CgroupError::ScopeEnded { unit } if unit == "belljar-cells-1-0.scope"),
            "{said}"
        );
        // A helper is put into another scope, if there is one.
        assert!(tree.admit(812).unwrap_err().contains("and there is no other: systemd is not there"));
    }

    #[test]
    fn limits_are_written_in_the_second_generations_words() {
        let (root, _) = fake_tree("cpu memory pids\n");
        let owned = HostDirectory::claim(root.path()).unwrap();
        let cell = owned.path.join("cell-1");
        let tree = Claimed {
            owned,
            controllers: CONTROLLERS.into(),
            limits_swap: true,
            place: Place::Root(Group::at(root.path())),
        };
        // Plain files do not appear in a new directory by themselves. So the join file is missing
        // and the group is removed again...
        let error = tree.create("cell-1", &LIMITS).unwrap_err();
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
