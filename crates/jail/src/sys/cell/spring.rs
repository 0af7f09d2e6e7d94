//! How one process becomes two in a new pid namespace at the price of one copy.
//!
//! A cell needs a small PID 1 and a PID 2 that is a copy of the zygote. Copying the zygote twice would cost twice, so PID 1 is not a copy: it
//! borrows the zygote's memory while the zygote stands still (`CLONE_VM | CLONE_VFORK`), does its work there, makes the one copy, and
//! becomes a program of its own, upon which the zygote goes on.
//!
//! ```text
//!  zygote      main stack ──leave_for──► trampoline stack: clone ─ ─ ─ stands still ─ ─ ─ ─ ─► resume main: in the zygote
//!  PID 1                                 its own stack: confine, fork ──────────► exec belljar-init
//!  PID 2 (a copy, from here on)                                └► descriptors, limits ─────► resume main: in the cell
//! ```
//!
//! The copy is made while the computation that shall go on rests in a [`Context`], so it goes on in both processes, once in each.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::null;

use super::confine::{self, CellParts};
use super::kernel::{self, Context, Forked};
use super::plan::CellPlan;

/// Stacks are in units of 16 bytes, which is also what they must be aligned to.
const fn units(bytes: usize) -> usize {
    bytes / size_of::<u128>()
}

/// Everything that is passed from one stack to another, and the stacks. It stands in one place for the zygote's whole life: made anew for each
/// cell it would be a hundred pages to clear, in a process that has to copy every page it writes to after each clone.
struct Spring {
    main: Context,
    trampoline: Context,
    plan: *const CellPlan,
    parts: *const CellParts<'static>,
    outcome: Option<io::Result<Forked>>,
    trampoline_stack: [u128; units(32 * 1024)],
    init_stack: [u128; units(256 * 1024)],
}

struct OnlyOne(UnsafeCell<Spring>);
// SAFETY: a zygote has one thread, and `clone_into_cell` is not re-entered.
unsafe impl Sync for OnlyOne {}

static SPRING: OnlyOne = OnlyOne(UnsafeCell::new(Spring {
    main: Context::new(),
    trampoline: Context::new(),
    plan: null(),
    parts: null(),
    outcome: None,
    trampoline_stack: [0; units(32 * 1024)],
    init_stack: [0; units(256 * 1024)],
}));

/// Clones this process into a cell. Returns in the zygote and, once it is confined, in the cell's PID 2.
pub(crate) fn clone_into_cell(plan: &CellPlan, parts: &CellParts<'_>) -> io::Result<Forked> {
    let spring = SPRING.0.get();
    // SAFETY: only this function, the trampoline and PID 1 touch the spring, never two of them at once; both references outlive the
    // call, and nothing looks at them after it.
    let outcome = unsafe {
        (*spring).plan = plan;
        (*spring).parts = std::ptr::from_ref(parts).cast();
        let stack = &raw mut (*spring).trampoline_stack;
        kernel::leave_for(&mut (*spring).main, &mut (*spring).trampoline, &mut *stack, trampoline)?;
        (*spring).outcome.take()
    };
    outcome.unwrap_or_else(|| Err(io::Error::other("nothing came of the clone")))
}

extern "C" fn trampoline() {
    let spring = SPRING.0.get();
    // SAFETY: `clone_into_cell` rests until it is resumed, so nobody else looks at the spring.
    unsafe {
        let stack = &raw mut (*spring).init_stack;
        let made = kernel::clone_sharing_memory(confine::NAMESPACES, &mut *stack, first_process);
        (*spring).outcome = Some(made.map(|(pid, pidfd)| Forked::Parent { pid, pidfd: Some(pidfd) }));
        kernel::resume(&raw const (*spring).main)
    }
}

/// The life of PID 1 in borrowed memory, and the birth of PID 2.
extern "C" fn first_process(_: *mut c_void) -> c_int {
    let spring = SPRING.0.get();
    // SAFETY: the zygote stands still, and PID 2 has a spring of its own: the copy.
    unsafe {
        confine::become_first_process(&*(*spring).plan, &*(*spring).parts);
        (*spring).outcome = Some(Ok(Forked::Child));
        kernel::resume(&raw const (*spring).main)
    }
}
