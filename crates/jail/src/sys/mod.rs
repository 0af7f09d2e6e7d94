//! The only place with unsafe code: everything that talks to the kernel or to CPython by pointer.
//! Each block has a SAFETY note.
//!
//! - `kernel`: the system calls.
//! - `cell`: turns a clone of the zygote into a cell. It is compiled here for its tests, and by
//!   `build.rs` into the library the zygote loads.
//! - `init`: the program that PID 1 of a cell becomes.
//! - `encoding`: how plain data reaches the programs that the crate carries.
//! - `file_size`: keeps the signal of the limit on file sizes from a thread.
//! - `file_identity`: whose files a thread makes and may open.
//! - `lineage`: tells a process from those that it was forked from.
//! - `entry`: lets a program that links another crate run a function of it instead of `main`.

#[path = "init/bounds.rs"]
pub mod bounds;
#[cfg(confine)]
pub(crate) mod cell;
#[cfg(confine)]
pub(crate) mod encoding;
pub(crate) mod entry;
pub(crate) mod file_identity;
pub(crate) mod file_size;
#[cfg(confine)]
pub(crate) mod kept_name;
#[cfg(confine)]
pub(crate) mod kernel;
pub(crate) mod lineage;
