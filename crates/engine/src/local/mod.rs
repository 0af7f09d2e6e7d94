//! Python as a plain subprocess. **It isolates nothing**: a script can do whatever this program can do.
//!
//! For trusted code and for trying things out where neither namespaces nor a daemon are to be had. It must be
//! asked for by name, says in every report and result what it is, and refuses a config that counts on anything
//! it cannot enforce:
//!
//! | in a config | |
//! |---|---|
//! | time limit, output limit, secrets, `env`, tools, `dependencies`, `preload`, `python_version` | as on every engine |
//! | memory, processor, process and descriptor limits, `scratch_size_mb` | refused unless left at their defaults |
//! | `network_policy` | refused unless left at its default; the network is open all the same |
//! | `resources`, `require` | refused |
//! | `base_image` | of no meaning, as on the native engine |
//!
//! ```text
//!  Local ──open──► LocalEngine ──prepare──► LocalTemplate ──spawn──► LocalCell
//!                                            home/: harness, tools    cell-N/: settings, workspace/, tmp/
//!                                                                     python3 in a process group of its own
//! ```
//!
//! What a script started ends with its process group. A process that leaves the group outlives its cell, and a
//! script outlives a host that is killed.
//!
//! This engine uses nothing that a crate outside of this one could not use: it shows what an engine needs.

mod cell;
mod engine;
mod home;
mod process;
mod settings;
mod template;

pub use engine::LocalEngine;
pub use settings::Local;

/// What this engine is called in configs, errors and reports.
const NAME: &str = "local";
