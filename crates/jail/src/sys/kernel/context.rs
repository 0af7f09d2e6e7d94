//! Saves a computation on one stack while another stack runs.

use std::ffi::{c_int, c_ulong, c_void};
use std::io;
use std::ptr::null_mut;

use super::{check, exit_now};

unsafe extern "C" {
    fn getcontext(context: *mut Context) -> c_int;
    fn makecontext(context: *mut Context, run: extern "C" fn(), count: c_int, ...);
    fn swapcontext(from: *mut Context, to: *const Context) -> c_int;
    fn setcontext(context: *const Context) -> c_int;
}

/// A saved point in a computation: `ucontext_t`, of which only the beginning matters here.
#[repr(C, align(16))]
pub(crate) struct Context {
    flags: c_ulong,
    link: *mut Context,
    stack: *mut c_void,
    stack_flags: c_int,
    stack_size: usize,
    /// Registers and more. At least as long as the rest of the C library's `ucontext_t`.
    rest: [u64; REST],
}

/// The length in words. It leaves room to spare, but not so much that zeroing touches extra pages.
const REST: usize = if cfg!(target_arch = "x86_64") { 160 } else { 600 };

impl Context {
    pub(crate) const fn new() -> Self {
        Self { flags: 0, link: null_mut(), stack: null_mut(), stack_flags: 0, stack_size: 0, rest: [0; REST] }
    }
}

/// Saves this computation in `from` and starts `run` on another stack. Returns when somebody
/// resumes `from`.
pub(crate) fn switch_to(
    from: &mut Context,
    to: &mut Context,
    stack: &mut [u128],
    run: extern "C" fn(),
) -> io::Result<()> {
    // SAFETY: the first call fills `to`, which then gets its own stack and is only ever resumed
    // through the last call.
    unsafe {
        check(getcontext(to))?;
        to.stack = stack.as_mut_ptr().cast();
        to.stack_size = size_of_val(stack);
        to.link = null_mut();
        makecontext(to, run, 0);
        check(swapcontext(from, to)).map(drop)
    }
}

/// Continues where `switch_to` left off. The current stack is abandoned.
///
/// # Safety
/// The frame that `switch_to` was called from must still be there.
pub(crate) unsafe fn resume(context: *const Context) -> ! {
    // SAFETY: the caller vouches for the frame; the call returns only if it fails, and then nothing
    // can be done.
    unsafe { setcontext(context) };
    exit_now(125)
}
