//! Calls that Rust's library has no safe name for.

#[expect(unsafe_code, reason = "a host that forks can only do so by hand")]
mod calls {
    unsafe extern "C" {
        fn fork() -> i32;
        fn _exit(code: i32) -> !;
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

/// Waits for a child, which must end well.
pub(crate) fn ends_well(child: Pid) {
    let (_, status) = waitpid(Some(child), WaitOptions::empty()).expect("it is ours").expect("it has ended");
    assert_eq!(status.exit_status(), Some(0), "the child ended with {status:?}");
}
