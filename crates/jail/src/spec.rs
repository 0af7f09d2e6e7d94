//! What a jail looks like from inside, said before anything is done.

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
    /// Ids from 1,879,048,192 on are above what distributions, systemd and `/etc/subuid` hand out.
    pub const NOBODYS_RANGE: Self = Self::Range { first: 0x7000_0000, count: 0x1_0000 };
}

/// What becomes of symbolic links on the way to a file of the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Links {
    /// They are followed: the path is the system's own.
    Followed,
    /// There must be none: somebody may have put one there since the path was looked at.
    Refused,
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
        /// What to do with symbolic links on the way to the source.
        links: Links,
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
