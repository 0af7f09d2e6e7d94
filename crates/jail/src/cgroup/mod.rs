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
mod v1;
mod v2;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::shortage::shortage_of;

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
    /// Bytes of memory and swap together. `None` means no limit on swap.
    pub memory_and_swap_bytes: Option<u64>,
    /// Bytes that sockets may hold, on kernels that count them apart from other memory.
    pub socket_bytes: u64,
    /// Processor cores, as a fraction.
    pub cpu_quota: f64,
    /// Processes and threads.
    pub pids: u64,
}

/// A cgroup operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {path}{}", shortage_of(source))]
pub struct CgroupError {
    action: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl CgroupError {
    fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { action, path, source }
    }
}

/// The cgroup trees this process may use. There may be none.
#[derive(Debug)]
pub struct Cgroups {
    trees: Trees,
    missing: Vec<(Controller, String)>,
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
}

impl Surroundings {
    /// The surroundings of this process.
    pub fn of_this_process() -> Self {
        Self {
            mount: PathBuf::from("/sys/fs/cgroup"),
            membership: fs::read_to_string("/proc/self/cgroup").unwrap_or_default(),
        }
    }
}

impl Cgroups {
    /// Claims every controller it can, and keeps the reason for each one it cannot.
    pub fn detect(around: &Surroundings) -> Self {
        if v2::is_mounted_at(&around.mount) {
            return match v2::Tree::claim(around) {
                Ok((tree, missing)) => Self { trees: Trees::V2(tree), missing },
                Err(reason) => Self::none(&reason),
            };
        }
        let (trees, missing) = v1::Trees::claim(around);
        if trees.is_empty() {
            Self { trees: Trees::None, missing }
        } else {
            Self { trees: Trees::V1(trees), missing }
        }
    }

    /// A machine where cgroups limit nothing.
    pub fn none(reason: &str) -> Self {
        Self {
            trees: Trees::None,
            missing: Controller::ALL.map(|controller| (controller, reason.to_owned())).into(),
        }
    }

    /// Why a controller cannot be used, or `None` if it can.
    pub fn why_missing(&self, controller: Controller) -> Option<&str> {
        self.missing.iter().find(|(missing, _)| *missing == controller).map(|(_, reason)| reason.as_str())
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

/// The directory of this host in one tree, with the lock that shows the host is alive.
#[derive(Debug)]
struct HostDirectory {
    path: PathBuf,
    _lock: OwnedFd,
}

const PREFIX: &str = "belljar-";

impl HostDirectory {
    /// Makes the directory below `parent`, after removing what dead hosts left there.
    fn claim(parent: &Path) -> io::Result<Self> {
        const ATTEMPTS: u32 = 1000;
        sweep(parent);
        for attempt in 0..ATTEMPTS {
            let path = parent.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    // Another host that starts right now may lock this directory first, and take it
                    // for an orphan.
                    if let Some(lock) = lock(&path)? {
                        return Ok(Self { path, _lock: lock });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "every name for a control group is taken"))
    }
}

/// Locks a directory. Returns `None` if somebody else holds the lock or has removed the directory.
fn lock(path: &Path) -> io::Result<Option<OwnedFd>> {
    use rustix::fs::FlockOperation::NonBlockingLockExclusive;
    let directory = match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match rustix::fs::flock(&directory, NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    // A host that removes an orphan locks it first, so check that the directory is still there.
    let is_there = fs::metadata(path).is_ok_and(|found| {
        directory.metadata().is_ok_and(|held| (found.dev(), found.ino()) == (held.dev(), held.ino()))
    });
    Ok(is_there.then(|| directory.into()))
}

/// Whether a directory's name is one that [`HostDirectory::claim`] gives. Other programs may use
/// the same prefix.
fn is_host_directory(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, attempt)| is_number(process) && is_number(attempt))
}

impl Drop for HostDirectory {
    fn drop(&mut self) {
        remove_tree(&self.path);
    }
}

/// Removes the directories of dead hosts. The kernel refuses to remove one with a process in it.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| is_host_directory(path)) {
        if let Ok(Some(_lock)) = lock(&path) {
            remove_tree(&path);
        }
    }
}

/// Removes a group and the groups below it. Their files are the kernel's and go with them.
fn remove_tree(path: &Path) {
    if let Ok(entries) = fs::read_dir(path) {
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let _ = fs::remove_dir(entry.path());
        }
    }
    let _ = fs::remove_dir(path);
}
