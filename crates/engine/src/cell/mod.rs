//! What a cell is to those who use it, in four parts.
//!
//! ```text
//!          ┌ CellIo    send ──► the private channel        both directions at once: `send` queues,
//!  Cell ───┤           poll_output ◄── channel, stdout,    `poll_flush` and `poll_output` wait
//!          │                           stderr
//!          ├ CellView  what it has used, whether its disk is full, which hosts it asked for
//!          ├ CellFiles files into its workspace, and out of it
//!          └ CellLife  signal, kill, autopsy, reset
//! ```
//!
//! No method has a default: an engine that cannot observe something says so in as many words.
//! Nothing here understands what a guest says; the runtime's `conversation` does.

#[cfg(any(feature = "native", feature = "local"))]
mod burst;
mod files;
mod io;
mod life;
mod outbox;
#[cfg(any(feature = "native", feature = "local"))]
mod stdin;
#[cfg(any(feature = "native", feature = "local"))]
mod streams;
mod view;

use belljar_core::CellId;

pub use files::{CellFiles, Entry, EntryKind, Files, Listing};
pub use io::{Burst, CellIo, Leftovers, Output};
pub use life::{Autopsy, CellLife, End, Signal};
pub use outbox::Outbox;
#[cfg(any(feature = "native", feature = "local"))]
pub use streams::Streams;
pub use view::{CellUsage, CellView, Until};

/// One live, isolated place with a guest harness in it. Dropping it kills everything in it.
pub trait Cell: CellIo + CellView + CellFiles + CellLife + Send + 'static {
    /// Its name.
    fn id(&self) -> CellId;

    /// The name by which others than this process know the place it is in: the id of a container.
    /// `None` if it has no other name than its id. It is in logs and results, for whoever operates
    /// the machine.
    fn place(&self) -> Option<&str>;
}
