//! Root of the jail helper, a program of its own.
//!
//! `build.rs` builds it with `rustc` alone. Its bytes are part of this crate, and `launch` runs
//! them from memory. So it reaches every embedder without a file to install, also one that is a
//! plugin or a Python module. The modules are compiled into the crate as well, where the lints and
//! tests see them.

#![deny(unsafe_op_in_unsafe_fn)]
#![allow(dead_code, reason = "the crate and the cell library use the rest of these modules")]

#[path = "../sys/encoding.rs"]
mod encoding;
#[path = "mod.rs"]
mod helper;
#[path = "../sys/kept_name.rs"]
mod kept_name;
#[path = "../sys/kernel/mod.rs"]
mod kernel;
#[path = "../spec.rs"]
mod spec;

fn main() {
    helper::run()
}
