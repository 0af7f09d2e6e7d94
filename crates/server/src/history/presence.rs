//! Who else writes the history: another server of this user, or a `belljar mcp` for each client
//! that started one.
//!
//! Runs that a killed server left open are ended by the next. One that lives must not have its
//! runs ended by others. So whoever writes holds a lock, which the kernel takes from the killed,
//! and only who is alone ends what was left.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Somebody who is about to open the history. Others wait.
pub(super) struct Opening {
    _turn: File,
    writers: File,
    is_alone: bool,
}

/// Somebody who writes the history, until this is dropped.
pub(super) struct Presence(#[expect(dead_code, reason = "it is held, not used")] File);

impl Opening {
    /// Waits for a turn, which takes as long as others need to open the file.
    pub(super) fn wait(state: &Path) -> io::Result<Self> {
        let open = |name: &str| {
            let options = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).clone();
            options.open(state.join(name))
        };
        let turn = open("history.opening")?;
        turn.lock()?;
        let writers = open("history.writers")?;
        let is_alone = writers.try_lock().is_ok();
        Ok(Self { _turn: turn, writers, is_alone })
    }

    /// Whether nobody else writes.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// From now on this one writes. It is the next one's turn.
    pub(super) fn stay(self) -> io::Result<Presence> {
        self.writers.lock_shared()?;
        Ok(Presence(self.writers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_alone_ends_what_was_left() {
        let state = tempfile::tempdir().unwrap();
        let first = Opening::wait(state.path()).unwrap();
        assert!(first.is_alone());
        let first = first.stay().unwrap();
        let second = Opening::wait(state.path()).unwrap();
        assert!(!second.is_alone());
        let second = second.stay().unwrap();
        drop(first);
        assert!(!Opening::wait(state.path()).unwrap().is_alone());
        drop(second);
        assert!(Opening::wait(state.path()).unwrap().is_alone());
    }
}
