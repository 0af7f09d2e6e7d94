//! The embedded default: a zygote per template, cells forked ahead of need, each used once. No daemon.
//!
//! ```text
//!  NativeEngine ──prepare──► NativeTemplate ── zygote (control socket) ──spawn──► NativeCell
//!    survey of the machine     guest root, cell plan, interpreter                  channel, stdout, stderr, status, pidfd, cgroup
//! ```
//!
//! The jail crate does the confining; this module decides what a cell sees, talks to the zygote, and owns what each cell is
//! made of on the host's side.

mod cell;
mod check;
mod engine;
mod ids;
mod network_namespaces;
mod resources;
mod root;
mod template;
mod watch;
mod way_out;
mod zygote;

pub use belljar_proxy::{EgressError, Resolve, ResolveError, Resolving, Roots};
pub use engine::{NativeEngine, NativeOptions};
