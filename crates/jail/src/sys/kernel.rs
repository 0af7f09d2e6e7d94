//! The kernel, as far as the jail needs it: one safe function per call, each returning `io::Result`.
//!
//! This file is compiled twice: into the `belljar-jail` crate, and into the small library that the zygote loads (`cell/`), which is
//! built by `rustc` alone and therefore has no crates at hand. That is why the declarations are written out here rather
//! than taken from `libc` or `rustix`.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::{null, null_mut};

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn mount(
        source: *const c_char,
        target: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_void,
    ) -> c_int;
    fn umount2(target: *const c_char, flags: c_int) -> c_int;
    fn unshare(flags: c_int) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn sethostname(name: *const c_char, len: usize) -> c_int;
    fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    fn fork() -> c_int;
    fn wait4(pid: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn _exit(code: c_int) -> !;
    fn signal(number: c_int, handler: usize) -> usize;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn fchdir(fd: c_int) -> c_int;
    fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    fn recvmsg(fd: c_int, message: *mut MessageHeader, flags: c_int) -> isize;
    fn poll(fds: *mut PollFd, count: c_ulong, timeout: c_int) -> c_int;
    fn geteuid() -> c_uint;
    fn getegid() -> c_uint;
    fn umask(mask: c_uint) -> c_uint;
    fn clone(
        run: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        ...
    ) -> c_int;
    fn getcontext(context: *mut Context) -> c_int;
    fn makecontext(context: *mut Context, run: extern "C" fn(), count: c_int, ...);
    fn swapcontext(from: *mut Context, to: *const Context) -> c_int;
    fn setcontext(context: *const Context) -> c_int;
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
}

const SYS_CLOSE_RANGE: i64 = 436;
const SYS_MOUNT_SETATTR: i64 = 442;
const SYS_LANDLOCK_CREATE_RULESET: i64 = 444;
const SYS_LANDLOCK_ADD_RULE: i64 = 445;
const SYS_LANDLOCK_RESTRICT_SELF: i64 = 446;

pub(crate) const CLONE_NEWNS: u64 = 0x0002_0000;
pub(crate) const CLONE_NEWCGROUP: u64 = 0x0200_0000;
pub(crate) const CLONE_NEWUTS: u64 = 0x0400_0000;
pub(crate) const CLONE_NEWIPC: u64 = 0x0800_0000;
pub(crate) const CLONE_NEWUSER: u64 = 0x1000_0000;
pub(crate) const CLONE_NEWPID: u64 = 0x2000_0000;
pub(crate) const CLONE_NEWNET: u64 = 0x4000_0000;
const CLONE_PIDFD: u64 = 0x1000;
const SIGCHLD: c_int = 17;

pub(crate) const MS_NOSUID: u64 = 2;
pub(crate) const MS_NODEV: u64 = 4;
pub(crate) const MS_NOEXEC: u64 = 8;
pub(crate) const MS_BIND: u64 = 0x1000;
pub(crate) const MS_REC: u64 = 0x4000;
pub(crate) const MS_PRIVATE: u64 = 0x4_0000;

pub(crate) const MOUNT_ATTR_RDONLY: u64 = 1;
pub(crate) const MOUNT_ATTR_NOSUID: u64 = 2;
pub(crate) const MOUNT_ATTR_NODEV: u64 = 4;
pub(crate) const MOUNT_ATTR_NOEXEC: u64 = 8;

pub(crate) const RLIMIT_DATA: u32 = 2;
pub(crate) const RLIMIT_CORE: u32 = 4;
pub(crate) const RLIMIT_NPROC: u32 = 6;
pub(crate) const RLIMIT_NOFILE: u32 = 7;
pub(crate) const RLIMIT_MSGQUEUE: u32 = 12;

pub(crate) const CAP_SETGID: u32 = 6;
pub(crate) const CAP_SETUID: u32 = 7;
const CAP_LAST_KNOWN: u32 = 63;

