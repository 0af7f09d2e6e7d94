//! Who uses a layer, and when it was used last.
//!
//! Both are told by one empty file beside the layer, `<key>.use.lock`. A template that has the
//! layer holds a share of the file's lock, and the kernel gives it back when its process dies. The
//! time of the file's last change is when the layer was last asked for, give or take [`A_DAY`]. The
//! layer itself is never touched.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::lock;
use super::stop::Stop;
use crate::file_lock::{self, FileLock};

/// How exact the time of the last use is.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// As long as this lives, the layer is not removed.
#[derive(Debug)]
pub(crate) struct InUse {
    /// `None` if this user may not even read the file: then only its owner could remove the layer.
    _lock: Option<FileLock>,
}

impl InUse {
    /// Holds a layer, which may not exist yet. `None` if the wait for somebody who just removes it
    /// was stopped.
    pub(super) fn hold(root: &Path, key: &str, stop: &Stop) -> io::Result<Option<Self>> {
        let path = path_of(root, key);
        let file = match file_lock::open(&path) {
            Ok(file) => file,
            // A cache of root's, used by somebody else.
            Err(error) if is_forbidden(&error) => match file_lock::open_to_read(&path) {
                Ok(file) => file,
                Err(_) => return Ok(Some(Self { _lock: None })),
            },
            Err(error) => return Err(error),
        };
        mark(&file);
        Ok(lock::share(file, stop)?.map(|lock| Self { _lock: Some(lock) }))
    }
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Notes that the layer is used now. If that fails, it counts as unused for longer than it is.
fn mark(file: &File) {
    let now = SystemTime::now();
    let is_recent = |before: SystemTime| now.duration_since(before).is_ok_and(|since| since < A_DAY);
    if !file.metadata().and_then(|meta| meta.modified()).is_ok_and(is_recent) {
        let _ = file.set_modified(now);
    }
}

/// When a layer was used last. A layer without a file was made before such files were.
pub(super) fn last_used(root: &Path, key: &str) -> Option<SystemTime> {
    let modified = |path: PathBuf| fs::symlink_metadata(path)?.modified();
    modified(path_of(root, key)).or_else(|_| modified(root.join(key))).ok()
}

/// Keeps everybody from beginning to use a layer, as long as the lock lives. `None` if it is in
/// use.
pub(super) fn exclude_users(root: &Path, key: &str) -> io::Result<Option<FileLock>> {
    Ok(lock::try_take(&path_of(root, key))?.ok())
}

/// Whether somebody holds a layer.
pub(super) fn is_in_use(root: &Path, key: &str) -> bool {
    let Ok(file) = file_lock::open_to_read(&path_of(root, key)) else { return false };
    matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock))
}

pub(super) fn path_of(root: &Path, key: &str) -> PathBuf {
    root.join(format!("{key}.use.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_in_use_as_long_as_somebody_holds_it() {
        let root = tempfile::tempdir().unwrap();
        let hold = || InUse::hold(root.path(), "key", &Stop::never()).unwrap().unwrap();
        assert!(!is_in_use(root.path(), "key"));
        let (one, two) = (hold(), hold());
        drop(one);
        assert!(is_in_use(root.path(), "key"));
        assert!(exclude_users(root.path(), "key").unwrap().is_none());
        drop(two);
        assert!(!is_in_use(root.path(), "key"));
        assert!(exclude_users(root.path(), "key").unwrap().is_some());
    }

    #[test]
    fn the_last_use_is_noted_once_a_day() {
        let root = tempfile::tempdir().unwrap();
        let file = File::create(path_of(root.path(), "key")).unwrap();
        let use_after = |age: Duration| {
            let before = SystemTime::now() - age;
            file.set_modified(before).unwrap();
            drop(InUse::hold(root.path(), "key", &Stop::never()).unwrap());
            last_used(root.path(), "key").unwrap() > before
        };
        assert!(!use_after(A_DAY / 2));
        assert!(use_after(A_DAY * 2));
    }

    #[test]
    fn a_use_waits_for_whoever_removes_the_layer_and_can_be_stopped() {
        let root = tempfile::tempdir().unwrap();
        let _removing = exclude_users(root.path(), "key").unwrap().unwrap();
        let (stopper, stop) = Stop::pair().unwrap();
        drop(stopper);
        assert!(InUse::hold(root.path(), "key", &stop).unwrap().is_none());
    }
}
