//! Computations that rest on one stack while another runs.

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

/// A place in a computation, to be gone on with: `ucontext_t`, of which only the beginning matters here.
#[repr(C, align(16))]
pub(crate) struct Context {
    flags: c_ulong,
    link: *mut Context,
    stack: *mut c_void,
    stack_flags: c_int,
    stack_size: usize,
    /// Registers and more: at least what the C library's `ucontext_t` has after the above.
    rest: [u64; REST],
}

/// In words. Room beyond the need, but not so much that zeroing it touches pages for nothing.
const REST: usize = if cfg!(target_arch = "x86_64") { 160 } else { 600 };

impl Context {
    pub(crate) const fn new() -> Self {
        Self { flags: 0, link: null_mut(), stack: null_mut(), stack_flags: 0, stack_size: 0, rest: [0; REST] }
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