const PR_SET_PDEATHSIG: c_int = 1;
const PR_SET_DUMPABLE: c_int = 4;
const PR_SET_SECCOMP: c_int = 22;
const PR_CAPBSET_DROP: c_int = 24;
const PR_SET_NO_NEW_PRIVS: c_int = 38;
const PR_CAP_AMBIENT: c_int = 47;

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn check_long(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn c(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a path holds a NUL byte"))
}

/// A file over a descriptor that somebody else owns and keeps open.
pub(crate) fn borrow_file(fd: RawFd) -> ManuallyDrop<File> {
    // SAFETY: `ManuallyDrop` leaves closing to the owner; a number that means nothing gives errors, not harm.
    ManuallyDrop::new(unsafe { File::from_raw_fd(fd) })
}

/// `unshare(2)`.
pub(crate) fn leave_namespaces(flags: u64) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { unshare(flags as c_int) }).map(drop)
}

/// A process as seen by the one that made it.
pub(crate) enum Forked {
    /// In the new process.
    Child,
    /// In the old one.
    Parent {
        /// The new process's id, in the caller's pid namespace.
        pid: i32,
        /// A handle on it that cannot come to mean another process. Only from [`clone_into_namespaces`].
        pidfd: Option<OwnedFd>,
    },
}

/// `clone(2)` in the manner of `fork`, into new namespaces.
///
/// Only for single-threaded processes: locks held by other threads would stay held in the child for ever.
pub(crate) fn clone_into_namespaces(flags: u64) -> io::Result<Forked> {
    let mut pidfd: c_int = -1;
    // SAFETY: no new stack and no CLONE_VM, so the child runs on its own copy of this one; `pidfd` outlives the call.
    let pid = check_long(unsafe {
        syscall(
            number::CLONE,
            flags | CLONE_PIDFD | SIGCHLD as u64,
            null_mut::<c_void>(),
            &raw mut pidfd,
            null_mut::<c_void>(),
            null_mut::<c_void>(),
        )
    })?;
    if pid == 0 {
        return Ok(Forked::Child);
    }
    // SAFETY: the kernel has just put a new descriptor there, and nobody else knows of it.
    let pidfd = Some(unsafe { OwnedFd::from_raw_fd(pidfd) });
    Ok(Forked::Parent { pid: pid as i32, pidfd })
}

/// Runs a function in a new process that shares this one's memory, on a stack of its own, while this one stands still: until the new process
/// becomes another program or ends.
pub(crate) fn clone_sharing_memory(
    flags: u64,
    stack: &mut [u128],
    run: extern "C" fn(*mut c_void) -> c_int,
) -> io::Result<(i32, OwnedFd)> {
    const CLONE_VM: u64 = 0x100;
    const CLONE_VFORK: u64 = 0x4000;
    let mut pidfd: c_int = -1;
    let flags = (flags | CLONE_VM | CLONE_VFORK | CLONE_PIDFD) as c_int | SIGCHLD;
    let top = stack.as_mut_ptr_range().end.cast::<c_void>();
    // SAFETY: the stack is the new process's alone and outlives the call, which returns only when it is no longer in use; nothing else
    // runs in this memory meanwhile, because this process has one thread and that one waits.
    let pid = check(unsafe { clone(run, top, flags, null_mut(), &raw mut pidfd) })?;
    // SAFETY: the kernel has just put a new descriptor there, and nobody else knows of it.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// A place in a computation, to be gone on with: `ucontext_t`, of which only the beginning matters here.
#[repr(C, align(16))]
pub(crate) struct Context {
    flags: c_ulong,
    link: *mut Context,
    stack: *mut c_void,
    stack_flags: c_int,
    stack_size: usize,
    /// Registers and more; larger than any architecture we know needs.
    rest: [u64; 1024],
}

impl Context {
    pub(crate) const fn new() -> Self {
        Self { flags: 0, link: null_mut(), stack: null_mut(), stack_flags: 0, stack_size: 0, rest: [0; 1024] }
    }
}

/// Leaves this computation in `from` and begins `run` on another stack; comes back when somebody resumes `from`.
pub(crate) fn leave_for(
    from: &mut Context,
    to: &mut Context,
    stack: &mut [u128],
    run: extern "C" fn(),
) -> io::Result<()> {
    // SAFETY: `to` is filled by the first call, given a stack that is its own, and never resumed but through the last.
    unsafe {
        check(getcontext(to))?;
        to.stack = stack.as_mut_ptr().cast();
        to.stack_size = size_of_val(stack);
        to.link = null_mut();
        makecontext(to, run, 0);
        check(swapcontext(from, to)).map(drop)
    }
}

/// Goes on where `leave_for` left. What is on the present stack is forgotten.
///
/// # Safety
/// The frame that `leave_for` was called from must still stand.
pub(crate) unsafe fn resume(context: *const Context) -> ! {
    // SAFETY: the caller vouches for the frame; the call returns only if it fails, and then nothing can be done.
    unsafe { setcontext(context) };
    exit_now(125)
}

/// `fork(3)`, with the same condition as [`clone_into_namespaces`].
pub(crate) fn fork_here() -> io::Result<Forked> {
    // SAFETY: callers are single-threaded (the helper before `main`, the zygote by its own rule).
    match check(unsafe { fork() })? {
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent { pid, pidfd: None }),
    }
}

