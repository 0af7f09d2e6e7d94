//! One cell's group, whichever interface it is made of.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
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
    pub oom_kills: Option<u64>,
    /// Forks refused at the limit.
    pub forks_refused: Option<u64>,
}

/// A number that the kernel counts, in a file kept open: it is read at the end of every run.
#[derive(Debug)]
pub(super) struct Reading {
    file: File,
    form: Form,
}

/// How the number stands in its file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// All of it, in nanoseconds.
    Nanoseconds,
    /// All of it.
    Number,
    /// After a key, in a file of `key number` lines.
    Keyed(&'static str),
}

impl Reading {
    /// Opens a counter; `None` where this kernel has it not.
    pub(super) fn open(path: &Path, form: Form) -> Option<Self> {
        Some(Self { file: File::open(path).ok()?, form })
    }

    pub(super) fn read(&self) -> Option<u64> {
        let mut buffer = [0; 512];
        let read = self.file.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..read]).ok()?;
        match self.form {
            Form::Nanoseconds => text.trim().parse::<u64>().ok().map(|nanos| nanos / 1000),
            Form::Number => text.trim().parse().ok(),
            Form::Keyed(key) => {
                text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
            }
        }
    }
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
    /// What memory it has now, in a file beside `memory.stat`.
    pub(super) memory: Option<PathBuf>,
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
            oom_kills: read(&self.oom),
            forks_refused: read(&self.forks),
        }
    }

    /// Bytes that files in memory still take. None may be left once every process and mount of the cell is gone, but a
    /// file can be on its way in the queue of a socket that is itself on its way, until the kernel has found them all.
    pub fn files_in_memory(&self) -> u64 {
        // The first is cheap and almost always enough to know.
        const NOTHING_TO_SPEAK_OF: u64 = 256 << 10;
        let read =
            |path: &Path, form| Reading::open(path, form).and_then(|reading| reading.read()).unwrap_or(0);
        match &self.memory {
            Some(now) if read(now, Form::Number) > NOTHING_TO_SPEAK_OF => {
                read(&now.with_file_name("memory.stat"), Form::Keyed("shmem"))
            }
            _ => 0,
        }
    }

    /// Removes it. `WouldBlock` while a process is still in it.
    pub fn remove(&mut self) -> io::Result<()> {
        self.join.clear();
        // An open counter does not keep a group alive, but the descriptors are of no use any more.
        (self.cpu, self.peak, self.oom, self.forks) = (None, None, None, None);
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
