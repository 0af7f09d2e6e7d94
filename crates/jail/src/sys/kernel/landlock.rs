//! Landlock: rules about files that a process puts on itself.

use std::ffi::c_int;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::null;

use super::{check_long, syscall};

const SYS_LANDLOCK_CREATE_RULESET: i64 = 444;
const SYS_LANDLOCK_ADD_RULE: i64 = 445;
const SYS_LANDLOCK_RESTRICT_SELF: i64 = 446;

/// The attributes of a ruleset. A kernel that knows fewer fields gets a smaller size.
#[repr(C)]
#[derive(Default)]
struct RulesetAttr {
    handled_fs: u64,
    handled_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// The Landlock version of this kernel, or 0 if it has none or it is switched off.
pub(crate) fn landlock_version() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel reads nothing and returns a number.
    let version = unsafe { syscall(SYS_LANDLOCK_CREATE_RULESET, null::<RulesetAttr>(), 0usize, VERSION) };
    version.max(0) as u32
}

/// A new Landlock ruleset that governs these rights.
pub(crate) fn landlock_ruleset(handled_fs: u64, scoped: u64) -> io::Result<OwnedFd> {
    let attr = RulesetAttr { handled_fs, handled_net: 0, scoped };
    let size = if scoped == 0 { 8usize } else { size_of::<RulesetAttr>() };
    // SAFETY: `size` bytes of `attr` are read; the result is a descriptor only we know.
    unsafe {
        let fd = check_long(syscall(SYS_LANDLOCK_CREATE_RULESET, &raw const attr, size, 0u32))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Allows rights below a path.
pub(crate) fn landlock_allow(ruleset: RawFd, place: RawFd, allowed: u64) -> io::Result<()> {
    const RULE_PATH_BENEATH: c_int = 1;
    let rule = PathBeneath { allowed, parent: place };
    // SAFETY: the rule outlives the call and is of the kind named.
    check_long(unsafe { syscall(SYS_LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, &raw const rule, 0u32) })
        .map(drop)
}

/// Puts this process under a ruleset, for good.
pub(crate) fn landlock_enter(ruleset: RawFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check_long(unsafe { syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0u32) }).map(drop)
}
