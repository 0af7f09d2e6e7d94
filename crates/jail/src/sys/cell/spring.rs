//! How one process becomes two in a new pid namespace at the price of one copy.
//!
//! A cell needs a small PID 1 and a PID 2 that is a copy of the zygote. Copying the zygote twice would cost twice, so PID 1 is not a copy: it
//! borrows the zygote's memory while the zygote stands still (`CLONE_VM | CLONE_VFORK`), does its work there, makes the one copy, and
//! becomes a program of its own, upon which the zygote goes on.
//!
//! ```text
//!  zygote      main stack ──leave_for──► trampoline stack: clone ─ ─ ─ stands still ─ ─ ─ ─ ─► resume main: in the zygote
//!  PID 1                                 its own stack: confine, fork ──────────► exec belljar-init
//!  PID 2 (a copy, from here on)                                └► own cgroup, descriptors ──► resume main: in the cell
//! ```
//!
//! The copy is made while the computation that shall go on rests in a [`Context`], so it goes on in both processes, once in each.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::confine::{self, CellParts};
use super::kernel::{self, Context, Forked};
use super::plan::CellPlan;

/// Stacks are in units of 16 bytes, which is also what they must be aligned to.
const STACK: usize = 256 * 1024 / size_of::<u128>();

/// Everything that is passed from one stack to another.
struct Spring<'a> {
    main: Context,
    trampoline: Context,
    trampoline_stack: Vec<u128>,
    init_stack: Vec<u128>,
    plan: &'a CellPlan,
    parts: &'a CellParts,
    outcome: Option<io::Result<Forked>>,
}

/// The spring in use. A zygote has one thread, so there is but one.
static CURRENT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Clones this process into a cell. Returns in the zygote and, once it is confined, in the cell's PID 2.
pub(crate) fn clone_into_cell(plan: &CellPlan, parts: &CellParts) -> io::Result<Forked> {
    let spring = UnsafeCell::new(Spring {
        main: Context::new(),
        trampoline: Context::new(),
        trampoline_stack: vec![0; STACK / 8],
        init_stack: vec![0; STACK],
        plan,
        parts,
        outcome: None,
    });
    CURRENT.store(spring.get().cast(), Ordering::Relaxed);
    // SAFETY: only this function, the trampoline and PID 1 touch the spring, never two of them at once.
    let outcome = unsafe {
        let spring = spring.get();
        let stack: *mut [u128] = (*spring).trampoline_stack.as_mut_slice();
        kernel::leave_for(&mut (*spring).main, &mut (*spring).trampoline, &mut *stack, trampoline)?;
        (*spring).outcome.take()
    };
    outcome.unwrap_or_else(|| Err(io::Error::other("nothing came of the clone")))
}

fn current<'a>() -> *mut Spring<'a> {
    CURRENT.load(Ordering::Relaxed).cast()
}

extern "C" fn trampoline() {
    let spring = current();
    // SAFETY: `clone_into_cell` rests until it is resumed, so the spring stands and nobody else looks at it.
    unsafe {
        let made =
            kernel::clone_sharing_memory(confine::NAMESPACES, &mut (*spring).init_stack, first_process);
        (*spring).outcome = Some(made.map(|(pid, pidfd)| Forked::Parent { pid, pidfd: Some(pidfd) }));
        kernel::resume(&raw const (*spring).main)
    }
}

/// The life of PID 1 in borrowed memory, and the birth of PID 2.
extern "C" fn first_process(_: *mut c_void) -> c_int {
    let spring = current();
    // SAFETY: the zygote stands still, and PID 2 has a spring of its own: the copy.
    unsafe {
        let (plan, parts) = ((*spring).plan, (*spring).parts);
        confine::become_first_process(plan, parts);
        (*spring).outcome = Some(Ok(Forked::Child));
        kernel::resume(&raw const (*spring).main)
    }
}
