//! Hands out cells and takes them back.
//!
//! An [`Engine`] makes a [`Blueprint`] ready once, as a [`Template`]; a template gives out [`Cell`]s, each a live, isolated
//! place with the guest harness in it; whoever holds a cell talks to the harness and destroys it in the end.
//!
//! ```text
//!  Blueprint (config + tools) ──Engine::prepare──► Template ──spawn──► Cell ──destroy──► Autopsy
//!                              │                                         └─ dropped instead: killed all the same
//!                              ├ python/   which interpreter
//!                              ├ builder/  which packages, installed once
//!                              ├ native/   a zygote in a jail
//!                              └ docker/   an image, and containers of it
//!
//!  SandboxPool ──checkout──► Lease: a warm cell, in turn                     (pool/)
//! ```
//!
//! What a cell *says* is not understood here: lines go up to `belljar-runtime`, which alone gives verdicts.

mod blocking;
#[cfg(any(feature = "native", feature = "local"))]
pub mod builder;
mod capabilities;
mod cell;
pub mod check;
#[cfg(feature = "docker")]
pub mod docker;
mod engine;
mod error;
/// The proxy that engines put in front of cells which may talk to somebody.
#[cfg(any(feature = "native", feature = "docker"))]
pub mod egress {
    pub use belljar_proxy::{
        CellEgress, Egress, EgressError, EgressOptions, Resolve, ResolveError, Resolving, Roots,
    };
}
#[cfg(any(feature = "native", feature = "docker"))]
mod grants;
pub mod guest;
#[cfg(feature = "native")]
pub mod host;
mod into_engine;
#[cfg(feature = "local")]
pub mod local;
pub mod metering;
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

pub use capabilities::{Capabilities, Protection, State};
#[cfg(any(feature = "native", feature = "local"))]
pub use cell::Streams;
pub use cell::{
    Autopsy, Burst, Cell, CellIo, CellLife, CellUsage, CellView, End, Leftovers, Outbox, Output, Until,
};
pub use engine::{Blueprint, BoxFuture, Engine, Need, Template, TemplateReport, ToolSource};
pub use error::{EngineError, EngineFailure, Fault};
pub use into_engine::IntoEngine;
pub use progress::Progress;
#[cfg(any(feature = "native", feature = "local"))]
pub use trust::Distrust;
