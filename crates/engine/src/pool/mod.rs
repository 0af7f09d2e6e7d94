//! Warm cells ahead of need, given out fairly, never more than the machine was promised to hold.
//!
//! ```text
//!  SandboxPool ── startup(names) ──► one shelf a sandbox
//!      │ checkout(name) ──► Shelf ── slots.rs decides: idle cell now · make one · wait in line
//!      ▼                      │
//!    Lease ◄──────────────────┘   dropping it destroys the cell and wakes whoever waits longest
//! ```
//!
//! * `slots` is the accounts: pure, property-tested.
//! * `shelf` drives them for one template: makes cells, watches idle ones, brings a dead zygote back.
//! * `lease` is exclusive use of a cell.
//! * `key` tells whether two blueprints may share cells: only if nothing about them differs.

mod key;
mod lease;
#[cfg(test)]
mod reuse_tests;
mod sandbox_pool;
mod shelf;
mod slots;

pub use key::PoolKey;
pub use lease::Lease;
pub use sandbox_pool::{PoolError, PoolOptions, SandboxPool};
pub use shelf::{CheckoutError, Shelf, ShelfStats};
