//! How the local engine is set up.

use std::path::PathBuf;
use std::sync::Arc;

use super::{LocalEngine, NAME};
use crate::provision::{ProvisionError, ProvisionSettings};
use crate::{BoxFuture, Engine, EngineError, IntoEngine};

/// Python as a plain subprocess, **with no isolation**: a script can do whatever this program can
/// do.
#[derive(Debug, Clone, Default)]
pub struct Local {
    provision: ProvisionSettings,
}

impl Local {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where to keep dependency layers and what is known about interpreters. By default
    /// `$BELLJAR_CACHE`, `$XDG_CACHE_HOME/belljar` or `~/.cache/belljar`.
    #[must_use]
    pub fn cache_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.provision.cache = Some(path.into());
        self
    }

    /// Uses this interpreter and no other. By default `$BELLJAR_PYTHON`, else the best one found.
    #[must_use]
    pub fn python(mut self, path: impl Into<PathBuf>) -> Self {
        self.provision.python = Some(path.into());
        self
    }

    /// Variables for the installer of dependencies, in addition to this process's own: indexes,
    /// proxies, certificates.
    #[must_use]
    pub fn installer_env<'a>(mut self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.provision.add_installer_env(variables);
        self
    }

    /// Makes an engine with these settings.
    pub fn open(self) -> Result<LocalEngine, EngineError> {
        Ok(LocalEngine::new(self.provision.settle()))
    }
}

impl IntoEngine for Local {
    fn into_engine(self) -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>> {
        Box::pin(async { Ok(Arc::new(self.open()?) as Arc<dyn Engine>) })
    }
}

pub(super) fn failed(error: ProvisionError) -> EngineError {
    EngineError::of_engine(NAME, error.fault(), error)
}
