//! The scratch directory for making a layer. Also removes the directories of makers that died.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;

use super::lock;

/// How the names of directories begin that are being made or removed.
pub(super) const PREFIX: &str = ".tmp-";

/// `<root>/.tmp-<key>-<pid>`. It is removed on drop. Only the holder of the key's lock may have
/// one.
#[derive(Debug)]
pub(super) struct Stage {
    directory: PathBuf,
}

impl Stage {
    pub(super) fn new(root: &Path, key: &str) -> io::Result<Self> {
        let directory = root.join(format!("{PREFIX}{key}-{}", process::id()));
        // It is not a layer yet, so nobody else looks in.
        DirBuilder::new().mode(0o700).create(&directory)?;
        Ok(Self { directory })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The requirements file.
    pub(super) fn requirements(&self) -> PathBuf {
        self.directory.join("requirements.txt")
    }

    /// The directory that becomes the layer.
    pub(super) fn layer(&self) -> PathBuf {
        self.directory.join("layer")
    }

    /// Where something goes that is in the layer's place but is not a layer.
    pub(super) fn discarded(&self) -> PathBuf {
        self.directory.join("discarded")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        remove(&self.directory);
    }
}

/// Removes what dead makers left: everything of `key`, whose lock the caller holds, and of every
/// key that nobody holds.
pub(super) fn sweep(root: &Path, key: &str) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(key_of) else {
            continue;
        };
        if owner == key {
            remove(&entry.path());
        } else if let Ok(Ok(_lock)) = lock::try_take(&lock_path(root, owner)) {
            remove(&entry.path());
        }
    }
    Ok(())
}

/// `<root>/<key>.lock`
pub(super) fn lock_path(root: &Path, key: &str) -> PathBuf {
    root.join(format!("{key}.lock"))
}

fn key_of(name: &str) -> Option<&str> {
    let (key, _pid) = name.strip_prefix(PREFIX)?.split_once('-')?;
    (key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(key)
}

/// Removes a directory that nobody takes for a layer. What stays is swept later.
pub(super) fn remove(directory: &Path) {
    if let Err(error) = fs::remove_dir_all(directory) {
        tracing::debug!(directory = %directory.display(), %error, "a scratch directory stays behind");
    }
}
