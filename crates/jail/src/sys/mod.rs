//! The only place with unsafe code: everything that talks to the kernel or to CPython by pointer.
//! Each block has a SAFETY note.
//!
//! - `kernel`: the system calls.
//! - `cell`: turns a clone of the zygote into a cell. It is compiled here for its tests, and by
//!   `build.rs` into the library the zygote loads.
//! - `init`: the program that PID 1 of a cell becomes.
//! - `entry`: lets any program that links this crate become the jail helper.

#[path = "init/bounds.rs"]
pub mod bounds;
#[cfg(confine)]
pub(crate) mod cell;
pub(crate) mod entry;
#[cfg(confine)]
pub(crate) mod kernel;
