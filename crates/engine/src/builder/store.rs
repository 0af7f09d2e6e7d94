//! The directory of layers.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::error::LayerError;
use super::installer::{Environment, Installer};
use super::layer::{self, Layer, write_manifest};
use super::lock::Lock;
use super::permissions::open_to_all;
use super::run::run;
use super::spec::LayerSpec;
use super::stage::{Stage, lock_path, sweep};
use super::stop::Stop;
use crate::Progress;
use crate::trust::TrustedDirectory;

/// Layers by key under one root. It is cheap to make. Any number of stores, in any number of
/// processes, may share a root.
#[derive(Clone)]
pub struct LayerStore {
    root: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl LayerStore {
    /// Keeps layers in `root`. The directory is made with the first layer.
    pub fn new(root: PathBuf) -> Self {
        Self { root, environment: Vec::new() }
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
        let find = || layer::find(&store, &key, spec).map_err(LayerError::distrust);
        if let Some(tree) = find()? {
            return Ok(Layer::of(tree, key, true));
        }
        let lock = lock_path(store.path(), &key);
        let taken = Lock::take(&lock, stop, || progress(Progress::Waiting));
        let _lock = taken.map_err(LayerError::store("lock", &lock))?.ok_or(LayerError::Stopped)?;
        if let Some(tree) = find()? {
            return Ok(Layer::of(tree, key, true));
        }
        sweep(store.path(), &key).map_err(LayerError::store("sweep", store.path()))?;
        self.install(&store, (spec, &key), stop, progress)?;
        // Checked like a layer that existed before. This shows what the file system made of owners
        // and permissions.
        let path = store.path().join(&key);
        match find()? {
            Some(tree) => Ok(Layer::of(tree, key, false)),
            None => {
                Err(LayerError::store("find the layer just made in", &path)(io::ErrorKind::NotFound.into()))
            }
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
        let requirements = spec.canonical();
        let file = stage.requirements();
        let text = requirements.join("\n") + "\n";
        belljar_jail::without_file_size_signal(|| fs::write(&file, text))
            .map_err(LayerError::store("write", &file))?;
        fs::create_dir(&layer).map_err(LayerError::store("create", &layer))?;

        let environment = Environment(&self.environment);
        let installer = Installer::choose(environment, stop);
        let started = Instant::now();
        progress(Progress::Started { installer: installer.to_string(), requirements: requirements.clone() });
        let mut command = installer.command(spec, &file, &layer, environment);
        // `python -m` looks for modules here first, and uv for settings. So it must be a directory
        // of this store.
        command.current_dir(stage.directory());
        let wheels_only = !spec.allow_source_builds;
        let ran = run(command, wheels_only, stop, &mut |line| progress(Progress::Line(line.to_owned())));
        let ran = ran.map_err(|source| LayerError::Start {
            installer: installer.clone(),
            program: installer.program(spec).to_owned(),
            source,
        });
        let outcome = ran?.ok_or(LayerError::Stopped)?;
        if !outcome.status.success() {
            let (status, tail, hint) = (outcome.status, outcome.tail, outcome.hint);
            return Err(LayerError::Install { installer, requirements, status, tail, hint });
        }

        // uv makes this file for itself and no longer needs it.
        let _ = fs::remove_file(layer.join(".lock"));
        write_manifest(&layer, spec, &installer).map_err(LayerError::store("describe", &layer))?;
        open_to_all(&layer).map_err(LayerError::store("open", &layer))?;
        place(root, &stage, &root.join(key)).map_err(LayerError::store("place", &layer))?;
        let seconds = started.elapsed().as_secs_f64();
        tracing::debug!(key, %installer, seconds, "made a layer");
        progress(Progress::Done { seconds });
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

#[cfg(target_os = "linux")]
fn flush(root: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(root)?)?)
}

#[cfg(not(target_os = "linux"))]
fn flush(root: &Path) -> io::Result<()> {
    fs::File::open(root)?.sync_all()
}
