//! One cell's group, whichever interface it is made of.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::CgroupError;

/// What the kernel counted for one cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CgroupUsage {
    /// Processor time of everything that was in the group.
    pub cpu_micros: Option<u64>,
    /// The largest charge.
    pub peak_memory_bytes: Option<u64>,
    /// Processes killed for memory.
    pub oom_kills: u64,
    /// Forks refused at the limit.
    pub forks_refused: u64,
}

/// How to read a number that the kernel counts.
#[derive(Debug, Clone)]
pub(super) enum Reading {
    /// The whole file is the number, in nanoseconds.
    Nanoseconds(PathBuf),
    /// The whole file is the number.
    Number(PathBuf),
    /// The number after a key in a file of `key number` lines.
    Keyed(PathBuf, &'static str),
}

impl Reading {
    pub(super) fn read(&self) -> Option<u64> {
        match self {
            Self::Nanoseconds(path) => read_number(path).map(|nanos| nanos / 1000),
            Self::Number(path) => read_number(path),
            Self::Keyed(path, key) => fs::read_to_string(path)
                .ok()?
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok()),
        }
    }
}

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// One cell's group. [`CellCgroup::remove`] it once nothing is left in it.
#[derive(Debug, Default)]
pub struct CellCgroup {
    pub(super) directories: Vec<PathBuf>,
    pub(super) join: Vec<File>,
    pub(super) cpu: Option<Reading>,
    pub(super) peak: Option<Reading>,
    pub(super) oom: Option<Reading>,
    pub(super) forks: Option<Reading>,
}

impl CellCgroup {
    /// The files a cell writes `0` to in order to join.
    pub fn join_files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.join.iter().map(AsFd::as_fd)
    }

    /// Closes them: a cell joins once.
    pub fn close_join_files(&mut self) {
        self.join.clear();
    }

    /// What has been counted so far.
    pub fn usage(&self) -> CgroupUsage {
        let read = |reading: &Option<Reading>| reading.as_ref().and_then(Reading::read);
        CgroupUsage {
            cpu_micros: read(&self.cpu),
            peak_memory_bytes: read(&self.peak),
            oom_kills: read(&self.oom).unwrap_or(0),
            forks_refused: read(&self.forks).unwrap_or(0),
        }
    }

    /// Whether a process is still in it.
    pub fn is_populated(&self) -> bool {
        self.directories.iter().any(|path| {
            fs::read_to_string(path.join("cgroup.procs")).is_ok_and(|pids| !pids.trim().is_empty())
        })
    }

    /// Removes it. `WouldBlock` while a process is still in it.
    pub fn remove(&mut self) -> io::Result<()> {
        self.join.clear();
        while let Some(path) = self.directories.last() {
            match fs::remove_dir(path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(error) => return Err(error),
            }
            self.directories.pop();
        }
        Ok(())
    }

    /// Makes one directory and writes its limits.
    pub(super) fn add(&mut self, path: PathBuf, settings: &[(&str, String)]) -> Result<(), CgroupError> {
        fs::create_dir(&path).map_err(CgroupError::at("make the control group", &path))?;
        self.directories.push(path.clone());
        for (file, value) in settings {
            let file = path.join(file);
            fs::write(&file, value).map_err(CgroupError::at("set the limit", &file))?;
        }
        Ok(())
    }

    /// Opens the file by which a cell joins one directory.
    pub(super) fn add_join_file(&mut self, path: &Path) -> Result<(), CgroupError> {
        let file = File::options().write(true).open(path).map_err(CgroupError::at("open", path))?;
        self.join.push(file);
        Ok(())
    }
}
