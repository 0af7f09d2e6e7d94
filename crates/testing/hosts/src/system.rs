//! Calls that Rust's library has no safe name for.

#[expect(unsafe_code, reason = "a host that forks can only do so by hand")]
mod calls {
    unsafe extern "C" {
        fn fork() -> i32;
        fn _exit(code: i32) -> !;
        fn unshare(flags: i32) -> i32;
    }

    pub(crate) fn unshare_pids() -> i32 {
        const CLONE_NEWPID: i32 = 0x2000_0000;
        // SAFETY: only where the next child is put is changed.
        unsafe { unshare(CLONE_NEWPID) }
    }

    pub(crate) fn fork_here() -> i32 {
        // SAFETY: what a child of a process with threads may not do is what the tests try.
        unsafe { fork() }
    }

    pub(crate) fn leave(code: i32) -> ! {
        // SAFETY: ends this process without running anything more of it.
        unsafe { _exit(code) }
    }
}

use rustix::process::{Pid, WaitOptions, waitpid};

/// Forks. In the child it runs `work` and exits; with 1 if that panics. The child's id.
pub(crate) fn fork(work: impl FnOnce() + std::panic::UnwindSafe) -> Pid {
    match calls::fork_here() {
        0 => {
            let done = std::panic::catch_unwind(work);
            calls::leave(i32::from(done.is_err()))
        }
        child => Pid::from_raw(child).expect("there can be another process"),
    }
}

/// Forks and comes back twice: with the child's id, and in the child with none.
pub(crate) fn fork_and_return() -> Option<Pid> {
    Pid::from_raw(calls::fork_here())
}

/// Ends this process without running anything more of it.
pub(crate) fn leave(code: i32) -> ! {
    calls::leave(code)
}

/// Puts the next child into a pid namespace of its own.
pub(crate) fn new_pid_namespace() {
    assert_eq!(calls::unshare_pids(), 0, "{}", std::io::Error::last_os_error());
}

/// Waits for a child, which must end well.
pub(crate) fn ends_well(child: Pid) {
    let (_, status) = waitpid(Some(child), WaitOptions::empty()).expect("it is ours").expect("it has ended");
    assert_eq!(status.exit_status(), Some(0), "the child ended with {status:?}");
}
