//! The kernel calls that the jail needs: one safe function per call, each returning `io::Result`.
//!
//! This folder is compiled three times: into the `belljar-jail` crate, into the helper
//! (`helper/`), and into the small library that the zygote loads (`cell/`). `rustc` alone builds
//! the last two, so they can use no crates. That is why the declarations are written out here and
//! not taken from `libc` or `rustix`.

mod context;
mod descriptors;
mod inheritance;
mod landlock;
mod memory;
mod mount_attributes;
mod mounts;
mod process;
mod rights;

use std::ffi::{CString, OsStr, c_int, c_long};
use std::io;
use std::os::unix::ffi::OsStrExt;

pub(crate) use context::*;
pub(crate) use descriptors::*;
pub(crate) use inheritance::*;
pub(crate) use landlock::*;
pub(crate) use memory::*;
pub(crate) use mount_attributes::*;
pub(crate) use mounts::*;
pub(crate) use process::*;
pub(crate) use rights::*;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const CLONE: i64 = 56;
    pub(super) const SETGROUPS: i64 = 116;
    pub(super) const SETRESUID: i64 = 117;
    pub(super) const SETRESGID: i64 = 119;
    pub(super) const CAPSET: i64 = 126;
    pub(super) const PIVOT_ROOT: i64 = 155;
    pub(super) const EXECVEAT: i64 = 322;
    pub(super) const SECCOMP: i64 = 317;
    pub(super) const PERSONALITY: i64 = 135;
    pub(super) const SCHED_SETSCHEDULER: i64 = 144;
    pub(super) const SCHED_SETAFFINITY: i64 = 203;
    pub(super) const IOPRIO_SET: i64 = 251;
    pub(super) const SET_MEMPOLICY: i64 = 238;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const CLONE: i64 = 220;
    pub(super) const SETGROUPS: i64 = 159;
    pub(super) const SETRESUID: i64 = 147;
    pub(super) const SETRESGID: i64 = 149;
    pub(super) const CAPSET: i64 = 91;
    pub(super) const PIVOT_ROOT: i64 = 41;
    pub(super) const EXECVEAT: i64 = 281;
    pub(super) const SECCOMP: i64 = 277;
    pub(super) const PERSONALITY: i64 = 92;
    pub(super) const SCHED_SETSCHEDULER: i64 = 119;
    pub(super) const SCHED_SETAFFINITY: i64 = 122;
    pub(super) const IOPRIO_SET: i64 = 30;
    pub(super) const SET_MEMPOLICY: i64 = 237;
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn check_long(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn c(text: impl AsRef<OsStr>) -> io::Result<CString> {
    CString::new(text.as_ref().as_bytes())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a path holds a NUL byte"))
}
