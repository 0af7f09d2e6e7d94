//! Files into a cell before its script starts, and out of it when it is over.
//!
//! ```text
//!  request.files ──put──► Files of the cell ──► Given: what is there now, by digest
//!                                │ the script runs
//!  result.files ◄─collect── Files of the cell, everything killed first
//!        └ bytes, or Files of a directory of the caller's
//! ```
//!
//! Nothing here knows engines: [`Files`](belljar_engine::Files) is all there is to a workspace.
//! Pieces are passed on as they come, so memory stays flat.

mod collect;
mod digest;
mod error;
mod put;
mod session;

pub(crate) use collect::{Collection, Wanted};
pub use error::FilesError;
pub(crate) use put::{Given, put};
pub use session::{FileEntry, SessionFiles};

/// How many names below a directory are looked at.
const MOST_ENTRIES: usize = 100_000;
