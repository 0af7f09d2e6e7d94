//! Processes: making them, waiting for them, running another program.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong, c_void};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::{null, null_mut};

use super::{c, check, check_long, number, syscall};

unsafe extern "C" {
    fn unshare(flags: c_int) -> c_int;
    fn setns(fd: c_int, kind: c_int) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn fork() -> c_int;
    fn wait4(pid: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn _exit(code: c_int) -> !;
    fn signal(number: c_int, handler: usize) -> usize;
    fn sigprocmask(how: c_int, set: *const c_void, old: *mut c_void) -> c_int;
    fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    fn poll(fds: *mut PollFd, count: c_ulong, timeout: c_int) -> c_int;
    fn umask(mask: c_uint) -> c_uint;
    fn setsid() -> c_int;
    fn clone(
        run: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        ...
    ) -> c_int;
}

const PR_SET_PDEATHSIG: c_int = 1;
const PR_SET_DUMPABLE: c_int = 4;

pub(crate) const CLONE_NEWNS: u64 = 0x0002_0000;
pub(crate) const CLONE_NEWCGROUP: u64 = 0x0200_0000;
pub(crate) const CLONE_NEWUTS: u64 = 0x0400_0000;
pub(crate) const CLONE_NEWIPC: u64 = 0x0800_0000;
pub(crate) const CLONE_NEWUSER: u64 = 0x1000_0000;
pub(crate) const CLONE_NEWPID: u64 = 0x2000_0000;
pub(crate) const CLONE_NEWNET: u64 = 0x4000_0000;
const CLONE_PIDFD: u64 = 0x1000;
const SIGCHLD: c_int = 17;

/// `unshare(2)`.
pub(crate) fn unshare_namespaces(flags: u64) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { unshare(flags as c_int) }).map(drop)
}

/// `setns(2)`: enters the namespace of this kind that a descriptor is open on.
pub(crate) fn enter_namespace(fd: RawFd, kind: u64) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { setns(fd, kind as c_int) }).map(drop)
}

/// The result of a fork, in each of the two processes.
pub(crate) enum Forked {
    /// In the new process.
    Child,
    /// In the old process.
    Parent {
        /// The new process's id, in the caller's pid namespace.
        pid: i32,
        /// A handle that can never come to mean another process. Only [`clone_into_namespaces`]
        /// gives one.
        pidfd: Option<OwnedFd>,
    },
}

/// `clone(2)` in the manner of `fork`, into new namespaces.
///
/// Only for single-threaded processes. Locks held by other threads would stay locked in the child
/// for ever.
pub(crate) fn clone_into_namespaces(flags: u64) -> io::Result<Forked> {
    let mut pidfd: c_int = -1;
    // SAFETY: no new stack and no CLONE_VM, so the child runs on its own copy of this one; `pidfd`
    // outlives the call.
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

/// Runs a function in a new process that shares this one's memory, on its own stack. This process
/// waits until the new one runs another program or ends.
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
    // SAFETY: the stack is the new process's alone and outlives the call, which returns only when
    // it is no longer in use; nothing else runs in this memory meanwhile, because this process has
    // one thread and that one waits.
    let pid = check(unsafe { clone(run, top, flags, null_mut(), &raw mut pidfd) })?;
    // SAFETY: the kernel has just put a new descriptor there, and nobody else knows of it.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// `fork(3)`, with the same condition as [`clone_into_namespaces`].
pub(crate) fn fork_here() -> io::Result<Forked> {
    // SAFETY: callers are single-threaded (the helper and the zygote by their own rules).
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

/// Waits for any child. Returns its pid and wait status.
pub(crate) fn wait_any() -> io::Result<(i32, i32)> {
    wait_for(-1)
}

/// The same for one child.
pub(crate) fn wait_for(pid: i32) -> io::Result<(i32, i32)> {
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call; a null usage pointer is allowed.
        match check(unsafe { wait4(pid, &raw mut status, 0, null_mut()) }) {
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

/// Resets a signal to its default action.
pub(crate) fn default_signal(number: i32) {
    // SAFETY: 0 is SIG_DFL; no handler of ours is involved.
    unsafe { signal(number, 0) };
}

/// Blocks a signal, or lets it through again.
pub(crate) fn set_blocked(number: i32, blocked: bool) {
    const SIG_BLOCK: c_int = 0;
    const SIG_UNBLOCK: c_int = 1;
    let mut set = [0u64; 16];
    set[0] = 1 << (number - 1);
    let how = if blocked { SIG_BLOCK } else { SIG_UNBLOCK };
    // SAFETY: a set of signals is 128 bytes in the C library; the array outlives the call.
    unsafe { sigprocmask(how, set.as_ptr().cast(), std::ptr::null_mut()) };
}

/// Sets whether others of the same user may look into this process (`/proc/<pid>`, ptrace, core
/// files).
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

/// `setsid(2)`: starts a new session and process group.
pub(crate) fn new_session() -> io::Result<()> {
    // SAFETY: takes nothing.
    check(unsafe { setsid() }).map(drop)
}

/// The name of this process in lists of processes. The kernel keeps 15 bytes.
pub(crate) fn set_name(name: &CStr) {
    const PR_SET_NAME: c_int = 15;
    // SAFETY: a NUL-terminated string that outlives the call.
    unsafe { prctl(PR_SET_NAME, name.as_ptr()) };
}

/// `umask(2)`.
pub(crate) fn set_umask(mask: u32) {
    // SAFETY: cannot fail.
    unsafe { umask(mask) };
}

/// Runs the program that a descriptor is open on, with an empty environment. Returns only if that
/// fails.
pub(crate) fn exec_descriptor(fd: RawFd, name: &CStr) -> io::Error {
    const AT_EMPTY_PATH: c_int = 0x1000;
    let argv = [name.as_ptr(), null()];
    let env = [null::<c_char>()];
    // SAFETY: both arrays end in null and point to strings that outlive the call.
    unsafe { syscall(number::EXECVEAT, fd, c"".as_ptr(), argv.as_ptr(), env.as_ptr(), AT_EMPTY_PATH) };
    io::Error::last_os_error()
}

/// Runs another program in this process. Returns only if that fails.
pub(crate) fn exec_program(argv: &[String], env: &[(String, String)]) -> io::Error {
    let strings = |texts: Vec<String>| texts.iter().map(c).collect::<io::Result<Vec<CString>>>();
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
struct PollFd {
    fd: c_int,
    events: i16,
    returned: i16,
}

/// Waits until a socket hangs up or a process ends. Returns whether the socket did, and which of
/// the processes, each given by a handle on it.
pub(crate) fn wait_for_end_of_any<const N: usize>(
    hangup_of: RawFd,
    ends_of: [RawFd; N],
) -> io::Result<(bool, [bool; N])> {
    const POLLIN: i16 = 1;
    const POLLERR_HUP: i16 = 0x8 | 0x10;
    const POLLRDHUP: i16 = 0x2000;
    let mut socket = PollFd { fd: hangup_of, events: POLLRDHUP, returned: 0 };
    let mut fds: Vec<PollFd> = ends_of.map(|fd| PollFd { fd, events: POLLIN, returned: 0 }).into();
    fds.insert(0, socket);
    loop {
        // SAFETY: the array has the stated length and outlives the call.
        match check(unsafe { poll(fds.as_mut_ptr(), fds.len() as c_ulong, -1) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => {
                socket = fds.remove(0);
                let ended = std::array::from_fn(|at| fds[at].returned != 0);
                return Ok((socket.returned & (POLLERR_HUP | POLLRDHUP) != 0, ended));
            }
        }
    }
}
