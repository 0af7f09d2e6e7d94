//! The entry point: an engine, set up to make sandboxes.

use std::sync::Arc;
use std::time::Duration;

use belljar_core::Secret;
use belljar_core::tool::ToolSet;
use belljar_engine::pool::{LiveTemplate, PoolOptions, SandboxPool};
use belljar_engine::{
    Background, Blueprint, BoxFuture, Capabilities, Engine, EngineError, IntoEngine, Progress,
};

use crate::executor::ScriptExecutor;
use crate::tools::{self, Needs};
use crate::{DescribeError, Equipped, RuntimeError, Sandbox, Secrets, ToolRegistry};

/// Belljar, embedded. It needs nothing around it. Cheap to clone; all clones are one runtime.
///
/// Its futures can be polled on any tokio runtime that has I/O and time enabled, on several, or
/// without one. What goes on between two calls is done on two threads of its own.
///
/// When the last clone is dropped, templates that no sandbox and no session holds end with it. That
/// takes some milliseconds for each. [`Self::shutdown`] ends everything and waits for it.
#[derive(Clone)]
pub struct Runtime {
    engine: Arc<dyn Engine>,
    pool: Arc<SandboxPool>,
    checkout_timeout: Option<Duration>,
    secrets: Arc<Secrets>,
}

/// Opens the engine when the runtime is built, and not before.
type Opening = Box<dyn FnOnce() -> BoxFuture<'static, Result<Arc<dyn Engine>, EngineError>> + Send + Sync>;

/// Sets up a [`Runtime`]. Options of an engine are set on the engine.
#[derive(Default)]
pub struct RuntimeBuilder {
    engine: Option<Opening>,
    secrets: Secrets,
    pool: PoolOptions,
    checkout_timeout: Option<Duration>,
}

impl std::fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { engine: _, secrets, pool, checkout_timeout } = self;
        f.debug_struct("RuntimeBuilder")
            .field("secrets", secrets)
            .field("pool", pool)
            .field("checkout_timeout", checkout_timeout)
            .finish_non_exhaustive()
    }
}

impl RuntimeBuilder {
    /// The engine that makes the cells: `Native::new()…`, `Docker::new()…`, an engine that is
    /// already open, or anybody's `Arc<dyn Engine>`. By default the native engine with its
    /// defaults.
    #[must_use]
    pub fn engine(mut self, engine: impl IntoEngine) -> Self {
        self.engine = Some(Box::new(|| engine.into_engine()));
        self
    }

    /// Values for the secrets that configs name: a map, [`Secrets::from_env`], or both. A cell gets
    /// only the secrets its config and its guest tools name. In everything its scripts say, each
    /// value is replaced by `***`, in base64, hexadecimal and percent-encoded too. The engine's
    /// proxy gets the secrets that the config injects. A value must have at least four bytes.
    /// [`Secrets`] says what else is refused.
    #[must_use]
    pub fn secrets(mut self, secrets: impl Into<Secrets>) -> Self {
        self.secrets = secrets.into();
        self
    }

    /// How many cells a sandbox may have at the same time beyond its `pool_size`. Callers beyond
    /// that wait in line. 10 by default.
    #[must_use]
    pub fn max_overflow(mut self, cells: usize) -> Self {
        self.pool.max_overflow = cells;
        self
    }

    /// How many templates there may be at the same time: held, kept warm or being prepared. 32 by
    /// default.
    ///
    /// When another config is opened, templates that nobody holds make room for it, the least
    /// recently used first. A template that somebody holds is never taken away, and opening is
    /// never refused. So there can be more templates as long as all of them are held. The surplus
    /// goes as soon as nobody holds it.
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

    /// Opens the engine. Also succeeds where it can make no cell; [`Runtime::capabilities`] then
    /// says why.
    pub async fn build(self) -> Result<Runtime, RuntimeError> {
        self.secrets.check()?;
        let opening = self.engine.or_else(default_engine).ok_or(RuntimeError::NoEngine)?;
        // In the background, because an engine may leave something running.
        let engine = Background::of_this_process()?.run(opening()).await??;
        let pool = Arc::new(SandboxPool::new(Arc::clone(&engine), self.pool)?);
        let (checkout_timeout, secrets) = (self.checkout_timeout, Arc::new(self.secrets));
        Ok(Runtime { engine, pool, checkout_timeout, secrets })
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
    /// The defaults: the native engine, no secrets.
    #[cfg(feature = "native")]
    pub async fn new() -> Result<Self, RuntimeError> {
        Self::builder().build().await
    }

    /// A builder, for everything but the defaults.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// The engine's name.
    pub fn engine_name(&self) -> &'static str {
        self.engine.name()
    }

    /// The engine's name, with what is worth knowing about it here. For containers that is the
    /// daemon.
    pub fn describe_engine(&self) -> String {
        self.engine.describe()
    }

    /// Whose kept workspaces must be, if not this user's: what
    /// [`kept::Store::open`](belljar_engine::kept::Store::open) asks for.
    pub fn kept_owner(&self) -> Option<u32> {
        self.engine.kept_owner()
    }

