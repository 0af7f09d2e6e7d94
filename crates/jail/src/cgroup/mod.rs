//! Limits and counts that the kernel keeps for a cell: memory, processor time, processes.
//!
//! Both versions of the interface are in use on real machines, so both are here: `v1` (one tree per
//! controller) and `v2` (one tree for all).
//!
//! The host makes a directory of its own in each tree, and below it one directory per cell. It
//! holds a lock on its directory while it lives. A directory that nobody locks belonged to a host
//! that died. The next host removes it.
//!
//! Cells join by themselves: they write to files the host opened for them. Moving another process
//! takes a kernel lock that costs milliseconds. A cell that moves itself, as the only member of its
//! thread group, does not need that lock.

mod group;
mod host_directory;
mod membership;
mod v1;
mod v2;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use belljar_core::remedies::{self, Remedy};
use rustix::process::geteuid;

use self::host_directory::HostDirectory;
use crate::shortage::shortage_of;
use crate::systemd::Manager;

pub use group::{CellCgroup, CgroupUsage};

/// The controllers Belljar uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Controller {
    /// Limits memory; counts its peak and the kernel's kills.
    Memory,
    /// Limits processor time.
    Cpu,
    /// Counts processor time.
    CpuAccounting,
    /// Limits processes and threads.
    Pids,
}

impl Controller {
    const ALL: [Self; 4] = [Self::Memory, Self::Cpu, Self::CpuAccounting, Self::Pids];

    /// The kernel's name for the controller.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::CpuAccounting => "cpuacct",
            Self::Pids => "pids",
        }
    }
}

/// The limits of one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CgroupLimits {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of memory and swap together. As many as of memory alone if there is to be no swap.
    pub memory_and_swap_bytes: u64,
    /// Bytes that sockets may hold, on kernels that count them apart from other memory.
    pub socket_bytes: u64,
    /// Processor cores, as a fraction.
    pub cpu_quota: f64,
    /// Processes and threads.
    pub pids: u64,
}

/// A cgroup operation that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CgroupError {
    /// The kernel said no.
    #[error("cannot {action} {path}{}", shortage_of(source))]
    Refused {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// Systemd has ended the scope, and with it every helper, zygote and cell in it. There is
    /// another one as soon as there is a helper again.
    #[error("systemd has ended {unit}, in which its cells were")]
    ScopeEnded {
        /// The scope's name.
        unit: String,
    },
}

impl CgroupError {
    fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Refused { action, path, source }
    }
}

/// Why a controller cannot be used, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Why it cannot be used.
    pub reason: String,
    /// What to do about it.
    pub remedy: &'static Remedy,
}

/// What an embedding program allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupOptions {
    /// Whether the processes of a delegated group may be moved into a group below it. The kernel
    /// lets no group have both processes and groups with limits. All processes of the group are
    /// moved, also those of other programs.
    pub move_processes: bool,
}

impl Default for GroupOptions {
    fn default() -> Self {
        Self { move_processes: true }
    }
}

/// Where the groups of cells come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupSource {
    /// There are none.
    None,
    /// Version 1, below the groups that this process is in.
    V1,
    /// The root of the tree of version 2.
    Root,
    /// A group of version 2 that this process is in, or was until its processes were moved.
    Delegated {
        /// Its name in the tree, which begins with a slash.
        group: PathBuf,
    },
    /// A scope of our own.
    Scope {
        /// Its name.
        unit: String,
        /// Who made it.
        manager: &'static str,
    },
}

impl fmt::Display for GroupSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::V1 => f.write_str("v1"),
            Self::Root => f.write_str("v2, at the root of the tree"),
            Self::Delegated { group } => write!(f, "v2, below {}", group.display()),
            Self::Scope { unit, manager } => write!(f, "v2, in {unit}, made by {manager}"),
        }
    }
}

/// Where cgroup file systems are mounted on every machine.
const MOUNT: &str = "/sys/fs/cgroup";

/// The cgroup trees this process may use. There may be none.
#[derive(Debug)]
pub struct Cgroups {
    trees: Trees,
    missing: Vec<(Controller, Missing)>,
}

#[derive(Debug)]
enum Trees {
    None,
    V1(v1::Trees),
    V2(v2::Tree),
}