/// `_exit(2)`: no destructors, no flushing, no Python.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: takes no pointers and does not return.
    unsafe { _exit(code) }
}

/// Waits for any child; its pid and wait status.
pub(crate) fn wait_any() -> io::Result<(i32, i32)> {
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call; a null usage pointer is allowed.
        match check(unsafe { wait4(-1, &raw mut status, 0, null_mut()) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map(|pid| (pid, status)),
        }
    }
}

/// `kill(2)`.
pub(crate) fn send_signal(pid: i32, number: i32) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { kill(pid, number) }).map(drop)
}

/// Puts a signal back to its default action.
pub(crate) fn default_signal(number: i32) {
    // SAFETY: 0 is SIG_DFL; no handler of ours is involved.
    unsafe { signal(number, 0) };
}

/// `mount(2)`; an empty `data` stands for none.
pub(crate) fn mount_at(source: &str, target: &str, kind: &str, flags: u64, data: &str) -> io::Result<()> {
    let (source, target, kind, data) = (c(source)?, c(target)?, c(kind)?, c(data)?);
    let data = if data.is_empty() { null() } else { data.as_ptr().cast::<c_void>() };
    // SAFETY: every pointer is a NUL-terminated string that outlives the call, or null where that is allowed.
    check(unsafe { mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data) }).map(drop)
}

#[repr(C)]
#[derive(Default)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

/// `mount_setattr(2)`: adds attributes, to everything mounted below too when asked.
pub(crate) fn add_mount_attributes(target: &str, attributes: u64, recursive: bool) -> io::Result<()> {
    const AT_FDCWD: c_int = -100;
    const AT_RECURSIVE: c_uint = 0x8000;
    let target = c(target)?;
    let attr = MountAttr { set: attributes, ..MountAttr::default() };
    let flags = if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: the pointers outlive the call and the size is that of the structure passed.
    check_long(unsafe {
        syscall(SYS_MOUNT_SETATTR, AT_FDCWD, target.as_ptr(), flags, &raw const attr, size_of::<MountAttr>())
    })
    .map(drop)
}

/// Makes the current directory the root of this mount namespace and forgets the old root altogether.
pub(crate) fn pivot_here() -> io::Result<()> {
    const MNT_DETACH: c_int = 2;
    let here = c".";
    // SAFETY: both pointers are NUL-terminated strings that outlive the calls.
    check_long(unsafe { syscall(number::PIVOT_ROOT, here.as_ptr(), here.as_ptr()) })?;
    // SAFETY: as above. The old root is now stacked on top of the new one; this takes it off.
    check(unsafe { umount2(here.as_ptr(), MNT_DETACH) }).map(drop)
}

