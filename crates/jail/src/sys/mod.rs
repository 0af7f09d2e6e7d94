//! The unsafe island. Everything that talks to the kernel or to CPython by pointer is here, one SAFETY note a block.
//!
//! `kernel` is the calls; `cell` is what becomes of a clone of the zygote, compiled here for its tests and by `build.rs`
//! into the library the zygote loads; `init` is the program that PID 1 of a cell becomes; `entry` lets any program that links this crate become the jail helper.

#[path = "init/bounds.rs"]
pub mod bounds;
#[cfg(confine)]
pub(crate) mod cell;
pub(crate) mod entry;
#[cfg(confine)]
pub(crate) mod kernel;
