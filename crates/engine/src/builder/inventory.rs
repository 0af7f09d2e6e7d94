//! What a store keeps, how large it is, and what of it can go.
//!
//! Layers share files with each other and with the kept wheels. So a file counts once, and what
//! goes frees only the files that nothing else has.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use super::error::LayerError;
use super::layer::{Distribution, read_manifest};
use super::lock;
use super::stage::{PREFIX, lock_path, remove};
use super::store::LayerStore;
use super::{usage, wheels};
use crate::trust::TrustedDirectory;

/// A layer in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLayer {
    /// Its name.
    pub key: String,
    /// What was asked for. Empty if the layer cannot be read; it is then never used.
    pub requirements: Vec<String>,
    /// The version of Python that it is for.
    pub python: String,
    /// What was installed, dependencies of dependencies included.
    pub distributions: Vec<Distribution>,
    /// Its size on the disk, with files that it shares.
    pub bytes: u64,
    /// When it was last used, to the day.
    pub last_used: SystemTime,
    /// Whether a sandbox of any process has it now.
    pub in_use: bool,
}

/// All that a store keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// The layers, the most recently used first.
    pub layers: Vec<KeptLayer>,
    /// How many unpacked wheels are kept for further layers.
    pub wheels: usize,
    /// The size of everything on the disk. Files that are shared count once.
    pub bytes: u64,
}

/// What was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// The layers, the least recently used first.
    pub layers: Vec<KeptLayer>,
    /// How many wheels that no layer needs.
    pub wheels: usize,
    /// The room on the disk that they took.
    pub bytes: u64,
    /// Layers old enough to go that are in use, and stay.
    pub in_use: usize,
}

/// Which layers go.
#[derive(Debug, Clone, Copy)]
pub struct Prune {
    /// Those that were not used for this long.
    pub unused_for: Duration,
    /// At most so many.
    pub at_most: usize,
    /// Nothing is removed, only found.
    pub dry_run: bool,
}

/// Files by their number, with their sizes.
type Files = HashMap<(u64, u64), u64>;

impl LayerStore {
    /// Looks at everything that is kept.
    pub fn inventory(&self) -> Result<Inventory, LayerError> {
        let held = self.look()?;
        let mut all = Files::new();
        held.layers
            .iter()
            .map(|(_, files)| files)
            .chain(held.wheels.values())
            .for_each(|files| all.extend(files));
        let mut layers: Vec<_> = held.layers.into_iter().map(|(layer, _)| layer).collect();
        layers.reverse();
        Ok(Inventory { layers, wheels: held.wheels.len(), bytes: all.values().sum() })
    }

    /// Removes the layers that were not used for some time, the oldest first, and the wheels that
    /// no layer needs any more. A layer that a sandbox of any process has is not removed.
    pub fn prune(&self, prune: Prune) -> Result<Pruned, LayerError> {
        let held = self.look()?;
        let now = SystemTime::now();
        let is_old = |layer: &KeptLayer| {
            // A time in the future is a clock that was set back.
            now.duration_since(layer.last_used).is_ok_and(|since| since >= prune.unused_for)
        };
        let (mut gone, mut in_use, mut stays) = (Vec::new(), 0, Files::new());
        let mut freed = Files::new();
        for (layer, files) in held.layers {
            let goes = is_old(&layer) && gone.len() < prune.at_most;
            if goes && (layer.in_use || !(prune.dry_run || self.remove(&layer.key)?)) {
                in_use += 1;
                stays.extend(files);
            } else if goes {
                gone.push(layer);
                freed.extend(files);
            } else {
                stays.extend(files);
            }
        }
        let needless = |files: &Files| !files.keys().any(|file| stays.contains_key(file));
        let mut unneeded: Vec<_> = held.wheels.into_iter().filter(|(_, files)| needless(files)).collect();
        if !prune.dry_run && !self.remove_wheels(&mut unneeded)? {
            // Wheels that are just being linked keep their files.
            unneeded.clear();
        }
        unneeded.iter().for_each(|(_, files)| freed.extend(files));
        freed.retain(|file, _| !stays.contains_key(file));
        let wheels = unneeded.len();
        Ok(Pruned { layers: gone, wheels, bytes: freed.values().sum(), in_use })
    }

    /// Whether a layer may be old enough to go. Cheap: it looks at no file of a layer.
    pub(super) fn has_layers_unused_for(&self, age: Duration) -> bool {
        let now = SystemTime::now();
        let root = self.root();
        let is_old = |key: &String| {
            let last = usage::last_used(root, key);
            last.and_then(|last| now.duration_since(last).ok()).is_some_and(|since| since >= age)
        };
        keys(root).is_ok_and(|keys| keys.iter().any(is_old))
    }

