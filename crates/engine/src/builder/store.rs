//! The directory of layers.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::LayerError;
use super::fill::Filling;
use super::installer::{Environment, Installer};
use super::inventory::Prune;
use super::layer::{self, Layer, write_manifest};
use super::lock;
use super::permissions::open_to_all;
use super::spec::LayerSpec;
use super::stage::{Stage, lock_path, sweep};
use super::stop::Stop;
use super::usage::InUse;
use crate::Progress;
use crate::trust::TrustedDirectory;

/// Layers that were not used for so long go by themselves.
pub const UNUSED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How many go with one install. It should not take long for its caller.
const GO_AT_ONCE: usize = 4;

/// Layers by key under one root. It is cheap to make. Any number of stores, in any number of
/// processes, may share a root.
#[derive(Clone)]
pub struct LayerStore {
    root: PathBuf,
    wheels: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
}

impl LayerStore {
    /// Keeps layers in `root`. The directory is made with the first layer.
    pub fn new(root: PathBuf) -> Self {
        Self { root, wheels: None, environment: Vec::new() }
    }

    /// The store in a cache directory. It also keeps the wheels that layers are made of.
    pub fn in_cache(cache: &Path) -> Self {
        Self::new(cache.join("layers")).with_wheels(cache.join("wheels"))
    }

    /// Keeps unpacked wheels in this directory, from which layers are linked together. It should be
    /// on the same file system as the root.
    pub fn with_wheels(mut self, directory: PathBuf) -> Self {
        self.wheels = Some(directory);
        self
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn wheels(&self) -> Option<&Path> {
        self.wheels.as_deref()
    }

    /// Sets variables for installers over the host's own: an index, a proxy, a `PATH` to find uv
    /// in.
    pub fn with_env<K, V>(mut self, variables: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        self.environment.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// The layer for `spec`. It is installed now, unless it exists already. Blocks for as long as
    /// the installer takes.
    pub fn ensure(&self, spec: &LayerSpec, progress: &mut dyn FnMut(Progress)) -> Result<Layer, LayerError> {
        self.ensure_unless(&Stop::never(), spec, progress)
    }

    /// The same, but it can be stopped. By the time this returns nothing of the installer is left.
    pub fn ensure_unless(
        &self,
        stop: &Stop,
        spec: &LayerSpec,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Layer, LayerError> {
        spec.check()?;
        let key = spec.key();
        let store = self.open()?;
        // Held before it is looked for, so that it cannot go once it was found.
        let held = InUse::hold(store.path(), &key, stop);
        let held = held.map_err(LayerError::store("lock a layer in", store.path()))?;
        let held = held.ok_or(LayerError::Stopped)?;
        let find = || layer::find(&store, &key, spec).map_err(LayerError::distrust);
        if let Some(tree) = find()? {
            return Ok(Layer::of(tree, key, held, true));
        }
        let lock = lock_path(store.path(), &key);
        let taken = lock::take(&lock, stop, || progress(Progress::Waiting));
        let making = taken.map_err(LayerError::store("lock", &lock))?.ok_or(LayerError::Stopped)?;
        if let Some(tree) = find()? {
            return Ok(Layer::of(tree, key, held, true));
        }
        sweep(store.path(), &key).map_err(LayerError::store("sweep", store.path()))?;
        self.install(&store, (spec, &key), stop, progress)?;
        // Checked like a layer that existed before. This shows what the file system made of owners
        // and permissions.
        let path = store.path().join(&key);
        let Some(tree) = find()? else {
            return Err(LayerError::store("find the layer just made in", &path)(
                io::ErrorKind::NotFound.into(),
            ));
        };
        drop(making);
        self.let_old_ones_go();
        Ok(Layer::of(tree, key, held, false))
    }

    /// Removes some layers that nobody has used for a long time. It is no loss if that fails.
    fn let_old_ones_go(&self) {
        if !self.has_layers_unused_for(UNUSED_FOR) {
            return;
        }
        match self.prune(Prune { unused_for: UNUSED_FOR, at_most: GO_AT_ONCE, dry_run: false }) {
            Ok(pruned) => {
                tracing::debug!(layers = pruned.layers.len(), bytes = pruned.bytes, "old layers went")
            }
            Err(error) => tracing::debug!(%error, "old layers stay"),
        }
    }

    /// Makes the directory if it is missing. Checks whether others could change what is kept in it.
    pub fn check(&self) -> Result<(), LayerError> {
        self.open().map(drop)
    }

    fn open(&self) -> Result<TrustedDirectory, LayerError> {
        TrustedDirectory::make(&self.root).map_err(LayerError::distrust)
    }

    fn install(
        &self,
        store: &TrustedDirectory,
        (spec, key): (&LayerSpec, &str),
        stop: &Stop,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), LayerError> {
        let root = store.path();
        let stage = Stage::new(root, key).map_err(LayerError::store("create a directory in", root))?;
        let layer = stage.layer();
        let environment = Environment(&self.environment);
        let installer = Installer::choose(environment, stop);
        let started = Instant::now();
        let requirements = spec.canonical();
        progress(Progress::Started { installer: installer.to_string(), requirements });
        let filling = Filling { spec, stage: &stage, installer: &installer, environment, stop };
        filling.fill(self.wheels(), progress)?;

        // uv makes this file for itself and no longer needs it.
        let _ = fs::remove_file(layer.join(".lock"));
        let packages = write_manifest(&layer, spec, &installer);
        let packages = packages.map_err(LayerError::store("describe", &layer))?;
        open_to_all(&layer).map_err(LayerError::store("open", &layer))?;
        place(root, &stage, &root.join(key)).map_err(LayerError::store("place", &layer))?;
        let seconds = started.elapsed().as_secs_f64();
        tracing::debug!(key, %installer, seconds, "made a layer");
        progress(Progress::Done { packages, seconds });
        Ok(())
    }
}

/// Moves a layer to its place. Everything must be on the disk before the name is, so that a layer
/// that survives a power cut is whole.
fn place(root: &Path, stage: &Stage, path: &Path) -> io::Result<()> {
    flush(root)?;
    if path.symlink_metadata().is_ok() {
        fs::rename(path, stage.discarded())?;
    }
    fs::rename(stage.layer(), path)
}

/// Writes a file of the store.
pub(super) fn write(path: &Path, text: &str) -> Result<(), LayerError> {
    belljar_jail::without_file_size_signal(|| fs::write(path, text)).map_err(LayerError::store("write", path))
}

/// Puts everything of a file system on the disk.
#[cfg(target_os = "linux")]
pub(super) fn flush(root: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(root)?)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn flush(root: &Path) -> io::Result<()> {
    fs::File::open(root)?.sync_all()
}
