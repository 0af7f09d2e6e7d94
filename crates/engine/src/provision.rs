//! The interpreter and the packages of a config, on this machine.
//!
//! Engines whose guests run on this machine need both. Finding and installing run other programs and
//! wait for them, so they are done on a thread of their own.

use std::path::PathBuf;

use belljar_core::config::SandboxConfig;
use belljar_core::{Secret, environment};

use crate::blocking::on_a_thread;
use crate::builder::{Layer, LayerError, LayerSpec, LayerStore};
use crate::python::{self, Interpreter, PythonError, Search};
use crate::{Fault, Progress};

/// Where packages and what is known about interpreters are kept unless an engine is told otherwise:
/// `$BELLJAR_CACHE`, `$XDG_CACHE_HOME/belljar` or `~/.cache/belljar`. Nowhere where there is no user.
pub fn default_cache_dir() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(environment::CACHE)
        .or_else(|| Some(set(environment::XDG_CACHE_HOME)?.join("belljar")))
        .or_else(|| Some(set(environment::HOME)?.join(".cache/belljar")))
}

/// What an engine's settings say about it.
#[derive(Debug, Clone, Default)]
pub struct ProvisionSettings {
    /// Where to keep things; [`default_cache_dir`] when absent.
    pub cache: Option<PathBuf>,
    /// The only interpreter to use; found when absent.
    pub python: Option<PathBuf>,
    /// Variables for the installer. Not shown: the address of an index often holds a password.
    pub installer_env: Vec<(String, Secret)>,
}

impl ProvisionSettings {
    /// Adds variables for the installer besides this process's own.
    pub fn add_installer_env<'a>(&mut self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), Secret::new(value)));
        self.installer_env.extend(variables);
    }

    /// Looks at the environment for what was not said.
    pub fn settle(self) -> Result<Provisioner, ProvisionError> {
        let cache = self.cache.or_else(default_cache_dir).ok_or(ProvisionError::NoCacheDirectory)?;
        let mut search = Search::from_env(Some(cache.clone()));
        search.explicit = self.python.or(search.explicit);
        Ok(Provisioner { cache, search, installer_env: self.installer_env })
    }
}

/// Finds interpreters and installs packages.
#[derive(Debug, Clone)]
pub struct Provisioner {
    cache: PathBuf,
    search: Search,
    installer_env: Vec<(String, Secret)>,
}

impl Provisioner {
    /// The interpreter of a config, if it `suits`, and the packages, if the config has any.
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
        let store = LayerStore::new(self.cache.join("layers"))
            .with_env(installer_env.map(|(name, value)| (name.clone(), value.expose().to_owned())));
        let (news, mut reported) = tokio::sync::mpsc::unbounded_channel();
        let install = blocking(move || Ok(store.ensure(&spec, &mut |step| drop(news.send(step)))?));
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
    /// There is no place to keep things.
    #[error("no cache directory: neither BELLJAR_CACHE, XDG_CACHE_HOME nor HOME is set")]
    NoCacheDirectory,
    /// No interpreter fits.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// The packages could not be installed.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// There was no thread to do it on.
    #[error("start a background step failed")]
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
