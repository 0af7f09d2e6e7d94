//! Warm cells ahead of need, given out fairly, never more than the machine was promised to hold.
//!
//! ```text
//!  SandboxPool ── open(blueprint) ──► Registry: one live template for each key
//!      │                                  ▼
//!      │                              TemplateHold: the template stays while it is held
//!      │                                  │ checkout
//!      └─ startup, checkout(name):        ▼
//!         the same, by label          TemplatePool ── slots.rs decides: idle cell now,
//!                                         │           make one, or wait in line
//!                                         ▼
//!                                     Lease: dropping it destroys or resets the cell and
//!                                            wakes whoever waits longest
//! ```
//!
//! All templates:
//! * `key` tells whether two blueprints may share cells: only if nothing about them differs.
//! * `registry` knows every live template; `preparation` prepares each once; `retention` decides
//!   which stay warm (pure, property-tested); `shutdown` ends them.
//! * `hold` is a share in a live template.
//!
//! One template:
//! * `slots` is the accounts: pure, property-tested.
//! * `template_pool` drives them: `checkout` waits for cells, `making` makes them and brings a dead
//!   zygote back, and `idle_watch` notices idle cells that die.
//! * `locked` answers callers when nobody has the books any more.
//! * `lease` is exclusive use of a cell.
//! * `meters` counts, for whoever watches.

mod checkout;
mod hold;
mod idle_watch;
mod key;
mod lease;
mod locked;
mod making;
mod meters;
mod options;
mod preparation;
mod registry;
mod retention;
#[cfg(test)]
mod reuse_tests;
mod sandbox_pool;
mod shutdown;
mod slots;
mod template_pool;

pub use checkout::CheckoutError;
pub use hold::{FittedLease, TemplateHold};
pub use key::PoolKey;
pub use lease::{InProgress, Lease};
pub use options::PoolOptions;
pub use preparation::OpenError;
pub use registry::LiveTemplate;
pub use sandbox_pool::{PoolError, SandboxPool};
pub use template_pool::TemplateStats;