    /// Looks at everything. Nothing is removed where others could put something else in its place.
    fn look(&self) -> Result<Held, LayerError> {
        let root = self.root();
        // Wheels are closed to everybody else, who may still list a cache of root's.
        let wheels_place = self.wheels().filter(|place| fs::read_dir(place).is_ok());
        for place in [Some(root), wheels_place].into_iter().flatten().filter(|place| place.exists()) {
            TrustedDirectory::make(place).map_err(LayerError::distrust)?;
        }
        let mut layers = Vec::new();
        for key in keys(root).map_err(LayerError::store("look at", root))? {
            let path = root.join(&key);
            let Some(last_used) = usage::last_used(root, &key) else { continue };
            let files = files_of(&path).map_err(LayerError::store("look at", &path))?;
            let (requirements, python, distributions) = match read_manifest(&path) {
                Ok(manifest) => (manifest.requirements, manifest.python, manifest.distributions),
                Err(_) => (Vec::new(), String::new(), Vec::new()),
            };
            let (bytes, in_use) = (files.values().sum(), usage::is_in_use(root, &key));
            let layer = KeptLayer { key, requirements, python, distributions, bytes, last_used, in_use };
            layers.push((layer, files));
        }
        layers.sort_by(|(one, _), (other, _)| (one.last_used, &one.key).cmp(&(other.last_used, &other.key)));
        let mut wheels = HashMap::new();
        if let Some(place) = wheels_place {
            for key in keys(place).map_err(LayerError::store("look at", place))? {
                let files = files_of(&place.join(&key)).map_err(LayerError::store("look at", place))?;
                wheels.insert(key, files);
            }
        }
        Ok(Held { layers, wheels })
    }

    /// Removes a layer, unless somebody uses it or makes it. Whether it is gone.
    fn remove(&self, key: &str) -> Result<bool, LayerError> {
        let root = self.root();
        let maker = lock_path(root, key);
        let Ok(_maker) = lock::try_take(&maker).map_err(LayerError::store("lock", &maker))? else {
            return Ok(false);
        };
        let users = usage::path_of(root, key);
        let Some(_users) = usage::exclude_users(root, key).map_err(LayerError::store("lock", &users))? else {
            return Ok(false);
        };
        // Under this name, what a crash leaves of it is swept with the next install.
        remove_under_another_name(root, key).map_err(LayerError::store("remove", &root.join(key)))?;
        Ok(true)
    }

    /// Removes wheels. `false` if some are in use, and all stay.
    fn remove_wheels(&self, those: &mut [(String, Files)]) -> Result<bool, LayerError> {
        let Some(place) = self.wheels().filter(|place| place.is_dir()) else { return Ok(true) };
        let file = wheels::lock_path(place);
        let taken = lock::try_take(&file).map_err(LayerError::store("lock", &file))?;
        let Ok(_lock) = taken else { return Ok(false) };
        for (key, _) in those {
            let path = place.join(&*key);
            remove_under_another_name(place, key).map_err(LayerError::store("remove", &path))?;
        }
        for entry in fs::read_dir(place).map_err(LayerError::store("look at", place))?.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
                remove(&entry.path());
            }
        }
        Ok(true)
    }
}

/// What a store keeps, with all files.
struct Held {
    /// The least recently used first.
    layers: Vec<(KeptLayer, Files)>,
    wheels: HashMap<String, Files>,
}

/// It vanishes at once, and then piece by piece.
fn remove_under_another_name(place: &Path, key: &str) -> io::Result<()> {
    let doomed = place.join(format!("{PREFIX}{key}-{}", process::id()));
    fs::rename(place.join(key), &doomed)?;
    fs::remove_dir_all(&doomed)
}

/// The directories whose name is a key.
fn keys(place: &Path) -> io::Result<Vec<String>> {
    let is_key = |name: &String| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let entries = match fs::read_dir(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut keys = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            keys.extend(entry.file_name().into_string().ok().filter(is_key));
        }
    }
    Ok(keys)
}

/// All files and directories of a tree. What vanishes meanwhile is not counted.
fn files_of(top: &Path) -> io::Result<Files> {
    const BLOCK: u64 = 512;
    let mut files = Files::new();
    let mut open: Vec<PathBuf> = vec![top.to_owned()];
    while let Some(path) = open.pop() {
        let meta = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            meta => meta?,
        };
        // Files without contents have no blocks, and may be all that a tiny wheel has.
        files.insert((meta.dev(), meta.ino()), meta.blocks() * BLOCK);
        if meta.is_dir() {
            let entries = match fs::read_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries?,
            };
            for entry in entries {
                open.push(entry?.path());
            }
        }
    }
    Ok(files)
}
