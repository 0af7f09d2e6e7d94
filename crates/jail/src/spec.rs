//! Describes a jail from the inside, before anything is built.

use std::fs::Metadata;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// One confined process: its file system, its identity, its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JailSpec {
    /// The ids the process has, seen from outside.
    pub identity: Identity,
    /// The name of the machine, seen from inside.
    pub hostname: String,
    /// The root file system, built in this order on an empty one. It is read-only in the end.
    pub root: Vec<RootEntry>,
    /// What each cell gets as a mount of its own, in which the owner of the place is the cell's
    /// user. Needs a range of ids. The mounts are had from
    /// [`Launched::lender`](crate::Launched::lender).
    pub lent: Vec<LentPlace>,
    /// The directory with the kept workspaces. A cell gets one of them in the same way, by name.
    pub store: Option<LentPlace>,
    /// The program and its arguments. The first is an absolute path inside.
    pub command: Vec<String>,
    /// The complete environment.
    pub env: Vec<(String, String)>,
    /// Programs that it finds as open files, after the descriptors that are passed on. Nobody may
    /// read them, so the kernel lets nobody look into a process that runs one.
    ///
    /// They travel as bytes, and the helper makes the files. The kernel runs no file that somebody
    /// has open for writing, and a child that the host forks meanwhile would.
    pub programs: Vec<Vec<u8>>,
}

/// A file or directory of the host that is lent to each cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LentPlace {
    /// Where it is outside.
    pub source: PathBuf,
    /// Which file it must be.
    pub identity: FileIdentity,
}

impl LentPlace {
    /// How many there may be: as many descriptors as fit into one message, beside a workspace.
    pub const MOST: usize = 16;
}

impl JailSpec {
    /// Whether somebody has to make mounts for its cells.
    #[cfg(any(confine, belljar_helper))]
    pub(crate) fn needs_a_lender(&self) -> bool {
        !self.lent.is_empty() || self.store.is_some()
    }
}

/// How ids inside map to ids outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// Id 1000 inside is the caller's own id outside. There is no other id. An ordinary user can
    /// have this.
    Single,
    /// Ids 0 to `count` inside are `first` and up outside, a range that belongs to nobody. Needs
    /// root.
    Range {
        /// The id outside that is 0 inside.
        first: u32,
        /// The number of ids.
        count: u32,
    },
}

impl Identity {
    /// Ids that belong to nobody. They are above what distributions, systemd and `/etc/subuid` hand
    /// out, and below those systemd uses for files of other machines.
    pub const NOBODYS: Range<u32> = 0x7000_0000..0x7ffe_0000;
}

/// The host file that a path must lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Any file, links included, because the path belongs to the system.
    Anything,
    /// The same file that was looked at before, with no link on the way, because somebody may have
    /// replaced it since. Whoever looked keeps the file open until the jail is built, so that no
    /// other file can get its number.
    File(FileIdentity),
}

/// Identifies a file among all others, as long as it exists or somebody has it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The device of its file system.
    pub device: u64,
    /// Its number on that device.
    pub inode: u64,
}

#[cfg(not(belljar_helper))]
impl FileIdentity {
    /// The identity of an open file or path.
    pub fn of(file: impl std::os::fd::AsFd) -> std::io::Result<Self> {
        let found = rustix::fs::fstat(file)?;
        Ok(Self { device: found.st_dev, inode: found.st_ino })
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }
}

/// One piece of the root file system. Missing parents are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootEntry {
    /// An empty directory.
    Directory {
        /// Where it is.
        path: PathBuf,
    },
    /// A small file.
    File {
        /// Where it is.
        path: PathBuf,
        /// Its text.
        contents: String,
    },
    /// A symbolic link.
    Symlink {
        /// Where it is.
        path: PathBuf,
        /// Where it points.
        target: PathBuf,
    },
    /// A file or directory of the host.
    Bind {
        /// Where it is outside.
        source: PathBuf,
        /// Where it is inside.
        target: PathBuf,
        /// Whether the guest may write to it.
        writable: bool,
        /// Which file it must be.
        expected: Expected,
    },
    /// A device node of the host.
    Device {
        /// Where it is, outside and inside.
        path: PathBuf,
    },
    /// A new `/proc` for the jail's own processes.
    Proc {
        /// Where it is.
        path: PathBuf,
    },
    /// A small place in memory that the process can write to. Everything else is read-only.
    Scratch {
        /// Where it is.
        path: PathBuf,
    },
}
