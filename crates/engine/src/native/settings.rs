//! How the native engine is set up.

use std::path::PathBuf;
use std::sync::Arc;

use belljar_jail::cgroup::GroupOptions;
use belljar_proxy::{Resolve, Roots};

use super::NativeEngine;
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
    groups: GroupOptions,
}

/// The resolved settings: every default is filled in.
pub(super) struct Settled {
    pub(super) provisioner: Provisioner,
    pub(super) resolver: Option<Arc<dyn Resolve>>,
    pub(super) roots: Option<Roots>,
    pub(super) groups: GroupOptions,
}

impl Native {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where to keep dependency layers and what is known about interpreters. By default
    /// what [`default_cache_dir`](crate::provision::default_cache_dir) says.
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

    /// Whether the processes of a delegated control group may be moved into a group below it. True
    /// by default.
    ///
    /// The kernel lets no group have both processes and groups with limits below it. So where this
    /// program is in a group that was delegated to it (`Delegate=yes`), all processes of that group
    /// move down, also those of other programs, and come back with the last engine. If that is not
    /// allowed, systemd is asked for a group beside this one.
    #[must_use]
    pub fn move_processes(mut self, may: bool) -> Self {
        self.groups.move_processes = may;
        self
    }

    /// Looks at the machine on a separate thread, because that runs helpers and waits for them.
    /// Also succeeds where no cell can be made; [`Engine::capabilities`] then says why.
    pub async fn open(self) -> Result<NativeEngine, EngineError> {
        let settled = self.settle();
        on_a_thread("belljar-probe", move || NativeEngine::probe(settled))
            .await
            .map_err(EngineError::io("look at the machine"))?
    }

    fn settle(self) -> Settled {
        let Self { provision, resolver, roots, groups } = self;
        Settled { provisioner: provision.settle(), resolver, roots, groups }
    }
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { provision, resolver: _, roots, groups } = self;
        f.debug_struct("Native")
            .field("provision", provision)
            .field("roots", roots)
            .field("groups", groups)
            .finish_non_exhaustive()
    }
}

impl IntoEngine for Native {
    fn into_engine(self) -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>> {
        Box::pin(async { Ok(Arc::new(self.open().await?) as Arc<dyn Engine>) })
    }
}