/// Opens a path only as a place, following no rights of its own.
pub(crate) fn open_place(path: &str) -> io::Result<OwnedFd> {
    const O_PATH: c_int = 0o10_000_000;
    const O_CLOEXEC: c_int = 0o2_000_000;
    let path = c(path)?;
    // SAFETY: a NUL-terminated string that outlives the call; the result is a descriptor only we know.
    unsafe {
        let fd = check(open(path.as_ptr(), O_PATH | O_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// `fchdir(2)`.
pub(crate) fn enter_place(fd: RawFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { fchdir(fd) }).map(drop)
}

/// Names this machine to the processes in its UTS namespace.
pub(crate) fn name_host(name: &str) -> io::Result<()> {
    // SAFETY: pointer and length belong together.
    check(unsafe { sethostname(name.as_ptr().cast(), name.len()) }).map(drop)
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn raise_loopback() -> io::Result<()> {
    const AF_INET: c_int = 2;
    const SOCK_DGRAM_CLOEXEC: c_int = 2 | 0o2_000_000;
    const SIOCSIFFLAGS: c_ulong = 0x8914;
    const UP_RUNNING: u16 = 0x1 | 0x40;
    #[repr(C)]
    struct InterfaceRequest {
        name: [u8; 16],
        flags: u16,
        rest: [u8; 22],
    }
    let mut request = InterfaceRequest { name: [0; 16], flags: UP_RUNNING, rest: [0; 22] };
    request.name[..2].copy_from_slice(b"lo");
    // SAFETY: the descriptor is new and owned here; `request` has the layout of `struct ifreq` and outlives the call.
    unsafe {
        let fd = OwnedFd::from_raw_fd(check(socket(AF_INET, SOCK_DGRAM_CLOEXEC, 0))?);
        check(ioctl(std::os::fd::AsRawFd::as_raw_fd(&fd), SIOCSIFFLAGS, &raw const request)).map(drop)
    }
}

/// Sets both the soft and the hard limit.
pub(crate) fn limit(resource: u32, value: u64) -> io::Result<()> {
    // SAFETY: the array has the layout of `struct rlimit` on 64-bit Linux and outlives the call.
    check(unsafe { setrlimit(resource as c_int, &raw const *&[value, value]) }).map(drop)
}

/// The ids this process acts under.
pub(crate) fn effective_ids() -> (u32, u32) {
    // SAFETY: neither takes anything or can fail.
    unsafe { (geteuid(), getegid()) }
}

/// `setresuid(2)` and `setresgid(2)` on this thread; `None` leaves an id alone.
pub(crate) fn take_ids(real_and_effective: u32, saved: Option<u32>) -> io::Result<()> {
    let saved = saved.map_or(-1, i64::from);
    let id = i64::from(real_and_effective);
    // SAFETY: neither takes pointers. The group goes first: after the user changed there might be no right left to.
    unsafe {
        check_long(syscall(number::SETRESGID, id, id, saved))?;
        check_long(syscall(number::SETRESUID, id, id, saved))?;
    }
    Ok(())
}

/// Goes back to the ids kept as saved ones, user first because the right to change groups hangs on it.
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

/// Gives up every capability that is not in `keep`, for this process and for all it will ever become.
pub(crate) fn keep_only_capabilities(keep: &[u32]) -> io::Result<()> {
    const EINVAL: i32 = 22;
    const PR_CAP_AMBIENT_CLEAR_ALL: c_ulong = 4;
    for capability in (0..=CAP_LAST_KNOWN).filter(|capability| !keep.contains(capability)) {
        // SAFETY: takes no pointers.
        match check(unsafe { prctl(PR_CAPBSET_DROP, c_ulong::from(capability), 0, 0, 0) }) {
            // Past the last capability this kernel knows.
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
    }
    // SAFETY: version 3 of the call takes two sets of three words; both structures outlive it.
    check_long(unsafe { syscall(number::CAPSET, &raw const header, sets.as_ptr()) }).map(drop)
}

/// After this, no `execve` grants anything.
pub(crate) fn forbid_new_privileges() -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { prctl(PR_SET_NO_NEW_PRIVS, 1 as c_ulong, 0, 0, 0) }).map(drop)
}

/// Whether others of the same user may look into this process (`/proc/<pid>`, ptrace, core files).
pub(crate) fn set_dumpable(dumpable: bool) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { prctl(PR_SET_DUMPABLE, c_ulong::from(dumpable), 0, 0, 0) }).map(drop)
}

/// Asks the kernel to kill this process when its parent dies.
pub(crate) fn die_with_parent() -> io::Result<()> {
    const SIGKILL: c_ulong = 9;
    // SAFETY: takes no pointers.
    check(unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) }).map(drop)
}

