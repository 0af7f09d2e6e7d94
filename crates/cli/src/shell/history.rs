//! The history of all shells of a user: one file, which only that user can read.
//!
//! Each entry is appended as soon as it was typed, with the file locked, so that shells that run
//! side by side lose nothing of each other. A shell sees what others typed before it began.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use crate::env;

/// How many entries are kept.
pub(super) const MOST_ENTRIES: usize = 5000;
/// The longest entry that is kept, in bytes. A pasted file is no history.
pub(super) const LONGEST_ENTRY: usize = 64 * 1024;

/// Where the history is, if this user has a place for it.
fn place() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set(env::XDG_STATE_HOME).or_else(|| Some(set(env::HOME)?.join(".local/state")))?;
    Some(state.join("belljar/shell-history"))
}

/// Makes sure that the history's file is there, and returns where it is. `None` if this user has
/// no place for it.
pub(super) fn open() -> io::Result<Option<PathBuf>> {
    const MINE_ALONE: u32 = 0o600;
    let Some(path) = place() else { return Ok(None) };
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    // Made here, because the editor would empty a file that another shell makes at the same time.
    OpenOptions::new().append(true).create(true).mode(MINE_ALONE).open(&path)?;
    Ok(Some(path))
}

/// Whether an entry is to be kept. The editor itself leaves out those that begin with a space.
pub(super) fn is_worth_keeping(entry: &str) -> bool {
    entry.len() <= LONGEST_ENTRY && !entry.trim().is_empty()
}
