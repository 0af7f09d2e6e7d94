//! The way in: an engine, made ready to make sandboxes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use belljar_core::config::{NetworkPolicy, SandboxConfig};
use belljar_core::{Secret, environment};
use belljar_engine::builder::Progress;
use belljar_engine::docker::{DockerEngine, DockerOptions};
use belljar_engine::native::{NativeEngine, NativeOptions, Resolve, Roots};
use belljar_engine::pool::{PoolOptions, SandboxPool};
use belljar_engine::python::Search;
use belljar_engine::{Blueprint, Capabilities, Engine};

use crate::executor::ScriptExecutor;
use crate::{RuntimeError, Sandbox, mask};

/// Belljar, embedded: it needs a tokio runtime around it and nothing else.
pub struct Runtime {
    engine: Arc<dyn Engine>,
    pool: SandboxPool,
    secrets: BTreeMap<String, Secret>,
}

/// Sets a [`Runtime`] up.
#[derive(Default)]
pub struct RuntimeBuilder {
    cache: Option<PathBuf>,
    python: Option<PathBuf>,
    secrets: BTreeMap<String, Secret>,
    /// Not shown: the address of an index often holds a password.
    installer_env: Vec<(String, Secret)>,
    resolver: Option<Arc<dyn Resolve>>,
    roots: Option<Roots>,
    pool: PoolOptions,
}

impl std::fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cache, python, secrets, installer_env, resolver: _, roots, pool } = self;
        f.debug_struct("RuntimeBuilder")
            .field("cache", cache)
            .field("python", python)
            .field("secrets", secrets)
            .field("installer_env", installer_env)
            .field("roots", roots)
            .field("pool", pool)
            .finish_non_exhaustive()
    }
}

impl RuntimeBuilder {
    /// Where to keep dependency layers. By default `$BELLJAR_CACHE`, `$XDG_CACHE_HOME/belljar` or `~/.cache/belljar`.
    #[must_use]
    pub fn cache_dir(mut self, path: PathBuf) -> Self {
        self.cache = Some(path);
        self
    }

    /// Uses this interpreter and no other.
    #[must_use]
    pub fn python(mut self, path: PathBuf) -> Self {
        self.python = Some(path);
        self
    }

    /// Values for the secrets that configs name. A cell gets those its config names, and no others, and what its scripts say is handed on
    /// with `***` in place of each value. A value must have four bytes or more.
    #[must_use]
    pub fn secrets(mut self, secrets: BTreeMap<String, Secret>) -> Self {
        self.secrets = secrets;
        self
    }

    /// Variables for the installer of dependencies besides this process's own: indexes, proxies, certificates.
    #[must_use]
    pub fn installer_env<'a>(mut self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.installer_env
            .extend(variables.into_iter().map(|(name, value)| (name.to_owned(), Secret::new(value))));
        self
    }

    /// Where addresses of allowed hosts come from, instead of the resolver this machine is set up with.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolve + 'static) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// By whom hosts are believed to which the proxy itself speaks TLS, because a config has it set a credential there
    /// (`terminate_tls`), instead of what this machine believes.
    #[must_use]
    pub fn roots(mut self, roots: Roots) -> Self {
        self.roots = Some(roots);
        self
    }

    /// How many cells of a sandbox there may be at once beyond its `pool_size`; callers beyond that wait in line. 10 by default.
    #[must_use]
    pub fn max_overflow(mut self, cells: usize) -> Self {
        self.pool.max_overflow = cells;
        self
    }

    /// Looks at the machine. Succeeds also where no cell can be made; [`Runtime::capabilities`] then says why.
    pub fn build(self) -> Result<Runtime, RuntimeError> {
        let cache = self.cache.or_else(default_cache).ok_or(RuntimeError::NoCacheDirectory)?;
        let mut search = Search::from_env(Some(cache.clone()));
        if self.python.is_some() {
            search.explicit = self.python;
        }
        let installer_env =
            self.installer_env.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect();
        let engine = NativeEngine::new(NativeOptions {
            cache,
            search,
            installer_env,
            resolver: self.resolver,
            roots: self.roots,
            secrets: self.secrets.clone(),
        })?;
        Ok(Runtime::on(Arc::new(engine), self.pool, self.secrets))
    }

    /// The same on containers: connects to a daemon that speaks Docker's API. What this builder knows of secrets and installers counts
    /// besides what the options say; its cache, interpreter, resolver and roots are the native engine's.
    pub async fn build_on_docker(self, mut options: DockerOptions) -> Result<Runtime, RuntimeError> {
        let installer = self.installer_env.into_iter().map(|(name, value)| (name, value.expose().to_owned()));
        options.installer_env.extend(installer);
        options.secrets.extend(self.secrets.clone());
        let engine = DockerEngine::connect(options).await?;
        Ok(Runtime::on(Arc::new(engine), self.pool, self.secrets))
    }
}

