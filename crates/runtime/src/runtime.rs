//! The way in: an engine, made ready to make sandboxes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::Secret;
use belljar_core::config::{NetworkPolicy, SandboxConfig};
use belljar_engine::builder::Progress;
use belljar_engine::docker::{DockerEngine, DockerOptions};
use belljar_engine::native::{NativeEngine, NativeOptions, Resolve, Roots};
use belljar_engine::pool::{LiveTemplate, PoolOptions, SandboxPool};
use belljar_engine::python::Search;
use belljar_engine::{Blueprint, Capabilities, Engine};

use crate::executor::ScriptExecutor;
use crate::{RuntimeError, Sandbox, mask};

/// Where layers and what is known about interpreters are kept, unless the builder says otherwise.
const CACHE_ENV: &str = "BELLJAR_CACHE";

/// Belljar, embedded: it needs a tokio runtime around it and nothing else. Cheap to clone; all
/// clones are one runtime.
///
/// When the last clone is dropped, templates that no sandbox and no session holds end with it,
/// which takes some milliseconds each. [`Self::shutdown`] ends everything and waits for it.
#[derive(Clone)]
pub struct Runtime {
    engine: Arc<dyn Engine>,
    pool: Arc<SandboxPool>,
    checkout_timeout: Option<Duration>,
    secrets: Arc<BTreeMap<String, Secret>>,
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
    checkout_timeout: Option<Duration>,
}

impl std::fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cache, python, secrets, installer_env, resolver: _, roots, pool, checkout_timeout } = self;
        f.debug_struct("RuntimeBuilder")
            .field("cache", cache)
            .field("python", python)
            .field("secrets", secrets)
            .field("installer_env", installer_env)
            .field("roots", roots)
            .field("pool", pool)
            .field("checkout_timeout", checkout_timeout)
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

    /// How many templates there may be at once, held, kept warm or being prepared. 32 by default.
    ///
    /// When another config is opened, templates that nobody holds make room for it, the least
    /// recently used first. A template that somebody holds is never taken away and opening is never
    /// refused, so there can be more as long as all of them are held. The surplus goes as soon as
    /// nobody holds it.
    #[must_use]
    pub fn max_templates(mut self, templates: usize) -> Self {
        self.pool.max_templates = templates;
        self
    }

    /// How long a template that nobody holds is kept warm. 5 minutes by default. With zero it ends
    /// with its last sandbox or session.
    #[must_use]
    pub fn keep_warm(mut self, time: Duration) -> Self {
        self.pool.keep_warm = time;
        self
    }

    /// How long a run or a new session waits for a cell when all of them are in use. After that its
    /// error is [`CheckoutError::TimedOut`](crate::CheckoutError::TimedOut). By default it waits as
    /// long as it takes.
    #[must_use]
    pub fn checkout_timeout(mut self, within: Duration) -> Self {
        self.checkout_timeout = Some(within);
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
        Ok(Runtime::on(Arc::new(engine), self.pool, self.checkout_timeout, self.secrets))
    }

    /// The same on containers: connects to a daemon that speaks Docker's API. What this builder knows of secrets and installers counts
    /// besides what the options say; its cache, interpreter, resolver and roots are the native engine's.
    pub async fn build_on_docker(self, mut options: DockerOptions) -> Result<Runtime, RuntimeError> {
        let installer = self.installer_env.into_iter().map(|(name, value)| (name, value.expose().to_owned()));
        options.installer_env.extend(installer);
        options.secrets.extend(self.secrets.clone());
        let engine = DockerEngine::connect(options).await?;
        Ok(Runtime::on(Arc::new(engine), self.pool, self.checkout_timeout, self.secrets))
    }
}

impl Runtime {
    fn on(
        engine: Arc<dyn Engine>,
        pool: PoolOptions,
        checkout_timeout: Option<Duration>,
        secrets: BTreeMap<String, Secret>,
    ) -> Self {
        let pool = Arc::new(SandboxPool::new(Arc::clone(&engine), pool));
        Self { engine, pool, checkout_timeout, secrets: Arc::new(secrets) }
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

    /// Makes a config ready, without tools. One that is ready already is shared, and concurrent
    /// calls for one config make it ready once.
    pub async fn sandbox(&self, config: SandboxConfig) -> Result<Sandbox, RuntimeError> {
        self.prepare(Blueprint { config, tools: Vec::new() }, &mut |_| {}).await
    }

    /// Makes a config and its tools ready; `progress` hears of long installs. Dropping the future
    /// gives it up, unless others wait for the same.
    pub async fn prepare(
        &self,
        blueprint: Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Sandbox, RuntimeError> {
        let config = blueprint.config.clone();
        self.check_secrets(&config)?;
        let hold = self.pool.open(blueprint, progress).await?;
        let values = self
            .secrets
            .iter()
            .filter(|(name, _)| config.secrets.contains(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let executor = ScriptExecutor::new(self.engine.name(), config.resource_limits, config.execution_mode)
            .with_secrets(config.secrets, Arc::new(values))
            .hiding(self.injected(&config.network_policy).map(|(_, value)| value))
            .with_warnings(hold.report().warnings.clone().into());
        Ok(Sandbox::new(hold, executor, self.checkout_timeout))
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

    /// Every template that is live or being prepared, also those that are only kept warm.
    pub fn templates(&self) -> Vec<LiveTemplate> {
        self.pool.templates()
    }

    /// Ends every cell and every zygote, those in use too, and waits until they are gone from the
    /// system. A runtime that is shut down still has its engine, and with it an empty control group
    /// that goes when the last clone and the last sandbox are dropped.
    ///
    /// From then on every clone of this runtime, its sandboxes and its sessions answer with
    /// [`RuntimeError::ShutDown`]. It may be called again, and by several at once: each call waits
    /// for the end.
    pub async fn shutdown(&self) {
        self.pool.shutdown().await;
    }

    /// The same, but runs and steps in progress may finish within `grace`. They are killed after
    /// that. Nothing more begins meanwhile: callers who still wait for a cell are refused, and so
    /// is the next step of a session.
    pub async fn shutdown_within(&self, grace: Duration) {
        self.pool.shutdown_within(grace).await;
    }
}

fn default_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(CACHE_ENV)
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("belljar")))
        .or_else(|| Some(set("HOME")?.join(".cache/belljar")))
}
