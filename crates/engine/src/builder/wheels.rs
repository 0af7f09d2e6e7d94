//! Unpacked wheels, each kept once. Layers are put together from hard links to their files.
//!
//! ```text
//!  <cache>/wheels/.lock     shared while wheels are added or linked, whole while some are removed
//!                /<key>/    one wheel for one Python: its files, compiled, writable by nobody
//!         layers/<key>/     the same files, linked
//! ```
//!
//! A wheel is unpacked elsewhere and renamed into place, so it is whole or not there. The files are
//! shared with layers and with nothing else: not with an installer's own cache, whose files also
//! end up in environments that people edit. The directory is closed to others.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::LayerError;
use super::lock;
use super::resolution::normal;
use super::stop::Stop;
use crate::file_lock::{self, FileLock};
use crate::trust::{Distrust, TrustedDirectory};

/// The kept wheels. None is removed as long as this lives.
#[derive(Debug)]
pub(super) struct Wheels {
    directory: TrustedDirectory,
    _in_use: FileLock,
}

impl Wheels {
    /// Opens the directory, or makes it. It must be trusted as layers are.
    pub(super) fn open(path: &Path, stop: &Stop) -> Result<Self, LayerError> {
        let directory = TrustedDirectory::make(path).map_err(LayerError::distrust)?;
        let path = directory.path().to_owned();
        // Installers make what is in it with the umask, which may let a group write.
        fs::set_permissions(&path, Permissions::from_mode(0o700))
            .map_err(LayerError::store("close", &path))?;
        let file = lock_path(&path);
        let shared = file_lock::open(&file).and_then(|file| lock::share(file, stop));
        let in_use = shared.map_err(LayerError::store("lock", &file))?.ok_or(LayerError::Stopped)?;
        Ok(Self { directory, _in_use: in_use })
    }

    /// The directory of a wheel. `None` if it is not kept.
    pub(super) fn find(&self, key: &str) -> Result<Option<PathBuf>, LayerError> {
        match self.directory.tree(key) {
            Ok(tree) => Ok(Some(tree.path().to_owned())),
            Err(Distrust::Io { .. }) => Ok(None),
            Err(distrust) => Err(LayerError::distrust(distrust)),
        }
    }

    /// The names of the packages that are kept, for any Python.
    pub(super) fn names(&self) -> io::Result<HashSet<String>> {
        let mut names = HashSet::new();
        for wheel in fs::read_dir(self.directory.path())? {
            // What is not a directory is the lock.
            for entry in fs::read_dir(wheel?.path()).into_iter().flatten() {
                let name = entry?.file_name();
                let stem = name.to_str().and_then(|name| name.strip_suffix(".dist-info"));
                names.extend(stem.and_then(|stem| stem.split_once('-')).map(|(name, _)| normal(name)));
            }
        }
        Ok(names)
    }

    /// Moves an unpacked wheel into its place. Its files must be on the disk already. Returns the
    /// place, where another process may have put the same wheel meanwhile.
    pub(super) fn keep(&self, key: &str, unpacked: &Path) -> io::Result<PathBuf> {
        let place = self.directory.path().join(key);
        match fs::rename(unpacked, &place) {
            Err(_) if place.is_dir() => Ok(place),
            outcome => outcome.map(|()| place),
        }
    }
}

/// The file whose lock says that wheels are in use.
pub(super) fn lock_path(wheels: &Path) -> PathBuf {
    wheels.join(".lock")
}
