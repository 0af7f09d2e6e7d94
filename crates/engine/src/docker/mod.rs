//! Cells made of containers, on a daemon that speaks Docker's API.
//!
//! ```text
//!  Blueprint ──context──► image (built once, named by its contents)                                   build, context
//!      │
//!      └─► create ─► attach ─► start ─► "boot" ─► supervisor (PID 1) ─► "ready"                     container, attach, template
//!                                                   │ forks a guest for each use
//!          frames ─► messages ─► Burst ◄────────────┘                                                frames, message, cell
//!          reset: everything killed, every writable place emptied, the next guest forked; else the container is retired
//! ```
//!
//! * A container holds one use at a time and is used again up to `max_uses` times; interpreter state never crosses uses, because every
//!   guest is a fresh fork of a process that has run nothing.
//! * Containers have no network at all, with a policy too: their proxy stands in a container of its own and serves a listener that was made
//!   on their loopback and handed over through a volume (`sidecar/`).
//! * A container's stdin ends with our connection, and the container with its stdin. What a killed host leaves behind
//!   removes itself.

mod address;
mod attach;
mod build;
mod cell;
mod container;
mod context;
mod daemon;
mod engine;
mod error;
mod frames;
mod grants;
mod labels;
mod protections;
mod prune;
mod remover;
mod settings;
mod sidecar;
mod template;

pub use engine::DockerEngine;
pub use error::DockerError;
pub use prune::Pruned;
pub use settings::Docker;

/// What this engine is called in configs, errors and reports.
const NAME: &str = "docker";
