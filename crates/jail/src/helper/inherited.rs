//! Gives the zygote, and with it every cell, the same start whatever the host is like.
//!
//! A process inherits dozens of things from whoever starts it: blocked signals, a priority, the processors it may use,
//! limits, a mask for new files. The host may have any of them for reasons of its own, and a thread of it others than the
//! next; a script must not run differently for that, nor find out. So each is set here, once, before anything is built.

use crate::sys::kernel::{self, UNLIMITED};

/// Nobody from here on leaves a core file: not this copy of the host's program, not the zygote, no cell. Not 0, which
/// keeps the kernel from writing a file but not from starting the host's crash handler, as root and outside every
/// namespace, where `core_pattern` names one; 1 is the value that stops both.
const NO_CORE_FILES: u64 = 1;

/// Resource limits, soft and hard. A cell lowers the one on descriptors itself, and where no control group counts them also
/// those on processes and memory.
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

/// Puts everything inherited to where any program would expect it. What this user may not change stays.
pub(super) fn put_back() {
    /// Before the host, after its cells.
    const GOES_SECOND: &str = "900";
    kernel::ordinary_signals();
    kernel::ordinary_scheduling();
    kernel::ordinary_personality();
    kernel::set_umask(0o022);
    for (resource, soft, hard) in LIMITS {
        let _ = kernel::limit_as_allowed(resource, soft, hard);
    }
    // A host that must go earlier than that stays where it is: only root may lower a score.
    let _ = std::fs::write("/proc/self/oom_score_adj", GOES_SECOND);
}
