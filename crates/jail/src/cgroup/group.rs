//! The control group of one cell, on either version of the interface.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::CgroupError;

/// What the kernel counted for one cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CgroupUsage {
    /// Processor time of every process that was in the group.
    pub cpu_micros: Option<u64>,
    /// The largest amount of memory charged to the group.
    pub peak_memory_bytes: Option<u64>,
    /// Processes the kernel killed because memory ran out.
    pub oom_kills: Option<u64>,
    /// Forks the kernel refused because of the limit.
    pub forks_refused: Option<u64>,
}

/// A number the kernel counts. Its file stays open, because every run reads it at the end.
#[derive(Debug)]
pub(super) struct Counter {
    file: File,
    form: CounterFormat,
}

/// How the number is written in its file.
#[derive(Debug, Clone, Copy)]
pub(super) enum CounterFormat {
    /// The file holds the number alone, in nanoseconds.
    Nanoseconds,
    /// The file holds the number alone.
    Number,
    /// The number follows this key, in a file of `key number` lines.
    Keyed(&'static str),
}

impl Counter {
    /// Opens a counter. Returns `None` if this kernel does not have it.
    pub(super) fn open(path: &Path, form: CounterFormat) -> Option<Self> {
        Some(Self { file: File::open(path).ok()?, form })
    }

    pub(super) fn read(&self) -> Option<u64> {
        let mut buffer = [0; 512];
        let read = self.file.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..read]).ok()?;
        match self.form {
            CounterFormat::Nanoseconds => text.trim().parse::<u64>().ok().map(|nanos| nanos / 1000),
            CounterFormat::Number => text.trim().parse().ok(),
            CounterFormat::Keyed(key) => {
                text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
            }
        }
    }
}

/// The control group of one cell. Call [`CellCgroup::remove`] once no process is left in it.
#[derive(Debug, Default)]
pub struct CellCgroup {
    pub(super) directories: Vec<PathBuf>,
    pub(super) join: Vec<File>,
    pub(super) cpu: Option<Counter>,
    pub(super) peak: Option<Counter>,
    pub(super) oom: Option<Counter>,
    pub(super) forks: Option<Counter>,
    /// The file with the memory in use now. `memory.stat` is beside it.
    pub(super) memory: Option<PathBuf>,
}

impl CellCgroup {
    /// The files a cell writes `0` to when it joins.
    pub fn join_files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.join.iter().map(AsFd::as_fd)
    }

    /// Closes the join files. A cell joins only once.
    pub fn close_join_files(&mut self) {
        self.join.clear();
    }

    /// The counts so far.
    pub fn usage(&self) -> CgroupUsage {
        let read = |reading: &Option<Counter>| reading.as_ref().and_then(Counter::read);
        CgroupUsage {
            cpu_micros: read(&self.cpu),
            peak_memory_bytes: read(&self.peak),
            oom_kills: read(&self.oom),
            forks_refused: read(&self.forks),
        }
    }

    /// Bytes that in-memory files still take.
    ///
    /// This should be zero once every process and mount of the cell is gone. But a file can sit in
    /// the queue of a socket that is itself in a queue, until the kernel has collected them all.
    pub fn files_in_memory(&self) -> u64 {
        // Reading the total is cheap, and almost always enough.
        const NEGLIGIBLE: u64 = 256 << 10;
        let read =
            |path: &Path, form| Counter::open(path, form).and_then(|reading| reading.read()).unwrap_or(0);
        match &self.memory {
            Some(now) if read(now, CounterFormat::Number) > NEGLIGIBLE => {
                read(&now.with_file_name("memory.stat"), CounterFormat::Keyed("shmem"))
            }
            _ => 0,
        }
    }

    /// Removes the group. Returns `WouldBlock` while a process is still in it.
    pub fn remove(&mut self) -> io::Result<()> {
        self.join.clear();
        // An open counter does not keep a group alive, but nobody needs the descriptors any more.
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

    /// Opens the file through which a cell joins one directory.
    pub(super) fn add_join_file(&mut self, path: &Path) -> Result<(), CgroupError> {
        let file = File::options().write(true).open(path).map_err(CgroupError::at("open", path))?;
        self.join.push(file);
        Ok(())
    }
}
