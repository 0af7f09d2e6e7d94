//! Cells made of containers, on a daemon that speaks Docker's API.
//!
//! ```text
//!  Blueprint ──context──► image, named by its contents            build, context
//!      │
//!      └─► create ─► attach ─► start ─► "boot"                    container, attach, template
//!                                         │
//!                                supervisor (PID 1) ─► "ready"    supervised
//!                                         │ forks a guest for each use
//!          frames ─► messages ─► Burst ◄──┘                       frames, cell
//!          reset: kills everything, empties every writable place,
//!                 forks the next guest; if it fails, the container is retired
//! ```
//!
//! * A container serves one use at a time, and up to `max_uses` uses in all. Interpreter state
//!   never crosses uses, because every guest is a fresh fork of a process that has run nothing.
//! * Containers have no network at all, even with a policy. Their proxy runs in a container of its
//!   own. It serves a listener that was made on their loopback and handed over through a volume
//!   (`sidecar/`).
//! * A container's stdin ends with our connection, and the container ends with its stdin. So the
//!   containers of a killed host remove themselves.

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
mod ids;
mod labels;
mod podman;
mod protections;
mod prune;
mod remover;
mod settings;
mod sidecar;
mod template;

pub use engine::DockerEngine;
pub use error::DockerError;
pub use prune::{OrphanContainer, Orphans, Pruned};
pub use settings::Docker;

/// The name of this engine in configs, errors and reports.
const NAME: &str = "docker";
/// What the names of our images begin with.
const OUR_IMAGES: &str = "belljar/";
