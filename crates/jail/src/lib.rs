//! Confines one Linux process.
//!
//! A [`JailSpec`] says what the process shall see; [`launch`] starts a helper, which builds the outer jail and becomes the
//! program. For the native engine that program is a Python zygote, and the [`CellPlan`] it is handed says what
//! must be done to every cell it clones from itself. [`cgroup`] bounds what a cell may use, [`probe`] tells
//! what this machine allows.
//!
//! ```text
//!  host process ── launch ──► helper ──► PID 1 = zygote ── cell library ──► cells
//!   (any threads)             (helper/, single-threaded)      (sys/cell/)
//! ```
//!
//! The crate is synchronous, knows nothing of tokio, and holds all of the workspace's unsafe code in one module, `sys`.
//! It needs no executable of its own: a program that links it can be run again as the helper.
//!
//! Without the feature `confine`, or elsewhere than on Linux, only what describes is left: filters of system calls, bounds,
//! identities of files. The docker engine needs no more.

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
pub use seccomp::{CellFilter, Counted, Supervision, cell_filter, zygote_filter};
pub use shortage::shortage;
pub use spec::{Expected, FileIdentity, Identity, JailSpec, RootEntry};
pub use sys::bounds;
#[cfg(confine)]
pub use sys::cell::{CellOrder, CellPlan};
pub use sys::entry::is_called;

/// Makes a write beyond the limit on file sizes (`ulimit -f`) an error of this program, where it would be its end. Programs that are
/// started from it, and cells, have the signal's default.
#[cfg(confine)]
pub fn survive_file_size_limit() {
    sys::kernel::survive_file_size_limit();
}
