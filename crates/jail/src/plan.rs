//! Turns limits into the plan that every cell of a template follows.

use crate::proc;
use crate::seccomp::{CellFilter, MemoryAccounting, Supervision, Terminals, cell_filter, zygote_filter};
use crate::sys::cell::{self, CellPlan, LENT, MAKE_DIRECTORY, MAKE_FILE, PlannedLimit, PlannedMount};
use crate::sys::kernel;

/// The shared object that the zygote loads as the Python module `belljar_cell`.
pub const CELL_LIBRARY: &[u8] = cell::LIBRARY;

/// The program that PID 1 of every cell becomes. The zygote gets it as an open file, by
/// [`JailSpec::programs`](crate::JailSpec::programs).
pub const CELL_INIT: &[u8] = cell::INIT;

/// The limits that a cell sets on itself. The host sets the limits of cgroups.
#[derive(Debug, Clone)]
pub struct CellLimits {
    /// Places in memory that the guest writes to: its workspace, temporary files, shared memory.
    pub scratch: [String; 3],
    /// Where [`stand_ins`](crate::stand_ins) were laid out.
    pub stand_ins: String,
    /// The descriptor that the guest's channel gets, as far as the limit on descriptors allows.
    pub channel: u16,
    /// Size of the first place.
    pub scratch_bytes: u64,
    /// Size of each of the others.
    pub temporary_bytes: u64,
    /// Files and directories that each of them may hold.
    pub inodes: u64,
    /// Open descriptors per process.
    pub open_files: u64,
    /// Processes and threads, if no cgroup counts them.
    pub processes: Option<u64>,
    /// Bytes of memory, if no cgroup counts them. The limit then applies to each process alone.
    pub memory_per_process: Option<u64>,
    /// What is mounted inside the workspace: where it is, where it goes, and whether it is a
    /// directory.
    pub granted_inside: Vec<(String, String, bool)>,
    /// Where what is lent to each cell goes, in the order of
    /// [`JailSpec::lent`](crate::JailSpec::lent). The same is mounted there already, with other
    /// ids.
    pub lent: Vec<String>,
    /// Where the directory with the kept workspaces is, if cells get theirs by its name.
    pub store: String,
    /// Whether programs in a cell can have terminals.
    pub has_terminals: bool,
    /// Writable places besides the three above.
    pub writable: Vec<String>,
    /// The Landlock version to use, or 0 for none.
    pub landlock: u32,
}

/// The id a guest has inside its cell.
const GUEST_ID: u32 = 1000;

/// Where terminals are.
const TERMINALS: &str = "/dev/pts";

/// Address space for mappings that are not the process's own memory: the code of libraries.
const LIBRARIES: u64 = 256 << 20;

/// Where nobody counts what sockets hold, each may hold only this much.
const SMALL_SOCKET_BUFFER: u64 = 128 << 10;

/// Plans the cells of a template.
pub fn plan_cell(limits: &CellLimits) -> CellPlan {
    let scratch = kernel::MS_NOSUID | kernel::MS_NODEV;
    let tmpfs = |target: &str, bytes: u64, mode: &str| PlannedMount {
        kind: "tmpfs".into(),
        target: target.into(),
        flags: scratch,
        options: format!(
            "size={bytes},nr_inodes={},mode={mode},uid={GUEST_ID},gid={GUEST_ID}",
            limits.inodes
        ),
    };
    let mut rlimits = vec![PlannedLimit { resource: kernel::RLIMIT_NOFILE, value: limits.open_files }];
    rlimits.extend(limits.processes.map(|value| PlannedLimit { resource: kernel::RLIMIT_NPROC, value }));
    // An in-memory file is memory too.
    let largest_file = limits.memory_per_process.map(|bytes| bytes.max(limits.scratch_bytes));
    rlimits.extend(largest_file.map(|value| PlannedLimit { resource: kernel::RLIMIT_FSIZE, value }));
    let memory = if limits.memory_per_process.is_some() {
        MemoryAccounting::PerProcess
    } else {
        MemoryAccounting::PerCell
    };
    let filter = |supervision| cell_filter(CellFilter { supervision, memory });
    let [workspace, temporary, shared_memory] = &limits.scratch;
    let mut writable = limits.scratch.to_vec();
    writable.extend(limits.writable.iter().cloned());
    CellPlan {
        guest_id: GUEST_ID,
        channel: u32::from(limits.channel),
        mounts: [
            tmpfs(workspace, limits.scratch_bytes, "0755"),
            tmpfs(temporary, limits.temporary_bytes, "1777"),
            tmpfs(shared_memory, limits.temporary_bytes, "1777"),
            PlannedMount {
                kind: "proc".into(),
                target: "/proc".into(),
                flags: scratch | kernel::MS_NOEXEC,
                options: String::new(),
            },
        ]
        .into_iter()
        .chain(limits.has_terminals.then(|| PlannedMount {
            kind: "devpts".into(),
            target: TERMINALS.into(),
            flags: kernel::MS_NOSUID | kernel::MS_NOEXEC,
            options: "newinstance,ptmxmode=0666,mode=0620".into(),
        }))
        .chain(proc::mounts(&limits.stand_ins))
        .chain(limits.granted_inside.iter().map(|(place, target, is_directory)| PlannedMount {
            kind: place.clone(),
            target: target.clone(),
            flags: kernel::MS_BIND | kernel::MS_REC,
            options: if *is_directory { MAKE_DIRECTORY } else { MAKE_FILE }.into(),
        }))
        .chain(limits.lent.iter().map(|target| PlannedMount {
            kind: LENT.into(),
            target: target.clone(),
            flags: 0,
            options: String::new(),
        }))
        .collect(),
        rlimits,
        extra_data: limits.memory_per_process.unwrap_or(0),
        socket_buffer: limits.memory_per_process.map_or(0, |_| SMALL_SOCKET_BUFFER),
        extra_addresses: limits.memory_per_process.map_or(0, |bytes| bytes.saturating_add(LIBRARIES)),
        store: limits.store.clone(),
        writable,
        landlock: limits.landlock,
        zygote_filter: zygote_filter(match limits.has_terminals {
            true => Terminals::OfItsOwn,
            false => Terminals::None,
        }),
        cell_filter: filter(Supervision::Watched),
        unwatched_filter: filter(Supervision::Unwatched),
    }
}