/// Installs a seccomp program: `struct sock_filter`s in the kernel's own layout, 8 bytes each.
pub(crate) fn install_filter(program: &[u8]) -> io::Result<()> {
    const SECCOMP_MODE_FILTER: c_ulong = 2;
    #[repr(C)]
    struct Program {
        len: u16,
        filter: *const u8,
    }
    let header = Program { len: (program.len() / 8) as u16, filter: program.as_ptr() };
    // SAFETY: the kernel copies `len` instructions of 8 bytes from a slice that is that long and outlives the call.
    check(unsafe { prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const header, 0, 0) }).map(drop)
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: takes no pointers. Owners of those descriptors are in the parent's copy of this memory or never run again.
    check_long(unsafe { syscall(SYS_CLOSE_RANGE, first as c_uint, c_uint::MAX, 0u32) }).map(drop)
}

/// Closes the descriptors from `first` to `last`.
pub(crate) fn close_between(first: RawFd, last: RawFd) -> io::Result<()> {
    // SAFETY: as in `close_from`.
    check_long(unsafe { syscall(SYS_CLOSE_RANGE, first as c_uint, last as c_uint, 0u32) }).map(drop)
}

/// Makes `new` mean what `old` means, and survive `execve`.
pub(crate) fn duplicate_onto(old: RawFd, new: RawFd) -> io::Result<()> {
    if old == new {
        return keep_on_exec(old);
    }
    // SAFETY: takes no pointers.
    check(unsafe { dup3(old, new, 0) }).map(drop)
}

/// A copy of a descriptor with a number of at least `least`, closed on `execve`.
pub(crate) fn duplicate_above(fd: RawFd, least: RawFd) -> io::Result<RawFd> {
    const F_DUPFD_CLOEXEC: c_int = 1030;
    // SAFETY: takes no pointers.
    check(unsafe { fcntl(fd, F_DUPFD_CLOEXEC, least) })
}

/// Clears the close-on-exec flag.
pub(crate) fn keep_on_exec(fd: RawFd) -> io::Result<()> {
    const F_SETFD: c_int = 2;
    // SAFETY: takes no pointers.
    check(unsafe { fcntl(fd, F_SETFD, 0) }).map(drop)
}

/// Sets the close-on-exec flag.
pub(crate) fn close_on_exec(fd: RawFd) -> io::Result<()> {
    const F_SETFD: c_int = 2;
    const FD_CLOEXEC: c_int = 1;
    // SAFETY: takes no pointers.
    check(unsafe { fcntl(fd, F_SETFD, FD_CLOEXEC) }).map(drop)
}

/// `umask(2)`.
pub(crate) fn set_umask(mask: u32) {
    // SAFETY: cannot fail.
    unsafe { umask(mask) };
}

/// Becomes the program that a descriptor is open on, with an empty environment. Only returns when that fails.
pub(crate) fn become_open_program(fd: RawFd, name: &CStr) -> io::Error {
    const AT_EMPTY_PATH: c_int = 0x1000;
    let argv = [name.as_ptr(), null()];
    let env = [null::<c_char>()];
    // SAFETY: both arrays end in null and point to strings that outlive the call.
    unsafe { syscall(number::EXECVEAT, fd, c"".as_ptr(), argv.as_ptr(), env.as_ptr(), AT_EMPTY_PATH) };
    io::Error::last_os_error()
}

/// Becomes another program. Only returns when that fails.
pub(crate) fn become_program(argv: &[String], env: &[(String, String)]) -> io::Error {
    let strings = |texts: Vec<String>| texts.iter().map(|text| c(text)).collect::<io::Result<Vec<CString>>>();
    let prepared = strings(argv.to_vec()).and_then(|argv| {
        Ok((argv, strings(env.iter().map(|(name, value)| format!("{name}={value}")).collect())?))
    });
    let (argv, env) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return error,
    };
    let pointers = |strings: &[CString]| -> Vec<*const c_char> {
        strings.iter().map(|string| string.as_ptr()).chain([null()]).collect()
    };
    let (argv_pointers, env_pointers) = (pointers(&argv), pointers(&env));
    // SAFETY: both arrays end in null and point to strings that outlive the call.
    unsafe { execve(argv_pointers[0], argv_pointers.as_ptr(), env_pointers.as_ptr()) };
    io::Error::last_os_error()
}

