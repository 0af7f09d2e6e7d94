//! Turns a clone of the zygote into a cell. The library's own root is `lib.rs`; this is the crate's
//! view of it.

use super::{encoding, kept_name, kernel};

mod clone;
mod confine;
#[cfg_attr(
    not(belljar_cell_library),
    expect(dead_code, reason = "runs in the cell library; compiled here for the lints")
)]
mod large_pages;
mod network_namespaces;
mod order;
mod plan;
#[cfg_attr(
    not(belljar_cell_library),
    expect(dead_code, reason = "runs in the cell library; compiled here for the lints")
)]
mod serve;

pub use order::CellOrder;
pub use plan::CellPlan;
pub(crate) use plan::{LENT, MAKE_DIRECTORY, MAKE_FILE, PlannedLimit, PlannedMount};

/// The cell library: a shared object that the zygote loads as the Python module `belljar_cell`.
pub(crate) const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/belljar_cell"));

/// The program that PID 1 of every cell becomes.
pub(crate) const INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/belljar_init"));