impl Runtime {
    fn on(engine: Arc<dyn Engine>, pool: PoolOptions, secrets: BTreeMap<String, Secret>) -> Self {
        let pool = SandboxPool::new(Arc::clone(&engine), pool);
        Self { engine, pool, secrets }
    }

    /// The defaults.
    pub fn new() -> Result<Self, RuntimeError> {
        Self::builder().build()
    }

    /// Everything else.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// The engine's name.
    pub fn engine_name(&self) -> &'static str {
        self.engine.name()
    }

    /// The same with what is worth knowing about it here: for containers, which daemon.
    pub fn describe_engine(&self) -> String {
        self.engine.describe()
    }

    /// What can be enforced here.
    pub fn capabilities(&self) -> &Capabilities {
        self.engine.capabilities()
    }

    /// Makes a config ready, without tools.
    pub async fn sandbox(&self, config: SandboxConfig) -> Result<Sandbox, RuntimeError> {
        self.prepare(Blueprint { config, tools: Vec::new() }, &mut |_| {}).await
    }

    /// Makes a config and its tools ready; `progress` hears of long installs.
    pub async fn prepare(
        &self,
        blueprint: Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Sandbox, RuntimeError> {
        let config = blueprint.config.clone();
        self.check_secrets(&config)?;
        let shelf = self.pool.open(blueprint, progress).await?;
        let values = self
            .secrets
            .iter()
            .filter(|(name, _)| config.secrets.contains(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let executor = ScriptExecutor::new(self.engine.name(), config.resource_limits, config.execution_mode)
            .with_secrets(config.secrets, Arc::new(values))
            .hiding(self.injected(&config.network_policy).map(|(_, value)| value))
            .with_warnings(shelf.report().warnings.clone().into());
        Ok(Sandbox::new(shelf, executor))
    }

    /// Refuses to hand out what could not be kept out of results.
    fn check_secrets(&self, config: &SandboxConfig) -> Result<(), RuntimeError> {
        let granted = config.secrets.iter().filter_map(|name| Some((name, self.secrets.get(name)?)));
        for (name, value) in granted.chain(self.injected(&config.network_policy)) {
            let value = value.expose();
            // An empty one is none: the guest is told that it is missing.
            if !value.is_empty() && value.len() < mask::SHORTEST {
                return Err(RuntimeError::ShortSecret { name: name.clone(), least: mask::SHORTEST });
            }
        }
        Ok(())
    }

    /// The secrets that the proxy sets on the way out. No cell has them, but a host may echo them.
    fn injected<'a>(&'a self, policy: &'a NetworkPolicy) -> impl Iterator<Item = (&'a String, &'a Secret)> {
        policy.inject.iter().filter_map(|injection| self.secrets.get_key_value(&injection.secret))
    }

    /// Ends every cell and every zygote, those in use too, and waits until they are gone from the system.
    pub async fn shutdown(self) {
        self.pool.shutdown();
        self.engine.settle().await;
    }
}

/// Where layers and what is known about interpreters are kept, unless the builder says otherwise.
fn default_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(environment::CACHE)
        .or_else(|| Some(set(environment::XDG_CACHE_HOME)?.join("belljar")))
        .or_else(|| Some(set(environment::HOME)?.join(".cache/belljar")))
}
