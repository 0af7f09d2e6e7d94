//! Resets what a process inherits to what any program starts with.
//!
//! Each function does what it may. Lowering a priority value or raising a hard limit can take a
//! right that an ordinary user lacks. What cannot be reset stays.

use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::io;
use std::ptr::null_mut;

use super::{check, number, syscall};

unsafe extern "C" {
    fn signal(number: c_int, handler: usize) -> usize;
    fn sigprocmask(how: c_int, set: *const c_void, old: *mut c_void) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn getrlimit(resource: c_int, limit: *mut [u64; 2]) -> c_int;
    fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn setpriority(which: c_int, who: c_uint, priority: c_int) -> c_int;
}

pub(crate) const RLIMIT_CPU: u32 = 0;
pub(crate) const RLIMIT_FSIZE: u32 = 1;
pub(crate) const RLIMIT_DATA: u32 = 2;
pub(crate) const RLIMIT_STACK: u32 = 3;
pub(crate) const RLIMIT_CORE: u32 = 4;
pub(crate) const RLIMIT_RSS: u32 = 5;
pub(crate) const RLIMIT_NPROC: u32 = 6;
pub(crate) const RLIMIT_NOFILE: u32 = 7;
pub(crate) const RLIMIT_MEMLOCK: u32 = 8;
pub(crate) const RLIMIT_AS: u32 = 9;
pub(crate) const RLIMIT_LOCKS: u32 = 10;
pub(crate) const RLIMIT_SIGPENDING: u32 = 11;
pub(crate) const RLIMIT_MSGQUEUE: u32 = 12;
pub(crate) const RLIMIT_NICE: u32 = 13;
pub(crate) const RLIMIT_RTPRIO: u32 = 14;
pub(crate) const RLIMIT_RTTIME: u32 = 15;
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// Sets a limit, soft and hard, or gets as close to it as the present hard limit allows.
pub(crate) fn limit_as_allowed(resource: u32, soft: u64, hard: u64) -> io::Result<()> {
    let (resource, mut now) = (resource as c_int, [0u64; 2]);
    // SAFETY: both arrays have the layout of `struct rlimit` on 64-bit Linux and outlive the calls.
    unsafe {
        if setrlimit(resource, &raw const *&[soft.min(hard), hard]) == 0 {
            return Ok(());
        }
        check(getrlimit(resource, &raw mut now))?;
        let hard = hard.min(now[1]);
        check(setrlimit(resource, &raw const *&[soft.min(hard), hard])).map(drop)
    }
}

/// The soft limit in force.
pub(crate) fn soft_limit(resource: u32) -> u64 {
    let mut now = [UNLIMITED; 2];
    // SAFETY: the array has the layout of `struct rlimit` on 64-bit Linux and outlives the call.
    unsafe { getrlimit(resource as c_int, &raw mut now) };
    now[0]
}

/// Makes a write beyond the file size limit fail with `EFBIG`. By default a signal would end the
/// process.
///
/// This installs a handler that does nothing. Programs started from here get the default back,
/// which they would not if the signal were ignored.
pub(crate) fn survive_file_size_limit() {
    const SIGXFSZ: c_int = 25;
    extern "C" fn nothing(_number: c_int) {}
    // SAFETY: the handler touches nothing, so it may run at any moment.
    unsafe { signal(SIGXFSZ, nothing as *const () as usize) };
}

/// Unblocks every signal and gives each its default action.
pub(crate) fn reset_signals() {
    const SIG_SETMASK: c_int = 2;
    const SIG_DFL: usize = 0;
    const LAST_SIGNAL: c_int = 64;
    let none = [0u64; 16];
    for number in 1..=LAST_SIGNAL {
        // SAFETY: the default action involves no handler of ours. Fails for signals that cannot be
        // changed.
        unsafe { signal(number, SIG_DFL) };
    }
    // SAFETY: a set of signals is 128 bytes in the C library; the array outlives the call.
    unsafe { sigprocmask(SIG_SETMASK, none.as_ptr().cast(), null_mut()) };
}

/// Resets scheduling: an ordinary share of every processor that the control groups allow, an
/// ordinary place in the disk's queue, and timers of ordinary precision.
pub(crate) fn reset_scheduling() {
    const SCHED_OTHER: c_int = 0;
    const PRIO_PROCESS: c_int = 0;
    const IOPRIO_WHO_PROCESS: c_int = 1;
    const PR_SET_TIMERSLACK: c_int = 29;
    const SLACK_NANOS: c_ulong = 50_000;
    const MPOL_DEFAULT: c_int = 0;
    const PR_SET_THP_DISABLE: c_int = 41;
    let (priority, everywhere) = (0 as c_int, [u64::MAX; 128]);
    // SAFETY: the pointers are to values that outlive the calls and have the stated sizes; a null
    // mask has none.
    unsafe {
        syscall(number::SCHED_SETSCHEDULER, 0, SCHED_OTHER, &raw const priority);
        setpriority(PRIO_PROCESS, 0, 0);
        syscall(number::SCHED_SETAFFINITY, 0, size_of_val(&everywhere), everywhere.as_ptr());
        syscall(number::IOPRIO_SET, IOPRIO_WHO_PROCESS, 0, 0);
        syscall(number::SET_MEMPOLICY, MPOL_DEFAULT, null_mut::<c_void>(), 0usize);
        prctl(PR_SET_TIMERSLACK, SLACK_NANOS, 0, 0, 0);
        prctl(PR_SET_THP_DISABLE, 0 as c_ulong, 0, 0, 0);
    }
}

/// Makes addresses random again from the next program on, and resets everything else to Linux's
/// own.
pub(crate) fn reset_personality() {
    const PER_LINUX: c_ulong = 0;
    // SAFETY: takes no pointers.
    unsafe { syscall(number::PERSONALITY, PER_LINUX) };
}
