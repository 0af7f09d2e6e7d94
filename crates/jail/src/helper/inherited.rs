//! Gives the zygote, and every cell, the same start on every host.
//!
//! A process inherits dozens of things from the one that starts it: blocked signals, a priority,
//! the processors it may use, limits, a mask for new files. The host may have changed any of them,
//! and its threads may differ from each other. A script must not run differently because of that,
//! nor find out about it. So this module sets each of them, once, before anything is built.

use crate::kernel::{self, UNLIMITED};

/// Stops core files of this process, the zygote and every cell.
///
/// The value is 1 and not 0. With 0 the kernel writes no file, but still starts the host's crash
/// handler if `core_pattern` names one, as root and outside every namespace. With 1 it does
/// neither.
const NO_CORE_FILES: u64 = 1;

/// Resource limits, soft and hard. A cell itself lowers the limit on descriptors. Where no control
/// group counts them, it also lowers those on processes and memory.
const LIMITS: [(u32, u64, u64); 16] = [
    (kernel::RLIMIT_CORE, NO_CORE_FILES, NO_CORE_FILES),
    (kernel::RLIMIT_CPU, UNLIMITED, UNLIMITED),
    (kernel::RLIMIT_FSIZE, UNLIMITED, UNLIMITED),
    (kernel::RLIMIT_DATA, UNLIMITED, UNLIMITED),
    (kernel::RLIMIT_AS, UNLIMITED, UNLIMITED),
    (kernel::RLIMIT_STACK, 8 << 20, UNLIMITED),
    (kernel::RLIMIT_RSS, UNLIMITED, UNLIMITED),
    (kernel::RLIMIT_NPROC, UNLIMITED, UNLIMITED),
    (kernel::RLIMIT_NOFILE, 1 << 20, 1 << 20),
    (kernel::RLIMIT_LOCKS, UNLIMITED, UNLIMITED),
    (kernel::RLIMIT_MEMLOCK, 64 << 10, 64 << 10),
    (kernel::RLIMIT_SIGPENDING, 1024, 1024),
    (kernel::RLIMIT_MSGQUEUE, 0, 0),
    (kernel::RLIMIT_NICE, 0, 0),
    (kernel::RLIMIT_RTPRIO, 0, 0),
    (kernel::RLIMIT_RTTIME, UNLIMITED, UNLIMITED),
];

/// Limits that make scripts run differently if they stay low: what they are on, and how a shell
/// names them. The host hears of these.
const NOTABLE: [(u32, &str, &str); 4] = [
    (kernel::RLIMIT_AS, "address space", "-Hv"),
    (kernel::RLIMIT_DATA, "data", "-Hd"),
    (kernel::RLIMIT_FSIZE, "file sizes", "-Hf"),
    (kernel::RLIMIT_CPU, "processor time", "-Ht"),
];

/// Resets everything inherited to what a program would expect. What this user may not change stays.
/// Returns a sentence about each limit that stays and matters.
pub(super) fn reset() -> Vec<String> {
    /// The kernel kills a zygote before the host, but after its cells.
    const GOES_SECOND: &str = "900";
    kernel::reset_signals();
    kernel::reset_scheduling();
    kernel::reset_personality();
    kernel::set_umask(0o022);
    for (resource, soft, hard) in LIMITS {
        let _ = kernel::limit_as_allowed(resource, soft, hard);
    }
    // If the host's own score is already higher it stays, because only root may lower a score.
    let _ = std::fs::write("/proc/self/oom_score_adj", GOES_SECOND);
    NOTABLE.into_iter().filter_map(what_stays).collect()
}

/// A sentence about a limit that could not be lifted.
fn what_stays((resource, name, option): (u32, &str, &str)) -> Option<String> {
    let amount = match (resource, kernel::soft_limit(resource)) {
        (_, UNLIMITED) => return None,
        (kernel::RLIMIT_CPU, seconds) => format!("{seconds} s"),
        (_, bytes) => format!("{} KiB", bytes >> 10),
    };
    Some(format!(
        "this program's hard limit on {name} is {amount}, and its cells cannot have more: raise it (ulimit {option})"
    ))
}
