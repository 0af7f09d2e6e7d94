//! Root of the cell library, which the zygote loads to make cells.
//!
//! `build.rs` builds it with `rustc` alone, into a shared object whose bytes are part of this
//! crate. So it reaches every embedder without a file to install. `kernel`, `plan` and `confine`
//! are compiled into the crate as well, where the lints and tests see them.

#![deny(unsafe_op_in_unsafe_fn)]
#![allow(dead_code, reason = "the outer jail uses the rest of kernel/")]

#[path = "../encoding.rs"]
mod encoding;
#[path = "../kept_name.rs"]
mod kept_name;
#[path = "../kernel/mod.rs"]
mod kernel;

mod confine;
mod network_namespaces;
mod order;
mod plan;
mod python;
mod serve;
mod clone;
mod large_pages;
