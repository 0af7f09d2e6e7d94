//! Confines one Linux process.
//!
//! A [`JailSpec`] says what the process sees. [`launch()`] starts a helper, which builds the outer
//! jail and runs the program in it. For the native engine that program is a Python zygote. The
//! zygote gets a [`CellPlan`], which says what to do to every cell it clones from itself.
//! [`cgroup`] limits what a cell may use. [`probe`] finds out what this machine allows.
//!
//! ```text
//!  host process ── launch ──► helper ──► PID 1 = zygote ── cell library ──► cells
//!   (any threads)             (helper/, single-threaded)      (sys/cell/)
//! ```
//!
//! The crate is synchronous and does not know tokio. All unsafe code of the workspace is in one
//! module, `sys`. The crate needs no executable of its own: a program that links it can run itself
//! again as the helper.

#![cfg(target_os = "linux")]

pub mod cgroup;
mod helper;
mod launch;
mod plan;
pub mod probe;
mod proc;
mod seccomp;
mod spec;
#[expect(unsafe_code, reason = "the one place that talks to the kernel and to CPython by pointer")]
mod sys;

pub use launch::{LaunchError, Launched, launch, program_file, sealed_file, send};
pub use plan::{CELL_INIT, CELL_LIBRARY, CellLimits, plan_cell};
pub use proc::stand_ins;
pub use seccomp::{CellFilter, MemoryAccounting, Supervision, cell_filter, zygote_filter};
pub use spec::{Expected, FileIdentity, Identity, JailSpec, RootEntry};
pub use sys::bounds;
pub use sys::cell::{CellOrder, CellPlan};
pub use sys::entry::is_called;

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error. By default a signal
/// would end this program. Programs started from it, and cells, still get the default.
pub fn survive_file_size_limit() {
    sys::kernel::survive_file_size_limit();
}
