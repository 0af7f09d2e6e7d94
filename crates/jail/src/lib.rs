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
//!
//! Without the feature `confine`, or elsewhere than on Linux, only descriptions are left: filters
//! of system calls, bounds, identities of files. The docker engine needs no more.

#[cfg(confine)]
pub mod cgroup;
#[cfg(confine)]
mod helper;
#[cfg(confine)]
mod launch;
#[cfg(confine)]
mod plan;
#[cfg(confine)]
pub mod probe;
#[cfg(confine)]
mod proc;
mod seccomp;
mod shortage;
mod spec;
#[expect(unsafe_code, reason = "the one place that talks to the kernel and to CPython by pointer")]
mod sys;

#[cfg(confine)]
pub use launch::{LaunchError, Launched, launch, program_file, sealed_file, send};
#[cfg(confine)]
pub use plan::{CELL_INIT, CELL_LIBRARY, CellLimits, plan_cell};
#[cfg(confine)]
pub use proc::stand_ins;
pub use seccomp::{CellFilter, MemoryAccounting, Supervision, cell_filter, zygote_filter};
pub use shortage::shortage;
pub use spec::{Expected, FileIdentity, Identity, JailSpec, RootEntry};
pub use sys::bounds;
#[cfg(confine)]
pub use sys::cell::{CellOrder, CellPlan};
pub use sys::entry::is_called;

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error. By default a signal
/// would end this program. Programs started from it, and cells, still get the default.
#[cfg(confine)]
pub fn survive_file_size_limit() {
    sys::kernel::survive_file_size_limit();
}
