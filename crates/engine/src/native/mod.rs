//! The default engine: a zygote per template, cells forked ahead of need, each used once. No
//! daemon.
//!
//! ```text
//!  Native ──open──► NativeEngine ──prepare──► NativeTemplate ──spawn──► NativeCell
//!          survey of the machine     guest root, cell plan,     channel, stdout, stderr,
//!                                    interpreter, zygote        status, pidfd, cgroup
//! ```
//!
//! The jail crate confines. This module decides what a cell sees, talks to the zygote over its
//! control socket, and owns the host's side of each cell.

mod cell;
mod check;
mod descriptors;
mod egress;
mod engine;
mod error;
mod ids;
mod lender;
mod lending;
mod lingering;
mod network_namespaces;
mod reaper;
mod resources;
mod root;
mod settings;
mod template;
mod zygote;

pub use engine::NativeEngine;
pub use error::NativeError;
pub use settings::Native;

/// The name of this engine in configs, errors and reports.
const NAME: &str = "native";
