//! A directory of this machine as [`Files`]: the workspaces of native and local cells, and places
//! of the caller's.
//!
//! ```text
//!  Files ──orders──► worker: a thread with the guest's own rights ──► tree: a descriptor of the
//!                    as root: its user id, and no right of root        workspace, and paths
//!                                                                      beneath it
//! ```
//!
//! * `tree` opens, lists and makes files. Every path is resolved beneath a descriptor, through no
//!   link and on no other file system.
//! * `visit` looks at everything below, one entry after the other; `copy` copies trees, sharing
//!   blocks where the file system can, and `twin` all there is in one; `write` replaces files at
//!   once; `remove` removes trees.
//! * `worker` is the thread. As root it takes the guest's user id for files, so a guest has nothing
//!   to gain from what its host opens.

mod contents;
mod copy;
mod remove;
mod tree;
mod twin;
mod visit;
mod worker;
mod write;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::cell::Files;
use crate::named_path;

pub use copy::{Copied, Item};
pub(crate) use remove::remove_in;
pub use tree::Tree;
pub use visit::Found;
pub(crate) use worker::Worker;
pub(crate) use write::temporary_name;

/// Opens a directory of the caller's. Links in it are not followed, links on the way to it only
/// where no script can have made them, and other file systems mounted in it are not entered.
pub fn open_directory(path: &Path) -> io::Result<Box<dyn Files>> {
    serve(named_path::open_directory(path)?)
}

/// The same, and makes it, and those above it, if they are not there.
pub fn make_directory(path: &Path) -> io::Result<Box<dyn Files>> {
    serve(named_path::make_directory(path)?)
}

/// A regular file of the caller's, opened to be read. The same links are followed, and nothing is
/// waited for.
pub fn open_file(path: &Path) -> io::Result<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = std::fs::File::from(named_path::open(&named_path::real_path(path)?, flags)?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// A directory of the caller's, for code that may block.
pub fn open_tree(path: &Path) -> io::Result<Tree> {
    Tree::new(named_path::open_directory(path)?)
}

fn serve(root: OwnedFd) -> io::Result<Box<dyn Files>> {
    Ok(Box::new(Worker::start(Arc::new(Tree::new(root)?), None)?))
}