    /// What the engine can enforce here.
    pub fn capabilities(&self) -> &Capabilities {
        self.engine.capabilities()
    }

    /// Makes a config ready, with its tools if it has any
    /// ([`ToolRegistry::for_config`](crate::ToolRegistry::for_config)). A config that is already
    /// ready is shared. Concurrent calls for one config make it ready once.
    pub async fn sandbox(&self, equipped: impl Into<Equipped>) -> Result<Sandbox, RuntimeError> {
        let Equipped { config, tools } = equipped.into();
        self.prepare_with(Blueprint::new(config), tools, &mut |_| {}).await
    }

    /// The same as [`Self::prepare`], with tools besides those of the blueprint.
    pub async fn prepare_with(
        &self,
        mut blueprint: Blueprint,
        tools: ToolRegistry,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Sandbox, RuntimeError> {
        let host = tools.add_to(&mut blueprint);
        Ok(self.prepare(blueprint, progress).await?.with_tools(host))
    }

    /// Makes a config and its tools ready. `progress` is called during long installs. Dropping the
    /// future gives up the preparation, unless others wait for the same one.
    pub async fn prepare(
        &self,
        mut blueprint: Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Sandbox, RuntimeError> {
        let needs = Needs::add(&mut blueprint.config, &blueprint.tools)?;
        let config = blueprint.config.clone();
        self.secrets.check_for(&config)?;
        // Those of other tools stay out here. They must be hidden, because answers may have them.
        let elsewhere: Vec<_> = blueprint
            .host_tools
            .iter()
            .flat_map(|tool| tool.secrets.iter().map(|name| (name, format!("tool {}", tool.name))))
            .collect();
        let is_lenient = blueprint.is_lenient;
        if !is_lenient {
            let in_files = config.secrets.iter();
            let in_files = in_files.flat_map(|name| needs.of(name).into_iter().map(move |file| (name, file)));
            self.secrets.check_complete(&config, in_files.chain(elsewhere.iter().cloned()))?;
        }
        let mut unseen: Vec<Secret> =
            self.secrets.injected_by(&config).map(|(_, value)| value.clone()).collect();
        unseen.extend(elsewhere.iter().filter_map(|(name, _)| self.secrets.get(name).cloned()));
        blueprint.injected =
            self.secrets.only(config.network_policy.inject.iter().map(|injection| &injection.secret));
        let tools = tools::Tools {
            config: config.clone(),
            files: blueprint.tools.clone(),
            host: blueprint.host_tools.clone(),
        };
        let hold = self.pool.open(blueprint, progress).await?;
        let broken: Vec<String> = hold.report().broken_tools().map(str::to_owned).collect();
        if !is_lenient && !broken.is_empty() {
            return Err(RuntimeError::Tools { reasons: broken });
        }
        let values = self.secrets.only(&config.secrets);
        let executor = ScriptExecutor::new(self.engine.name(), config.resource_limits, config.execution_mode)
            .with_secrets_hiding(config.secrets, Arc::new(values), &unseen)
            .with_warnings(hold.report().warnings.clone().into());
        Ok(Sandbox::new(hold, executor, self.checkout_timeout, tools))
    }

    /// What a model should know of tools: prompt, JSON Schemas, stubs, for those of the host's and
    /// for functions of Python files alike.
    ///
    /// Files are read in a cell of their own, with no network, secret or package, and nothing of
    /// them runs. A name that two tools have, or that every script starts with, is an error that
    /// names both.
    ///
    /// ```no_run
    /// # use belljar_runtime::{Runtime, SandboxConfig, ToolRegistry};
    /// # async fn example(runtime: Runtime) -> Result<(), Box<dyn std::error::Error>> {
    /// let tools = ToolRegistry::new().guest("weather.py")?;
    /// let equipped = tools.for_config(SandboxConfig::default());
    /// println!("{}", runtime.describe(&equipped).await?.prompt());
    /// let sandbox = runtime.sandbox(equipped).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn describe(&self, equipped: &Equipped) -> Result<ToolSet, DescribeError> {
        tools::describe(self, equipped).await
    }

    /// Every template that is live or being prepared, including those that are only kept warm.
    pub fn templates(&self) -> Vec<LiveTemplate> {
        self.pool.templates()
    }

    /// Ends every cell and every zygote, including those in use, and waits until they are gone from
    /// the system. A runtime that is shut down still has its engine, and with it an empty control
    /// group. The group goes when the last clone and the last sandbox are dropped.
    ///
    /// From then on, every clone of this runtime, its sandboxes and its sessions answer with
    /// [`RuntimeError::ShutDown`]. It may be called again, also by several callers at the same
    /// time. Each call waits for the end.
    pub async fn shutdown(&self) {
        self.pool.shutdown().await;
    }

    /// Like [`Self::shutdown`], but runs and steps in progress may finish within `grace`. They are
    /// killed after that. Nothing new begins: callers who still wait for a cell are refused, and so
    /// is the next step of a session.
    pub async fn shutdown_within(&self, grace: Duration) {
        self.pool.shutdown_within(grace).await;
    }
}
