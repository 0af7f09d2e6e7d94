//! How the native engine is set up.

use std::path::PathBuf;
use std::sync::Arc;

use belljar_proxy::{Resolve, Roots};

use super::{NativeEngine, NativeError};
use crate::blocking::on_a_thread;
use crate::engine::{BoxFuture, Engine};
use crate::provision::{ProvisionSettings, Provisioner};
use crate::{EngineError, IntoEngine};

/// Cells made of Linux namespaces: the default, with no daemon and nothing to install.
///
/// ```no_run
/// # async fn example() -> Result<(), belljar_engine::EngineError> {
/// use belljar_engine::native::Native;
///
/// let engine = Native::new().cache_dir("/var/cache/agents").open().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Native {
    provision: ProvisionSettings,
    resolver: Option<Arc<dyn Resolve>>,
    roots: Option<Roots>,
}

/// The resolved settings: every default is filled in.
pub(super) struct Settled {
    pub(super) provisioner: Provisioner,
    pub(super) resolver: Option<Arc<dyn Resolve>>,
    pub(super) roots: Option<Roots>,
}

impl Native {
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

    /// Resolves the names of allowed hosts, instead of the resolver this machine is set up with.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolve + 'static) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Root certificates the proxy trusts when it terminates TLS (`terminate_tls`), instead of this
    /// machine's.
    #[must_use]
    pub fn roots(mut self, roots: Roots) -> Self {
        self.roots = Some(roots);
        self
    }

    /// Looks at the machine on a separate thread, because that runs helpers and waits for them.
    /// Also succeeds where no cell can be made; [`Engine::capabilities`] then says why.
    pub async fn open(self) -> Result<NativeEngine, EngineError> {
        let settled = self.settle()?;
        on_a_thread("belljar-probe", move || NativeEngine::probe(settled))
            .await
            .map_err(EngineError::io("look at the machine"))?
    }

    fn settle(self) -> Result<Settled, NativeError> {
        let Self { provision, resolver, roots } = self;
        Ok(Settled { provisioner: provision.settle()?, resolver, roots })
    }
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { provision, resolver: _, roots } = self;
        f.debug_struct("Native").field("provision", provision).field("roots", roots).finish_non_exhaustive()
    }
}

impl IntoEngine for Native {
    fn into_engine(self) -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>> {
        Box::pin(async { Ok(Arc::new(self.open().await?) as Arc<dyn Engine>) })
    }
}
