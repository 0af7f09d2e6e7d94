//! Dependency layers: what a config's `dependencies` become on disk.
//!
//! A layer is one directory for one set of requirements and one Python. Its name is a hash of both.
//! It is made once and never changed. The native engine binds it read-only into cells. Nothing else
//! belongs in it. This module is synchronous: it runs an installer, so async callers give it a
//! thread of its own.
//!
//! ```text
//!  <root> checked: could others change it?          yes: refused
//!                         │ no
//!  LayerSpec ──key──► <root>/<key> exists? ─yes─► checked too, all of it ─► Layer { cached: true }
//!                         │ no
//!                     flock <root>/<key>.lock       if taken: Progress::Waiting, then look again
//!                         │
//!                     <root>/.tmp-<key>-<pid>/      requirements.txt, layer/
//!                         │ uv or pip, and wheels that are kept: `fill`  ── Progress::Line …
//!                         │ readable by all, manifest, flush
//!                     rename layer ──► <root>/<key> the only moment a layer comes into being
//! ```
//!
//! A layer is put together from unpacked wheels, each kept once (`wheels`): a layer with one
//! package more costs that package. Whoever changes a file of a layer in the making must replace it
//! and not write into it, because other layers have the same file.
//!
//! A layer that no sandbox has used for [`UNUSED_FOR`] goes after some other install (`usage`,
//! `inventory`).
//!
//! So a crash leaves at most a `.tmp-` directory. Nobody takes it for a layer, and the next install
//! removes it: its lock is free, so its maker is gone. A maker whose caller has gone is stopped
//! ([`Stopper`]): its installer ends, with every process in its group, and nothing stays.
//!
//! A layer's code runs in every cell that has it. So nothing is used that another user could have
//! put there or can change. The whole path to it and every file in it must belong to this user or
//! root, and be writable by nobody else (`engine::trust`). The layer stays open after the check,
//! and what is mounted is compared with it.
//!
//! The installer runs on the host with the host's environment, where indexes and proxies are
//! configured. It must never run code that a requirement brings along. Only wheels are accepted,
//! unless `allow_source_builds` is set. A requirement that is an option, a path or a local URL in
//! disguise is refused before anything starts.
//!
//! The environment is not part of the key. A layer with the same key that was made under another
//! index is used as it is.

mod error;
mod fill;
mod hint;
mod installer;
mod inventory;
mod layer;
mod link;
mod lock;
mod permissions;
#[cfg(feature = "native")]
pub(crate) mod preloads;
mod requirement;
mod resolution;
mod run;
mod spec;
mod split;
mod stage;
mod stop;
mod store;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trust_tests;
mod usage;
mod wheels;
#[cfg(test)]
mod wheels_tests;

pub use error::LayerError;
pub use hint::Hint;
pub use installer::Installer;
pub use inventory::{Inventory, KeptLayer, Prune, Pruned};
pub use layer::{Distribution, Layer, MANIFEST};
pub use spec::LayerSpec;
pub use stop::{Stop, Stopper};
pub use store::{LayerStore, UNUSED_FOR};
#[cfg(feature = "native")]
pub(crate) use usage::InUse;
