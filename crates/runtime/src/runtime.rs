//! The way in: an engine, made ready to make sandboxes.

use std::sync::Arc;

use belljar_core::Secret;
use belljar_core::config::{NetworkPolicy, SandboxConfig};
use belljar_engine::pool::{PoolOptions, SandboxPool};
use belljar_engine::{Blueprint, BoxFuture, Capabilities, Engine, EngineError, IntoEngine, Progress};

use crate::executor::ScriptExecutor;
use crate::{RuntimeError, Sandbox, Secrets, mask};

/// Belljar, embedded: it needs a tokio runtime around it and nothing else.
pub struct Runtime {
    engine: Arc<dyn Engine>,
    pool: SandboxPool,
    secrets: Secrets,
}

/// Makes the engine when the runtime is built, and not before.
type Opening = Box<dyn FnOnce() -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>> + Send + Sync>;

/// Sets a [`Runtime`] up. What is an engine's own is set up on the engine.
#[derive(Default)]
pub struct RuntimeBuilder {
    engine: Option<Opening>,
    secrets: Secrets,
    pool: PoolOptions,
}

impl std::fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { engine: _, secrets, pool } = self;
        f.debug_struct("RuntimeBuilder").field("secrets", secrets).field("pool", pool).finish_non_exhaustive()
    }
}

impl RuntimeBuilder {
    /// What cells are made by: `Native::new()…`, `Docker::new()…`, an engine that is open already, or anybody's
    /// `Arc<dyn Engine>`. The native engine with its defaults when absent.
    #[must_use]
    pub fn engine(mut self, engine: impl IntoEngine) -> Self {
        self.engine = Some(Box::new(|| engine.into_engine()));
        self
    }

    /// Values for the secrets that configs name: a map, [`Secrets::from_env`], or both. A cell gets those its config names, and no
    /// others, and what its scripts say is handed on with `***` in place of each value. The engine's proxy gets those its config
    /// injects. A value must have four bytes or more.
    #[must_use]
    pub fn secrets(mut self, secrets: impl Into<Secrets>) -> Self {
        self.secrets = secrets.into();
        self
    }

    /// How many cells of a sandbox there may be at once beyond its `pool_size`; callers beyond that wait in line. 10 by default.
    #[must_use]
    pub fn max_overflow(mut self, cells: usize) -> Self {
        self.pool.max_overflow = cells;
        self
    }

    /// Opens the engine. Succeeds also where it can make no cell; [`Runtime::capabilities`] then says why.
    pub async fn build(self) -> Result<Runtime, RuntimeError> {
        let opening = self.engine.or_else(default_engine).ok_or(RuntimeError::NoEngine)?;
        Ok(Runtime::on(opening().await?, self.pool, self.secrets))
    }
}

#[cfg(feature = "native")]
fn default_engine() -> Option<Opening> {
    Some(Box::new(|| belljar_engine::native::Native::new().into_engine()))
}

#[cfg(not(feature = "native"))]
fn default_engine() -> Option<Opening> {
    None
}

impl Runtime {
    fn on(engine: Arc<dyn Engine>, pool: PoolOptions, secrets: Secrets) -> Self {
        let pool = SandboxPool::new(Arc::clone(&engine), pool);
        Self { engine, pool, secrets }
    }

    /// The defaults: the native engine, no secrets.
    #[cfg(feature = "native")]
    pub async fn new() -> Result<Self, RuntimeError> {
        Self::builder().build().await
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
        self.prepare(Blueprint::new(config), &mut |_| {}).await
    }

    /// Makes a config and its tools ready; `progress` hears of long installs.
    pub async fn prepare(
        &self,
        mut blueprint: Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Sandbox, RuntimeError> {
        let config = blueprint.config.clone();
        self.check_secrets(&config)?;
        blueprint.injected =
            self.secrets.only(config.network_policy.inject.iter().map(|injection| &injection.secret));
        let shelf = self.pool.open(blueprint, progress).await?;
        let values = self.secrets.only(&config.secrets);
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
        policy
            .inject
            .iter()
            .filter_map(|injection| Some((&injection.secret, self.secrets.get(&injection.secret)?)))
    }

    /// Ends every cell and every zygote, those in use too, and waits until they are gone from the system.
    pub async fn shutdown(self) {
        self.pool.shutdown();
        self.engine.settle().await;
    }
}
