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
//! module, `sys`. The helper is a small program that the crate carries as bytes and runs from
//! memory. So an embedder installs nothing, and may be a shared library.
//!
//! Without the feature `confine`, or elsewhere than on Linux, only descriptions are left: filters
//! of system calls, bounds, identities of files. The docker engine needs no more.

#[cfg(confine)]
pub mod cgroup;
#[cfg(confine)]
mod circumstances;
#[cfg(confine)]
#[expect(dead_code, reason = "runs in the helper; compiled here for the lints, the tests and the messages")]
mod helper;
#[cfg(confine)]
mod launch;
#[cfg(confine)]
mod memory_file;
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
mod systemd;

#[cfg(confine)]
use sys::{encoding, kept_name, kernel};

#[cfg(confine)]
pub use kept_name::KeptName;
#[cfg(confine)]
pub use launch::{LaunchError, Launched, launch, send};
#[cfg(confine)]
pub use memory_file::sealed_file;
#[cfg(confine)]
pub use plan::{CELL_INIT, CELL_LIBRARY, CellLimits, plan_cell};
#[cfg(confine)]
pub use proc::stand_ins;
pub use seccomp::{CellFilter, MemoryAccounting, Supervision, Terminals, cell_filter, zygote_filter};
pub use shortage::shortage;
pub use spec::{Expected, FileIdentity, Identity, JailSpec, LentPlace, RootEntry};
pub use sys::bounds;
#[cfg(confine)]
pub use sys::cell::{CellOrder, CellPlan};
pub use sys::entry::is_called;
pub use sys::lineage::lineage;
#[cfg(confine)]
pub use systemd::Manager;

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error, in all of this
/// program. By default a signal would end it. Programs started from it, and cells, still get the
/// default. This is for programs of our own: a library must not change what its host does about a
/// signal, and uses [`without_file_size_signal`].
#[cfg(confine)]
pub fn survive_file_size_limit() {
    sys::kernel::survive_file_size_limit();
}

/// Runs `work` so that a write beyond the file size limit fails with an error. Nothing is changed
/// but the mask of this thread, and that only meanwhile.
pub fn without_file_size_signal<T>(work: impl FnOnce() -> T) -> T {
    let _held = sys::file_size::HeldSignal::hold();
    work()
}

/// From now on this thread makes and opens files as the user and group with this id, without any
/// right of root over files. Other threads are not affected. There is no way back, so this is for
/// threads that end with their work.
pub fn take_file_identity(id: u32) -> std::io::Result<()> {
    sys::file_identity::take_file_identity(id)
}
