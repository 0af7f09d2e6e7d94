//! Turns one process into two in a new pid namespace, for the price of one copy.
//!
//! A cell needs a small PID 1, and a PID 2 that is a copy of the zygote. Copying the zygote twice
//! would cost twice. So PID 1 is not a copy. It borrows the zygote's memory while the zygote waits
//! (`CLONE_VM | CLONE_VFORK`). It does its work there, makes the one copy, and becomes another
//! program. Then the zygote continues.
//!
//! ```text
//!  zygote  main stack ──switch_to──► trampoline stack: clone ─ waits ─► resume main: in zygote
//!  PID 1                             its own stack: confine, fork ───► exec belljar-init
//!  PID 2 (a copy, from here on)                             └► descriptors, limits
//!                                                               ───► resume main: in the cell
//! ```
//!
//! The copy is made while the main computation is saved in a [`Context`]. So that computation
//! continues in both processes, once in each.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::null;

use super::confine::{self, CellParts};
use super::kernel::{self, Context, Forked};
use super::plan::CellPlan;

/// Stacks are in units of 16 bytes, which is also their alignment.
const fn units(bytes: usize) -> usize {
    bytes / size_of::<u128>()
}

/// Everything that is passed from one stack to another, and the stacks.
///
/// It stays in one place for the zygote's whole life. A new one per cell would be a hundred pages
/// to clear, and after each clone the zygote has to copy every page it writes to.
struct CloneState {
    main: Context,
    trampoline: Context,
    plan: *const CellPlan,
    parts: *const CellParts<'static>,
    outcome: Option<io::Result<Forked>>,
    trampoline_stack: [u128; units(32 * 1024)],
    init_stack: [u128; units(256 * 1024)],
}

struct SingleThreaded(UnsafeCell<CloneState>);
// SAFETY: a zygote has one thread, and `clone_into_cell` is not re-entered.
unsafe impl Sync for SingleThreaded {}

static STATE: SingleThreaded = SingleThreaded(UnsafeCell::new(CloneState {
    main: Context::new(),
    trampoline: Context::new(),
    plan: null(),
    parts: null(),
    outcome: None,
    trampoline_stack: [0; units(32 * 1024)],
    init_stack: [0; units(256 * 1024)],
}));

/// Clones this process into a cell. Returns in the zygote, and in the cell's PID 2 once it is
/// confined.
pub(crate) fn clone_into_cell(plan: &CellPlan, parts: &CellParts<'_>) -> io::Result<Forked> {
    let state = STATE.0.get();
    // SAFETY: only this function, the trampoline and PID 1 touch the state, never two of them at
    // once; both references outlive the call, and nothing looks at them after it.
    let outcome = unsafe {
        (*state).plan = plan;
        (*state).parts = std::ptr::from_ref(parts).cast();
        let stack = &raw mut (*state).trampoline_stack;
        kernel::switch_to(&mut (*state).main, &mut (*state).trampoline, &mut *stack, trampoline)?;
        (*state).outcome.take()
    };
    outcome.unwrap_or_else(|| Err(io::Error::other("nothing came of the clone")))
}

extern "C" fn trampoline() {
    let state = STATE.0.get();
    // SAFETY: `clone_into_cell` waits until it is resumed, so nobody else looks at the state.
    unsafe {
        let stack = &raw mut (*state).init_stack;
        let made = kernel::clone_sharing_memory(confine::NAMESPACES, &mut *stack, pid_1);
        (*state).outcome = Some(made.map(|(pid, pidfd)| Forked::Parent { pid, pidfd: Some(pidfd) }));
        kernel::resume(&raw const (*state).main)
    }
}

/// Runs PID 1 in borrowed memory, and makes PID 2.
extern "C" fn pid_1(_: *mut c_void) -> c_int {
    let state = STATE.0.get();
    // SAFETY: the zygote waits, and PID 2 has its own copy of the state.
    unsafe {
        confine::become_pid_1(&*(*state).plan, &*(*state).parts);
        (*state).outcome = Some(Ok(Forked::Child));
        kernel::resume(&raw const (*state).main)
    }
}
