//! Dependency layers: what a config's `dependencies` become on disk.
//!
//! A layer is one directory for one set of requirements and one Python, named by a hash of both, made once and never
//! changed. The native engine binds it read-only into cells; nothing else belongs in it. Synchronous: it runs an
//! installer, so async callers give it a thread of its own.
//!
//! ```text
//!  <root> looked at: could others change it?       yes: refused
//!                         │ no
//!  LayerSpec ──key──► <root>/<key> there? ──yes──► looked at too, all of it ──► Layer { cached: true }
//!                         │ no
//!                     flock <root>/<key>.lock        another is at it: Progress::Waiting, then look again
//!                         │
//!                     <root>/.tmp-<key>-<pid>/       requirements.txt, layer/
//!                         │ uv or pip  ── Progress::Line …
//!                         │ readable by all, manifest, flush
//!                     rename layer ──► <root>/<key>  the only moment a layer comes to be
//! ```
//!
//! So a crash leaves at most a `.tmp-` directory, which nobody takes for a layer and the next install sweeps away: its
//! lock is free, hence its maker is gone.
//!
//! A layer's code runs in every cell that has it, so nothing is used that another user could have put there or can change: the whole way to it and every
//! file in it must belong to us or to root and be writable by nobody else (`engine::trust`). A layer stays open since then, and what is mounted
//! is compared with it.
//!
//! The installer runs on the host with the host's environment, where indexes and proxies are configured. It must never
//! run code a requirement brings along: only wheels are accepted unless `allow_source_builds` is set, and a requirement
//! that is an option, a path or a local URL in disguise is refused before anything starts. The environment is not part
//! of the key: with the same key, a layer made under another index is used as it is.

mod error;
mod hint;
mod installer;
mod layer;
mod lock;
mod permissions;
mod requirement;
mod run;
mod spec;
mod stage;
mod store;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trust_tests;

pub use error::LayerError;
pub use hint::Hint;
pub use installer::Installer;
pub use layer::{Distribution, Layer, MANIFEST};
pub use spec::LayerSpec;
pub use store::LayerStore;
