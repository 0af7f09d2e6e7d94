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
//! * `worker` is the thread. As root it takes the guest's user id for files, so a guest has nothing
//!   to gain from what its host opens.

mod tree;
mod worker;

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use crate::cell::Files;

pub(crate) use tree::Tree;
pub(crate) use worker::Worker;

/// Opens a directory of the caller's. Links in it are not followed, and other file systems mounted
/// in it are not entered.
pub fn open_directory(path: &Path) -> io::Result<Box<dyn Files>> {
    let root = rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(Box::new(Worker::start(Arc::new(Tree::new(root)?), None)?))
}
