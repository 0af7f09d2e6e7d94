//! What a jail looks like from inside, said before anything is done.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One confined process: its file system, its identity, its program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JailSpec {
    /// Whose ids the process has, seen from outside.
    pub identity: Identity,
    /// The name of the machine, seen from inside.
    pub hostname: String,
    /// The root file system, built in this order on an empty one. Read-only in the end.
    pub root: Vec<RootEntry>,
    /// The program and its arguments; the first is an absolute path inside.
    pub command: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
}

/// How ids inside map to ids outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// Id 1000 inside is the caller's own id outside; there is no other. What an ordinary user may have.
    Single,
    /// Ids 0 to `count` inside are `first` and up outside: a range that belongs to nobody. Needs root.
    Range {
        /// The id outside that is 0 inside.
        first: u32,
        /// How many there are.
        count: u32,
    },
}

impl Identity {
    /// Ids that belong to nobody: above what distributions, systemd and `/etc/subuid` hand out, below those that systemd has for
    /// files of other machines.
    pub const NOBODYS: Range<u32> = 0x7000_0000..0x7ffe_0000;
}

/// Which file of the host's a path must lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expected {
    /// Whatever is there, through links too: the path is the system's own.
    Anything,
    /// The very file that was looked at before, and no link on the way. Somebody may have put something else there since. Whoever
    /// looked keeps the file open until the jail is built, so that no other file can get its number.
    File(FileIdentity),
}

/// By what the kernel tells a file from every other one, as long as it is there or somebody has it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The device that its file system is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl FileIdentity {
    /// That of an open file or place.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        let found = rustix::fs::fstat(file)?;
        Ok(Self { device: found.st_dev, inode: found.st_ino })
    }
}

/// One piece of the root file system. Parents are made as needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RootEntry {
    /// An empty directory.
    Directory {
        /// Where.
        path: PathBuf,
    },
    /// A small file.
    File {
        /// Where.
        path: PathBuf,
        /// Its text.
        contents: String,
    },
    /// A symbolic link.
    Symlink {
        /// Where.
        path: PathBuf,
        /// What it says.
        target: PathBuf,
    },
    /// A file or directory of the host's.
    Bind {
        /// Where it is outside.
        source: PathBuf,
        /// Where it shows up inside.
        target: PathBuf,
        /// Whether it may be written to.
        writable: bool,
        /// Which file that must be.
        expected: Expected,
    },
    /// A device node of the host's.
    Device {
        /// Where it is, outside and inside.
        path: PathBuf,
    },
    /// A fresh `/proc` for the jail's own processes.
    Proc {
        /// Where.
        path: PathBuf,
    },
}
