//! The record that a workspace keeps of itself: reading, writing, and taking turns.
//!
//! `metadata.json` is at the root of a workspace, where programs can write too. So nothing in it is
//! believed beyond what it says about the workspace, no link is followed to it, and no more of it
//! is read than it can need. It is replaced as a whole: whoever reads it sees the old record or the
//! new one. Whoever reads, changes and writes it holds its [lock](with_metadata_lock) meanwhile.

mod file;
mod lock;
mod temporary;

pub use file::{ensure_layout, load_metadata, load_or_recover, save_metadata};
pub use lock::{MetadataGuard, lock_metadata, with_metadata_lock};
pub use temporary::is_metadata_temporary;
