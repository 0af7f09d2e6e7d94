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

#![cfg(target_os = "linux")]

mod blocking;
pub mod builder;
mod cell;
mod check;
pub mod docker;
mod engine;
mod error;
mod grants;
pub mod guest;
pub mod host;
mod lingering;
pub mod native;
pub mod pool;
pub mod python;
mod reaper;
mod supervised;
mod trust;

pub use cell::{
    Autopsy, Burst, Cell, CellIo, CellLife, CellUsage, CellView, End, Leftovers, Outbox, Output, Until,
};
pub use engine::{
    Blueprint, BoxFuture, Capabilities, Engine, Need, Protection, State, Template, TemplateReport, ToolSource,
};
pub use error::{EngineError, Fault};
pub use trust::Distrust;
