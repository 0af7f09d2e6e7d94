//! The signal of the limit on file sizes (`ulimit -f`), kept from a thread while it writes.

/// Writes that go beyond the limit on file sizes while this lives fail with `EFBIG`. By default a
/// signal would end the process.
///
/// Only the mask of this thread changes, and only meanwhile. What the host does about the signal
/// stays what it is.
#[cfg(target_os = "linux")]
pub(crate) struct HeldSignal {
    mask: [u64; 16],
    /// Whether one was waiting before. Then it is not ours to take.
    was_pending: bool,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{c_int, c_void};
    use std::ptr::{null, null_mut};

    use super::HeldSignal;

    unsafe extern "C" {
        fn pthread_sigmask(how: c_int, set: *const c_void, old: *mut c_void) -> c_int;
        fn sigpending(set: *mut c_void) -> c_int;
        fn sigtimedwait(set: *const c_void, info: *mut c_void, within: *const c_void) -> c_int;
    }

    const SIG_BLOCK: c_int = 0;
    const SIG_SETMASK: c_int = 2;
    /// Signal 25, in a set of signals, which is 128 bytes in the C library.
    const SIGXFSZ: u64 = 1 << 24;
    const FILE_SIZE: [u64; 16] = [SIGXFSZ, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    impl HeldSignal {
        pub(crate) fn hold() -> Self {
            let (mut mask, mut pending) = ([0u64; 16], [0u64; 16]);
            // SAFETY: sets of signals are that long, and outlive the calls.
            unsafe {
                pthread_sigmask(SIG_BLOCK, FILE_SIZE.as_ptr().cast(), mask.as_mut_ptr().cast());
                sigpending(pending.as_mut_ptr().cast());
            }
            Self { mask, was_pending: pending[0] & SIGXFSZ != 0 }
        }
    }

    impl Drop for HeldSignal {
        fn drop(&mut self) {
            let at_once = [0u64; 2];
            // SAFETY: as above; the time has the layout of `struct timespec` on 64-bit Linux, and a
            // null pointer asks for no details.
            unsafe {
                // The one that a write of ours has caused, if any. It may be interrupted.
                const EINTR: i32 = 4;
                while !self.was_pending
                    && sigtimedwait(FILE_SIZE.as_ptr().cast(), null_mut(), at_once.as_ptr().cast()) < 0
                    && std::io::Error::last_os_error().raw_os_error() == Some(EINTR)
                {}
                pthread_sigmask(SIG_SETMASK, self.mask.as_ptr().cast(), null::<c_void>().cast_mut());
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) struct HeldSignal;

#[cfg(not(target_os = "linux"))]
impl HeldSignal {
    pub(crate) fn hold() -> Self {
        Self
    }
}
