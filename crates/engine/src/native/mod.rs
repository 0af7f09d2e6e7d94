//! The embedded default: a zygote per template, cells forked ahead of need, each used once. No daemon.
//!
//! ```text
//!  Native ──open──► NativeEngine ──prepare──► NativeTemplate ── zygote (control socket) ──spawn──► NativeCell
//!    survey of the machine     guest root, cell plan, interpreter                  channel, stdout, stderr, status, pidfd, cgroup
//! ```
//!
//! The jail crate does the confining; this module decides what a cell sees, talks to the zygote, and owns what each cell is
//! made of on the host's side.

mod cell;
mod check;
mod egress;
mod engine;
mod error;
mod ids;
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

/// What this engine is called in configs, errors and reports.
const NAME: &str = "native";
