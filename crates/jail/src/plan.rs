//! From limits to the plan that every cell of a template is made by.

use std::path::Path;

use crate::seccomp::{SeccompError, cell_filter, zygote_filters};
use crate::sys::cell::{self, CellPlan, PlannedLimit, PlannedMount};
use crate::sys::kernel;

/// The shared object that the zygote loads as the Python module `belljar_cell`.
pub const CELL_LIBRARY: &[u8] = cell::LIBRARY;

/// The program that PID 1 of every cell becomes, which the zygote is handed open.
pub const CELL_INIT: &[u8] = cell::INIT;

/// What a cell may have, as far as the cell itself sets it. Cgroups are the host's side.
#[derive(Debug, Clone)]
pub struct CellLimits {
    /// Size of `/workspace`.
    pub scratch_bytes: u64,
    /// Size of `/tmp` and of `/dev/shm`, each.
    pub temporary_bytes: u64,
    /// Files and directories each of them may hold.
    pub inodes: u64,
    /// Open descriptors per process.
    pub open_files: u64,
    /// Processes and threads, where no cgroup counts them.
    pub processes: Option<u64>,
    /// Bytes of data a process may have beyond what it was born with, where no cgroup bounds memory.
    pub extra_data: Option<u64>,
    /// Writable places besides the three above.
    pub writable: Vec<String>,
    /// The Landlock version to use, 0 for none.
    pub landlock: u32,
}

/// The id a guest has inside its cell.
const GUEST_ID: u32 = 1000;

/// Files of the kernel's that tell every user of the machine about the whole of it, and that no program in a cell needs: boot parameters,
/// which have carried secrets, counts by device that give away what others do, and on old kernels the names of all processes.
const MASKED: [&str; 5] =
    ["/proc/cmdline", "/proc/interrupts", "/proc/latency_stats", "/proc/locks", "/proc/sched_debug"];

/// Plans the cells of a template.
pub fn plan_cell(limits: &CellLimits) -> Result<CellPlan, SeccompError> {
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
    let mut rlimits = vec![
        PlannedLimit { resource: kernel::RLIMIT_NOFILE, value: limits.open_files },
        PlannedLimit { resource: kernel::RLIMIT_MSGQUEUE, value: 0 },
    ];
    rlimits.extend(limits.processes.map(|value| PlannedLimit { resource: kernel::RLIMIT_NPROC, value }));
    // Not every kernel has every file; a cell's /proc has what this one's has.
    let masks = MASKED.iter().filter(|path| Path::new(path).exists()).map(|path| PlannedMount {
        kind: "/dev/null".into(),
        target: (*path).into(),
        flags: kernel::MS_BIND,
        options: String::new(),
    });
    let mut writable: Vec<String> = ["/workspace", "/tmp", "/dev/shm"].map(String::from).into();
    writable.extend(limits.writable.iter().cloned());
    Ok(CellPlan {
        guest_id: GUEST_ID,
        mounts: [
            tmpfs("/workspace", limits.scratch_bytes, "0755"),
            tmpfs("/tmp", limits.temporary_bytes, "1777"),
            tmpfs("/dev/shm", limits.temporary_bytes, "1777"),
            PlannedMount {
                kind: "proc".into(),
                target: "/proc".into(),
                flags: scratch | kernel::MS_NOEXEC,
                options: String::new(),
            },
        ]
        .into_iter()
        .chain(masks)
        .collect(),
        rlimits,
        extra_data: limits.extra_data.unwrap_or(0),
        writable,
        landlock: limits.landlock,
        zygote_filters: zygote_filters()?,
        cell_filter: cell_filter()?,
    })
}
