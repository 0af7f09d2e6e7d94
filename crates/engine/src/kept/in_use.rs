//! Who works in a workspace, across processes.
//!
//! Each workspace has a file beside it. Whoever runs a program in the workspace has a shared lock
//! on that file, and whoever removes the workspace an exclusive one. The kernel takes the lock of a
//! process that is killed.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use belljar_core::WorkspaceName;

use super::Store;
use crate::file_lock::{self, FileLock};

/// While this exists, no other process removes the workspace.
#[derive(Debug)]
pub struct InUse {
    #[cfg_attr(not(test), expect(dead_code, reason = "kept for its drop, which unlocks"))]
    lock: FileLock,
}

impl Store {
    /// Says that somebody works in a workspace. An error if it is not there any more.
    pub fn begin_use(&self, name: &WorkspaceName) -> io::Result<InUse> {
        let is_there = || std::fs::symlink_metadata(self.0.path.join(name.as_str()));
        // To lock makes a file, and there is to be none without a workspace.
        is_there()?;
        let in_use = self.lock(name, FileLock::try_share)?;
        // Once more: whoever removes it has the lock until it is gone.
        match is_there() {
            Ok(_) => Ok(in_use),
            Err(gone) => {
                drop(in_use);
                // The file is removed only by one who has all of the lock.
                if let Ok(_alone) = self.end_use(name)
                    && is_there().is_err()
                {
                    self.forget_use(name);
                }
                Err(gone)
            }
        }
    }

    /// Keeps everybody out of a workspace that is about to go.
    pub(super) fn end_use(&self, name: &WorkspaceName) -> io::Result<InUse> {
        self.lock(name, FileLock::try_take)
    }

    /// Forgets a workspace that is gone. Whoever waits for its lock finds that it is not there.
    pub(super) fn forget_use(&self, name: &WorkspaceName) {
        let _ = std::fs::remove_file(self.lock_file(name));
    }

    fn lock(&self, name: &WorkspaceName, take: Take) -> io::Result<InUse> {
        loop {
            if let Some(in_use) = self.lock_opened(name, file_lock::open(&self.lock_file(name))?, take)? {
                return Ok(in_use);
            }
        }
    }

    /// `None` if whoever removed a workspace of this name since it was opened has removed the file
    /// too. A lock on that keeps nobody from anything.
    fn lock_opened(&self, name: &WorkspaceName, opened: File, take: Take) -> io::Result<Option<InUse>> {
        const BUSY: &str = "somebody else works in it; end that first";
        let busy = |_| io::Error::new(io::ErrorKind::ResourceBusy, BUSY);
        let lock = take(opened)?.map_err(busy)?;
        let ours = lock.file().metadata()?.ino();
        let now = std::fs::symlink_metadata(self.lock_file(name));
        Ok(now.is_ok_and(|now| now.ino() == ours).then_some(InUse { lock }))
    }

    /// No workspace has such a name, so it is none.
    fn lock_file(&self, name: &WorkspaceName) -> PathBuf {
        self.0.path.join(format!(".in-use-{name}"))
    }
}

/// How a lock is taken: all of it, or a share.
type Take = fn(File) -> io::Result<Result<FileLock, File>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_removed_when_nobody_works_in_it_any_more() {
        let place = tempfile::tempdir().unwrap();
        let name = WorkspaceName::new("job").unwrap();
        let path = place.path().join("store");
        // As another process has it.
        let (ours, theirs) = (Store::open(&path, None).unwrap(), Store::open(&path, None).unwrap());
        ours.create(&name, |_| Ok(())).unwrap();
        let (one, other) = (theirs.begin_use(&name).unwrap(), theirs.begin_use(&name).unwrap());
        drop(one);
        assert_eq!(ours.remove(&name).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        assert!(ours.get(&name).is_ok());
        // A child that was forked meanwhile keeps nobody out.
        let forked = other.lock.file().try_clone().unwrap();
        drop(other);
        ours.remove(&name).unwrap();
        drop(forked);
        assert_eq!(theirs.begin_use(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0, "something is left in the store");
        ours.remove(&name).unwrap();
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0, "something is left in the store");
    }

    #[test]
    fn a_lock_of_a_workspace_that_was_removed_is_none_of_the_next_one() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(&place.path().join("store"), None).unwrap();
        let name = WorkspaceName::new("job").unwrap();
        store.create(&name, |_| Ok(())).unwrap();
        // Somebody is about to use it, and somebody else is faster.
        let open = || file_lock::open(&store.lock_file(&name)).unwrap();
        let opened: [(File, Take); 2] = [(open(), FileLock::try_share), (open(), FileLock::try_take)];
        store.remove(&name).unwrap();
        store.create(&name, |_| Ok(())).unwrap();
        let _in_use = store.begin_use(&name).unwrap();
        for (opened, take) in opened {
            assert!(store.lock_opened(&name, opened, take).unwrap().is_none());
        }
        assert_eq!(store.remove(&name).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    }

    #[test]
    fn a_fork_is_whole_or_none_whoever_removes_what_it_copies() {
        const FILES: usize = 500;
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(&place.path().join("store"), None).unwrap();
        let (from, to) = (WorkspaceName::new("from").unwrap(), WorkspaceName::new("to").unwrap());
        for _ in 0..20 {
            store.create(&from, |_| Ok(())).unwrap();
            let directory = store.path().join("from");
            for number in 0..FILES {
                std::fs::write(directory.join(number.to_string()), "x").unwrap();
            }
            std::thread::scope(|scope| {
                let remover = scope.spawn(|| {
                    while store.remove(&from).is_err() {
                        std::thread::yield_now();
                    }
                });
                let forked = store.fork(&from, &to);
                remover.join().unwrap();
                match forked {
                    Ok(_) => {
                        let found = std::fs::read_dir(store.path().join("to")).unwrap().count();
                        assert_eq!(found, FILES);
                        store.remove(&to).unwrap();
                    }
                    Err(_) => assert!(store.get(&to).is_err()),
                }
            });
        }
        assert_eq!(std::fs::read_dir(store.path()).unwrap().count(), 0, "something is left in the store");
    }

    #[test]
    fn what_the_killed_have_left_goes_and_what_somebody_is_at_work_on_stays() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(&place.path().join("store"), None).unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        let paths = ["busy", "left", "new"].map(|name| store.path().join(format!(".belljar-{name}.tmp")));
        for path in &paths {
            std::fs::create_dir(path).unwrap();
        }
        for old in &paths[..2] {
            std::fs::File::open(old).unwrap().set_modified(long_ago).unwrap();
        }
        let busy = store.claim(std::ffi::OsStr::new(".belljar-busy.tmp")).unwrap();
        store.sweep().unwrap();
        assert_eq!(paths.each_ref().map(|path| path.exists()), [true, false, true]);
        drop(busy);
        store.sweep().unwrap();
        assert_eq!(paths.each_ref().map(|path| path.exists()), [false, false, true]);
    }
}
