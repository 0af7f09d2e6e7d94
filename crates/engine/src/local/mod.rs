//! Python as a plain subprocess. **It isolates nothing**: a script can do whatever this program can
//! do.
//!
//! For trusted code, and for trying things out where neither namespaces nor a daemon are available.
//! It must be asked for by name. Every report and result says what it is. It refuses a config that
//! relies on anything it cannot enforce:
//!
//! | in a config | |
//! |---|---|
//! | time limit, output limit, secrets, `env`, tools | as on every engine |
//! | `dependencies`, `preload`, `python_version` | as on every engine |
//! | memory, processor, process and descriptor limits, `scratch_size_mb` | only at their defaults |
//! | `network_policy` | only at its default; the network is open nevertheless |
//! | `resources`, `require` | refused |
//! | `base_image` | ignored, as on the native engine |
//!
//! ```text
//!  Local ──open──► LocalEngine ──prepare──► LocalTemplate ──spawn──► LocalCell
//!                                          home/: harness,          cell-N/: settings,
//!                                                 tools                      workspace/, tmp/
//!                                                                   python3, leading its own
//!                                                                   process group
//! ```
//!
//! What a script started ends with its process group. A process that leaves the group outlives its
//! cell, and a script outlives a host that is killed.
//!
//! This engine uses nothing that a crate outside this one could not use. It shows what an engine
//! needs.

mod cell;
mod engine;
mod home;
mod process;
mod settings;
mod template;

pub use engine::LocalEngine;
pub use settings::Local;

/// The name of this engine in configs, errors and reports.
const NAME: &str = "local";
