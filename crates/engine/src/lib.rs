//! Hands out cells and takes them back.
//!
//! An [`Engine`] makes a [`Blueprint`] ready once, as a [`Template`]. A template gives out
//! [`Cell`]s. Each cell is a live place with the guest harness in it, isolated by every engine but
//! `local`. Whoever holds a cell talks to the harness. A cell that is dropped is killed.
//!
//! ```text
//!  Blueprint (config + tools) ──Engine::prepare──► Template ──spawn──► Cell ──autopsy──► Autopsy
//!                              │                                        └─ dropped: killed
//!                              ├ native/   a zygote in a jail
//!                              ├ docker/   an image, and containers of it, by supervised/
//!                              └ local/    a plain subprocess, with no isolation
//!
//!  native and local: provision  which interpreter (python/), which packages (builder/, trust/)
//!  all:              guest/     what is carried into a cell; cell/: what a cell is
//!
//!  SandboxPool ──checkout──► Lease: a warm cell, in turn                     (pool/)
//!  what goes on between two calls is done on two threads of our own          (background)
//! ```
//!
//! This crate does not interpret what a cell *says* beyond its first frame, `ready`. Lines go up to
//! `belljar-runtime`, and only that crate gives verdicts.

mod blocking;
#[cfg(any(feature = "native", feature = "local"))]
pub mod builder;
#[cfg(any(feature = "native", feature = "local"))]
mod cache_dir;
mod capabilities;
mod cell;
pub mod check;
#[cfg(feature = "docker")]
pub mod docker;
mod engine;
mod error;
mod file_lock;
mod files;
/// The proxy that engines put in front of cells that may reach hosts.
#[cfg(any(feature = "native", feature = "docker"))]
pub mod egress {
    pub use belljar_proxy::{
        CellEgress, Egress, EgressError, EgressOptions, Resolve, ResolveError, Resolving, Roots,
    };
}
mod background;
mod clock;
#[cfg(any(feature = "native", feature = "docker"))]
mod grants;
pub mod guest;
#[cfg(feature = "native")]
pub mod host;
mod into_engine;
pub mod kept;
#[cfg(feature = "local")]
pub mod local;
pub mod metering;
mod named_path;
#[cfg(feature = "native")]
pub mod native;
pub mod pool;
mod progress;
#[cfg(any(feature = "native", feature = "local"))]
pub mod provision;
#[cfg(any(feature = "native", feature = "local"))]
pub mod python;
#[cfg(feature = "docker")]
mod supervised;
#[cfg(any(feature = "native", feature = "local"))]
mod trust;
#[cfg(any(feature = "native", feature = "local"))]
mod watch;
#[cfg(all(test, feature = "native"))]
mod workspace_names_tests;

pub use background::{Background, CallersWaker, Forked, InProcess, Process};
pub use belljar_core::{ProtectionState, ProtectionStatus};
pub use blocking::on_a_thread;
pub use bytes::Bytes;
pub use capabilities::Capabilities;
#[cfg(any(feature = "native", feature = "local"))]
pub use cell::Streams;
pub use cell::{
    Autopsy, Burst, Cell, CellFiles, CellIo, CellLife, CellUsage, CellView, End, Entry, EntryKind, Files,
    Leftovers, Listing, Outbox, Output, Signal, Until,
};
pub use clock::{Alarm, Elapsed, timeout};
pub use engine::{
    Blueprint, BoxFuture, Engine, Fitting, Need, Template, TemplateReport, ToolSource, UnreadableTool,
};
pub use error::{EngineError, EngineFailure, Fault};
pub use files::{Copied, Found, Item, Tree, make_directory, open_directory, open_file, open_tree};
pub use into_engine::IntoEngine;
pub use named_path::{LinkOnTheWay, read_file, real_path};
pub use progress::Progress;
#[cfg(any(feature = "native", feature = "local"))]
pub use trust::Distrust;
