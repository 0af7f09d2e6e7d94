//! The files of one group, and the rules for writing to them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, getxattr, statvfs};
use rustix::process::geteuid;

use super::super::Controller;
use super::super::membership::{in_version_2, is_ours};

/// The controllers of this version. Counting processor time needs none.
pub(super) const CONTROLLERS: [Controller; 3] = [Controller::Memory, Controller::Cpu, Controller::Pids];

/// A group of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) path: PathBuf,
}

impl Group {
    pub(super) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub(super) fn child(&self, name: &str) -> Self {
        Self::at(self.path.join(name))
    }

    fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.path.join(file))
    }

    /// Whether it is the root of the whole tree, which alone may have processes and hand
    /// controllers on. The root of a container's view is not: it has a type.
    pub(super) fn is_root(&self) -> bool {
        self.path.join("cgroup.procs").exists() && !self.path.join("cgroup.type").exists()
    }

    /// Whether systemd left its mark on it that it was delegated.
    pub(super) fn is_marked_delegated(&self) -> bool {
        ["user.delegate", "trusted.delegate"].iter().any(|name| {
            let mut value = [0; 8];
            getxattr(&self.path, *name, &mut value).is_ok_and(|read| value[..read].starts_with(b"1"))
        })
    }

    /// Whether the tree can be read here and never be written to.
    pub(super) fn is_read_only(&self) -> bool {
        statvfs(&self.path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
    }

    /// The controllers that could be handed on.
    pub(super) fn controllers(&self) -> Vec<Controller> {
        named_in(&self.read("cgroup.controllers").unwrap_or_default())
    }

    /// The controllers that groups below it have.
    pub(super) fn handed_on(&self) -> Vec<Controller> {
        named_in(&self.read("cgroup.subtree_control").unwrap_or_default())
    }

    /// The processes in it, without those in groups below.
    pub(super) fn processes(&self) -> io::Result<Vec<u32>> {
        Ok(self.read("cgroup.procs")?.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
    }

    /// Whether every process in it belongs to this process's user. One that is hidden from us does
    /// not.
    pub(super) fn is_all_ours(&self) -> bool {
        let user = geteuid().as_raw();
        let is_ours =
            |process: u32| fs::metadata(format!("/proc/{process}")).is_ok_and(|found| found.uid() == user);
        self.processes().is_ok_and(|processes| processes.into_iter().all(is_ours))
    }

    /// The limit in a file, or `None` if there is none.
    pub(super) fn limit(&self, file: &str) -> Option<u64> {
        self.read(file).ok()?.trim().parse().ok()
    }

    /// How much processor time its processes get in a second, or `None` if all that there is.
    pub(super) fn processor_micros_per_second(&self) -> Option<u64> {
        let text = self.read("cpu.max").ok()?;
        let (quota, period) = text.trim().split_once(' ')?;
        let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
        quota.checked_mul(1_000_000)?.checked_div(period)
    }

    /// Hands on each controller that we use and that is not handed on yet. Those that are not there
    /// are passed over.
    ///
    /// A group that has processes is never asked, unless it is the root. The kernel would refuse
    /// memory, but accept others, and turn the group into a threaded one for good.
    pub(super) fn hand_on(&self) -> io::Result<()> {
        let present = self.handed_on();
        let wanted: Vec<Controller> =
            self.controllers().into_iter().filter(|controller| !present.contains(controller)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        if !self.is_root() && !self.processes()?.is_empty() {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "there are processes in it"));
        }
        // One write each, so that one that is refused does not spoil the others.
        let mut result = Ok(());
        for controller in wanted {
            result = result.and(self.write("cgroup.subtree_control", &format!("+{}", controller.name())));
        }
        result
    }

    /// The opposite of [`Group::hand_on`].
    pub(super) fn withdraw(&self) -> io::Result<()> {
        for controller in self.handed_on() {
            self.write("cgroup.subtree_control", &format!("-{}", controller.name()))?;
        }
        Ok(())
    }

    /// Puts a process into it.
    pub(super) fn admit(&self, process: u32) -> io::Result<()> {
        self.write("cgroup.procs", &process.to_string())
    }

    /// Puts every process of another group into it, also those that are forked meanwhile.
    pub(super) fn admit_all_of(&self, other: &Self) -> io::Result<()> {
        const ROUNDS: usize = 1000;
        for _ in 0..ROUNDS {
            let processes = other.processes()?;
            if processes.is_empty() {
                return Ok(());
            }
            for process in processes {
                match self.admit(process) {
                    // It has ended.
                    Err(error) if error.raw_os_error() == Some(ESRCH) => {}
                    other => other?,
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "new processes keep coming"))
    }

    /// The groups below it.
    pub(super) fn children(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        directories.map(|entry| entry.path()).collect()
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        // Not `fs::write`, which would make the file if it is missing.
        let mut file = fs::File::options().write(true).open(self.path.join(file))?;
        io::Write::write_all(&mut file, text.as_bytes())
    }
}

const ESRCH: i32 = 3;

fn named_in(text: &str) -> Vec<Controller> {
    let is_named = |controller: &Controller| text.split_whitespace().any(|name| name == controller.name());
    CONTROLLERS.into_iter().filter(is_named).collect()
}

/// The group that this process is in. `None` if it is not below what is mounted here, or if what is
/// mounted here is the tree of somebody else.
pub(super) fn own_group(mount: &Path, membership: &str) -> Option<Group> {
    let place = in_version_2(membership)?;
    let is_outside = place.split('/').any(|part| part == "..");
    let path = mount.join(place.trim_start_matches('/'));
    (!is_outside && path.is_dir() && is_ours(&path)).then(|| Group::at(path))
}
