//! What becomes of a clone of the zygote. The library's own root is `lib.rs`; this is the crate's view of it.

use super::kernel;

#[cfg_attr(
    not(belljar_cell_library),
    expect(dead_code, reason = "runs in the cell library; compiled here for the lints")
)]
mod confine;
mod plan;

pub use plan::CellPlan;
pub(crate) use plan::{PlannedLimit, PlannedMount};

/// The cell library: a shared object that the zygote loads as the Python module `belljar_cell`.
pub(crate) const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libbelljar_cell.so"));