/// Where cgroup file systems are mounted, and where this process is in them.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Where cgroup file systems are mounted.
    pub mount: PathBuf,
    /// The text of `/proc/self/cgroup`.
    pub membership: String,
    /// The systemd that may be asked for a group.
    pub manager: Option<Manager>,
    /// Docker, Podman, Kubernetes or similar.
    pub in_container: bool,
}

impl Surroundings {
    /// The surroundings of this process.
    pub fn of_this_process() -> Self {
        Self {
            mount: PathBuf::from(MOUNT),
            membership: fs::read_to_string("/proc/self/cgroup").unwrap_or_default(),
            manager: Manager::of_this_process(),
            in_container: crate::circumstances::is_container(),
        }
    }

    /// The text of `/proc/self/cgroup` as it is now: another Belljar may have moved this process.
    fn membership_now(&self) -> String {
        match self.mount == Path::new(MOUNT) {
            true => fs::read_to_string("/proc/self/cgroup").unwrap_or_default(),
            false => self.membership.clone(),
        }
    }
}

impl Cgroups {
    /// Claims every controller it can, and keeps the reason for each one it cannot. May ask
    /// systemd, which takes some milliseconds.
    pub fn detect(around: &Surroundings, options: GroupOptions) -> Self {
        if v2::is_mounted_at(&around.mount) {
            return match v2::Tree::claim(around, options) {
                Ok((tree, missing)) => Self { trees: Trees::V2(tree), missing },
                Err(missing) => Self::lacking(&missing),
            };
        }
        let (trees, missing) = v1::Trees::claim(around);
        let remedy = match (around.in_container, geteuid().is_root()) {
            (true, _) => &remedies::CONTAINER_GROUPS,
            (false, false) => &remedies::RUN_AS_ROOT,
            (false, true) => &remedies::BOOT_CONTROLLER,
        };
        let missing = missing
            .into_iter()
            .map(|(controller, reason)| (controller, Missing { reason, remedy }))
            .collect();
        Self { trees: if trees.is_empty() { Trees::None } else { Trees::V1(trees) }, missing }
    }

    /// A machine where cgroups limit nothing.
    pub fn none(reason: &str) -> Self {
        Self::lacking(&Missing { reason: reason.to_owned(), remedy: &remedies::RUN_AS_ROOT })
    }

    fn lacking(missing: &Missing) -> Self {
        let missing = Controller::ALL.map(|controller| (controller, missing.clone())).into();
        Self { trees: Trees::None, missing }
    }

    /// Why a controller cannot be used, or `None` if it can.
    pub fn why_missing(&self, controller: Controller) -> Option<&Missing> {
        self.missing.iter().find(|(missing, _)| *missing == controller).map(|(_, why)| why)
    }

    /// Where the groups of cells come from.
    pub fn source(&self) -> GroupSource {
        match &self.trees {
            Trees::None => GroupSource::None,
            Trees::V1(_) => GroupSource::V1,
            Trees::V2(tree) => tree.source(),
        }
    }

    /// Lets go of what only waits for more cells. If there are more, it is claimed again.
    pub fn settle(&self) {
        if let Trees::V2(tree) = &self.trees {
            tree.settle();
        }
    }

    /// Puts a helper where its cells can be moved from, before it makes a jail.
    pub(crate) fn admit(&self, helper: u32) -> io::Result<()> {
        match &self.trees {
            Trees::None | Trees::V1(_) => Ok(()),
            Trees::V2(tree) => tree.admit(helper).map_err(io::Error::other),
        }
    }

    /// Whether a controller can be used.
    pub fn has(&self, controller: Controller) -> bool {
        self.why_missing(controller).is_none()
    }

    /// The interface in use, as text for people.
    pub fn version(&self) -> &'static str {
        match self.trees {
            Trees::None => "none",
            Trees::V1(_) => "v1",
            Trees::V2(_) => "v2",
        }
    }

    /// Whether memory and swap can be limited together.
    pub fn limits_swap(&self) -> bool {
        match &self.trees {
            Trees::None => false,
            Trees::V1(trees) => trees.limits_swap(),
            Trees::V2(tree) => tree.limits_swap(),
        }
    }

    /// Makes a cell's group and sets its limits.
    pub fn create(&self, name: &str, limits: &CgroupLimits) -> Result<CellCgroup, CgroupError> {
        match &self.trees {
            Trees::None => Ok(CellCgroup::default()),
            Trees::V1(trees) => trees.create(name, limits),
            Trees::V2(tree) => tree.create(name, limits),
        }
    }
}
