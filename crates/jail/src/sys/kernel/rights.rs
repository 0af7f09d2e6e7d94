//! The rights of a process: ids, capabilities, limits, filters.

use std::ffi::{c_int, c_uint, c_ulong};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::null;

use super::{check, check_long, number, syscall};

unsafe extern "C" {
    fn prctl(option: c_int, ...) -> c_int;
    fn geteuid() -> c_uint;
    fn getegid() -> c_uint;
}

const PR_SET_SECCOMP: c_int = 22;
const PR_CAPBSET_DROP: c_int = 24;
const PR_SET_NO_NEW_PRIVS: c_int = 38;
const PR_CAP_AMBIENT: c_int = 47;

pub(crate) const CAP_SETGID: u32 = 6;
pub(crate) const CAP_SETUID: u32 = 7;
pub(crate) const CAP_NET_ADMIN: u32 = 12;
pub(crate) const CAP_SYS_ADMIN: u32 = 21;
const CAP_LAST_KNOWN: u32 = 63;

/// The effective ids of this process.
pub(crate) fn effective_ids() -> (u32, u32) {
    // SAFETY: neither takes anything or can fail.
    unsafe { (geteuid(), getegid()) }
}

/// `setresuid(2)` and `setresgid(2)` on this thread. `None` leaves an id as it is.
pub(crate) fn set_ids(real_and_effective: u32, saved: Option<u32>) -> io::Result<()> {
    let saved = saved.map_or(-1, i64::from);
    let id = i64::from(real_and_effective);
    // SAFETY: neither takes pointers. The group comes first: once the user has changed, the right
    // to change it may be gone.
    unsafe {
        check_long(syscall(number::SETRESGID, id, id, saved))?;
        check_long(syscall(number::SETRESUID, id, id, saved))?;
    }
    Ok(())
}

/// Returns to the saved ids. The user comes first, because the right to change groups depends on
/// it.
pub(crate) fn restore_ids(id: u32) -> io::Result<()> {
    let id = i64::from(id);
    // SAFETY: neither takes pointers.
    unsafe {
        check_long(syscall(number::SETRESUID, id, id, id))?;
        check_long(syscall(number::SETRESGID, id, id, id))?;
    }
    Ok(())
}

/// Forgets every supplementary group.
pub(crate) fn drop_groups() -> io::Result<()> {
    // SAFETY: a count of zero means that the pointer is not read.
    check_long(unsafe { syscall(number::SETGROUPS, 0i64, null::<c_uint>()) }).map(drop)
}

/// Drops every capability that is not in `keep`, for this process and every program it runs.
pub(crate) fn keep_only_capabilities(keep: &[u32]) -> io::Result<()> {
    const EINVAL: i32 = 22;
    const PR_CAP_AMBIENT_CLEAR_ALL: c_ulong = 4;
    for capability in (0..=CAP_LAST_KNOWN).filter(|capability| !keep.contains(capability)) {
        // SAFETY: takes no pointers.
        match check(unsafe { prctl(PR_CAPBSET_DROP, c_ulong::from(capability), 0, 0, 0) }) {
            // This is past the last capability that the kernel knows.
            Err(error) if error.raw_os_error() == Some(EINVAL) => break,
            other => other?,
        };
    }
    // SAFETY: takes no pointers.
    check(unsafe { prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) })?;
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    let mut sets = [[0u32; 3]; 2];
    for &capability in keep {
        let (word, bit) = ((capability / 32) as usize, 1 << (capability % 32));
        sets[word][0] |= bit;
        sets[word][1] |= bit;
        sets[word][2] |= bit;
    }
    // SAFETY: version 3 of the call takes two sets of three words; both structures outlive it.
    check_long(unsafe { syscall(number::CAPSET, &raw const header, sets.as_ptr()) }).map(drop)
}

/// Keeps capabilities across the next `execve`, for any user.
pub(crate) fn pass_on_capabilities(keep: &[u32]) -> io::Result<()> {
    const PR_CAP_AMBIENT_RAISE: c_ulong = 2;
    for &capability in keep {
        // SAFETY: takes no pointers.
        check(unsafe { prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c_ulong::from(capability), 0, 0) })?;
    }
    Ok(())
}

/// After this, no `execve` grants any right.
pub(crate) fn forbid_new_privileges() -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { prctl(PR_SET_NO_NEW_PRIVS, 1 as c_ulong, 0, 0, 0) }).map(drop)
}

/// A seccomp program: `struct sock_filter`s in the kernel's layout, 8 bytes each.
#[repr(C)]
struct Program {
    len: u16,
    filter: *const u8,
}

impl Program {
    fn new(program: &[u8]) -> Self {
        Self { len: (program.len() / 8) as u16, filter: program.as_ptr() }
    }
}

/// Installs a seccomp program.
pub(crate) fn install_filter(program: &[u8]) -> io::Result<()> {
    const SECCOMP_MODE_FILTER: c_ulong = 2;
    let header = Program::new(program);
    // SAFETY: the kernel copies `len` instructions of 8 bytes from a slice that is that long and
    // outlives the call.
    check(unsafe { prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const header, 0, 0) }).map(drop)
}

/// Installs a program that asks about some calls. The holder of the returned descriptor is asked. A
/// process can have only one such program, including inherited ones.
pub(crate) fn install_notifying_filter(program: &[u8]) -> io::Result<OwnedFd> {
    const SECCOMP_SET_MODE_FILTER: c_uint = 1;
    const NEW_LISTENER: c_uint = 8;
    let header = Program::new(program);
    // SAFETY: as above; the result is a descriptor that nobody else knows of.
    unsafe {
        let fd =
            check_long(syscall(number::SECCOMP, SECCOMP_SET_MODE_FILTER, NEW_LISTENER, &raw const header))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}