#[repr(C)]
struct IoVector {
    base: *mut c_void,
    len: usize,
}

#[repr(C)]
struct MessageHeader {
    name: *mut c_void,
    name_len: c_uint,
    vectors: *mut IoVector,
    vector_count: usize,
    control: *mut c_void,
    control_len: usize,
    flags: c_int,
}

/// Receives one message with the descriptors that came along.
pub(crate) fn receive_with_descriptors(
    socket: RawFd,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    const MSG_CMSG_CLOEXEC: c_int = 0x4000_0000;
    const SOL_SOCKET: i32 = 1;
    const SCM_RIGHTS: i32 = 1;
    const HEADER: usize = 16;
    let mut control = [0u64; 32];
    let mut vector = IoVector { base: buffer.as_mut_ptr().cast(), len: buffer.len() };
    let mut message = MessageHeader {
        name: null_mut(),
        name_len: 0,
        vectors: &raw mut vector,
        vector_count: 1,
        control: control.as_mut_ptr().cast(),
        control_len: size_of_val(&control),
        flags: 0,
    };
    // SAFETY: the header points to buffers of the stated lengths that outlive the call.
    let read = unsafe { recvmsg(socket, &raw mut message, MSG_CMSG_CLOEXEC) };
    if read < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut descriptors = Vec::new();
    if message.control_len >= HEADER {
        let bytes: Vec<u8> =
            control.iter().flat_map(|word| word.to_ne_bytes()).take(message.control_len).collect();
        let word = |at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let length = usize::from_ne_bytes(bytes[..8].try_into().expect("eight bytes")).min(bytes.len());
        if word(8) == SOL_SOCKET && word(12) == SCM_RIGHTS {
            for at in (HEADER..length).step_by(4) {
                // SAFETY: the kernel has just installed this descriptor for us.
                descriptors.push(unsafe { OwnedFd::from_raw_fd(word(at)) });
            }
        }
    }
    Ok((read as usize, descriptors))
}

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: i16,
    returned: i16,
}

/// Waits until one of two descriptors has news: whether the first hung up, and whether the second did.
pub(crate) fn wait_for_end_of_either(hangup_of: RawFd, exit_of: RawFd) -> io::Result<(bool, bool)> {
    const POLLIN: i16 = 1;
    const POLLERR_HUP: i16 = 0x8 | 0x10;
    const POLLRDHUP: i16 = 0x2000;
    let mut fds = [
        PollFd { fd: hangup_of, events: POLLRDHUP, returned: 0 },
        PollFd { fd: exit_of, events: POLLIN, returned: 0 },
    ];
    loop {
        // SAFETY: the array has the stated length and outlives the call.
        match check(unsafe { poll(fds.as_mut_ptr(), 2, -1) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let hangup = fds[0].returned & (POLLERR_HUP | POLLRDHUP) != 0;
                return Ok((hangup, fds[1].returned != 0));
            }
        }
    }
}

/// Landlock's ruleset attributes; a kernel that knows fewer fields is told a smaller size.
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

/// The Landlock version this kernel speaks; 0 when it has none or it is switched off.
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

/// Allows rights beneath a place.
pub(crate) fn landlock_allow(ruleset: RawFd, place: RawFd, allowed: u64) -> io::Result<()> {
    const RULE_PATH_BENEATH: c_int = 1;
    let rule = PathBeneath { allowed, parent: place };
    // SAFETY: the rule outlives the call and is of the kind named.
    check_long(unsafe { syscall(SYS_LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, &raw const rule, 0u32) })
        .map(drop)
}

/// Puts this process under a ruleset for good.
pub(crate) fn landlock_enter(ruleset: RawFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check_long(unsafe { syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0u32) }).map(drop)
}
