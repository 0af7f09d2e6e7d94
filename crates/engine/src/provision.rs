//! Provides the interpreter and the packages of a config, on this machine.
//!
//! Engines whose guests run on this machine need both. Finding and installing run other programs
//! and wait for them, so this work is done on a separate thread. Whoever drops the future stops the
//! installer; [`Provisioner::settle`] waits until it is gone.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use belljar_core::Secret;
use belljar_core::config::SandboxConfig;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::blocking::on_a_thread;
#[cfg(feature = "native")]
use crate::builder::preloads::Preloads;
use crate::builder::{Layer, LayerError, LayerSpec, LayerStore, Stop, Stopper};
pub use crate::cache_dir::default_cache_dir;
#[cfg(feature = "native")]
use crate::engine::Blueprint;
use crate::error::limit_in_the_way;
use crate::python::{self, Interpreter, PythonError, Search};
use crate::{Fault, Progress};

/// The part of an engine's settings that is about interpreters and packages.
#[derive(Debug, Clone, Default)]
pub struct ProvisionSettings {
    /// The cache directory. [`default_cache_dir`] when absent.
    pub cache: Option<PathBuf>,
    /// The only interpreter to use. When absent, one is searched for.
    pub python: Option<PathBuf>,
    /// Variables for the installer. Hidden in debug output, because the address of an index often
    /// holds a password.
    pub installer_env: Vec<(String, Secret)>,
}

impl ProvisionSettings {
    /// Adds variables for the installer, in addition to this process's own.
    pub fn add_installer_env<'a>(&mut self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), Secret::new(value)));
        self.installer_env.extend(variables);
    }

    /// Fills in what was not set, from the environment.
    pub fn settle(self) -> Provisioner {
        let cache = self.cache.or_else(default_cache_dir);
        let mut search = Search::from_env(cache.clone());
        search.explicit = self.python.or(search.explicit);
        Provisioner { cache, search, installer_env: self.installer_env, stopping: Stopping::default() }
    }
}

/// Finds interpreters and installs packages.
#[derive(Debug, Clone)]
pub struct Provisioner {
    /// `None` if nothing can be kept.
    cache: Option<PathBuf>,
    search: Search,
    installer_env: Vec<(String, Secret)>,
    stopping: Stopping,
}

impl Provisioner {
    /// The interpreter of a config, and its packages if it has any. `suits` may refuse an
    /// interpreter.
    pub async fn provide(
        &self,
        config: &SandboxConfig,
        suits: impl FnOnce(&Interpreter) -> Result<(), PythonError> + Send + 'static,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(Interpreter, Option<Layer>), ProvisionError> {
        let (search, wanted) = (self.search.clone(), config.python_version);
        let interpreter = blocking(move || {
            let interpreter = python::find(wanted.as_ref(), &search)?;
            suits(&interpreter)?;
            Ok(interpreter)
        })
        .await?;
        if config.dependencies.is_empty() {
            return Ok((interpreter, None));
        }
        let spec = LayerSpec {
            requirements: config.dependencies.clone(),
            interpreter: interpreter.clone(),
            allow_source_builds: config.allow_source_builds,
        };
        let installer_env = self.installer_env.iter();
        let cache = self.cache.as_ref().ok_or(ProvisionError::NoCacheDirectory)?;
        let store = LayerStore::in_cache(cache)
            .with_env(installer_env.map(|(name, value)| (name.clone(), value.expose().to_owned())));
        let (news, mut reported) = tokio::sync::mpsc::unbounded_channel();
        let (stopper, stop) = Stop::pair().map_err(ProvisionError::Thread)?;
        let (at_work, ended) = oneshot::channel();
        let install = blocking(move || {
            let _at_work: oneshot::Sender<()> = at_work;
            Ok(store.ensure_unless(&stop, &spec, &mut |step| drop(news.send(step)))?)
        });
        let _stopped_if_dropped =
            Installation { _stopper: stopper, ended: Some(ended), stopping: &self.stopping };
        tokio::pin!(install);
        let layer = loop {
            tokio::select! {
                Some(step) = reported.recv() => progress(step),
                layer = &mut install => break layer?,
            }
        };
        while let Ok(step) = reported.try_recv() {
            progress(step);
        }
        Ok((interpreter, Some(layer)))
    }

    /// What is known about preloading the modules of a layer for a blueprint.
    #[cfg(feature = "native")]
    pub(crate) fn preloads(
        &self,
        layer: &Layer,
        interpreter: &Interpreter,
        blueprint: &Blueprint,
    ) -> Option<Preloads> {
        let cache = self.cache.as_ref()?;
        Some(Preloads::new(cache, &layer.key, &interpreter.executable, blueprint))
    }

    /// Waits until every installer that was stopped is gone, and its files too.
    pub async fn settle(&self) {
        let those = std::mem::take(&mut *self.stopping.0.lock().unwrap_or_else(PoisonError::into_inner));
        for ended in those {
            // The other side is never used. It goes away with the thread.
            let _ = ended.await;
        }
    }
}

/// Installations that were stopped and may not have ended yet.
#[derive(Debug, Clone, Default)]
struct Stopping(Arc<Mutex<Vec<oneshot::Receiver<()>>>>);

/// An installation on its thread. Dropping this stops it, if it has not ended.
struct Installation<'a> {
    _stopper: Stopper,
    /// `None` only while being dropped.
    ended: Option<oneshot::Receiver<()>>,
    stopping: &'a Stopping,
}

impl Drop for Installation<'_> {
    fn drop(&mut self) {
        let goes_on = |ended: &mut oneshot::Receiver<()>| ended.try_recv() == Err(TryRecvError::Empty);
        let mut those = self.stopping.0.lock().unwrap_or_else(PoisonError::into_inner);
        those.extend(self.ended.take());
        those.retain_mut(goes_on);
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ProvisionError> + Send + 'static,
) -> Result<T, ProvisionError> {
    on_a_thread("belljar-prepare", work).await.map_err(ProvisionError::Thread)?
}

/// Why there is no interpreter, or no packages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvisionError {
    /// No cache directory is known.
    #[error(
        "there is no place to install packages in: neither BELLJAR_CACHE, CACHE_DIRECTORY, XDG_CACHE_HOME nor HOME is set, \
         and this user has no home. Set BELLJAR_CACHE to a directory (a service: `CacheDirectory=belljar` in its unit)"
    )]
    NoCacheDirectory,
    /// No interpreter fits.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// The packages could not be installed.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// No thread could be started for it.
    #[error("a thread that looks for it could not be started{}", limit_in_the_way(_0))]
    Thread(#[source] std::io::Error),
}

impl ProvisionError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::NoCacheDirectory => Fault::Caller,
            Self::Python(error) => error.fault(),
            Self::Layer(error) => error.fault(),
            Self::Thread(_) => Fault::Backend,
        }
    }
}
