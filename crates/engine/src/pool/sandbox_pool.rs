//! All sandboxes of a program: by what they are, and by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

use super::checkout::CheckoutError;
use super::hold::TemplateHold;
use super::lease::Lease;
use super::options::PoolOptions;
use super::preparation::OpenError;
use super::registry::{LiveTemplate, Registry};
use super::template_pool::TemplateStats;
use crate::engine::{Blueprint, Engine};
use crate::{Background, EngineError, Fault, Progress};

/// A pool's failure.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// No sandbox of that name was started.
    #[error("no sandbox is called `{name}`: there {}", listing(.known))]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A sandbox could not be made ready; none were started.
    #[error("sandbox `{name}` could not be started, so none were: {source}")]
    Startup {
        /// The sandbox.
        name: String,
        /// Why.
        source: Box<PoolError>,
    },
    /// A sandbox could not be made ready.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No cell.
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
}

fn listing(names: &[String]) -> String {
    match names {
        [] => "are none yet; call startup first".to_owned(),
        names => format!("are {}", names.join(", ")),
    }
}

impl PoolError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Unknown { .. } => Fault::Caller,
            Self::Startup { source, .. } => source.fault(),
            Self::Open(source) => source.fault(),
            Self::Checkout(source) => source.fault(),
        }
    }
}

/// Warm cells of several sandboxes.
///
/// Dropping it ends what nobody holds; [`Self::shutdown`] ends everything and waits for it.
pub struct SandboxPool {
    registry: Arc<Registry>,
    /// What was started, by the names of the configs.
    started: Mutex<BTreeMap<String, TemplateHold>>,
}

impl SandboxPool {
    /// An empty pool. It works on threads of Belljar's own, and fails where there can be none.
    pub fn new(engine: Arc<dyn Engine>, options: PoolOptions) -> Result<Self, EngineError> {
        let registry = Registry::new(Background::of_this_process()?, engine, options);
        Ok(Self { registry, started: Mutex::default() })
    }

    /// Makes these sandboxes ready and fills their stocks, all at once. They are held until
    /// [`Self::shutdown`]. When one fails, none are kept.
    ///
    /// A name is a label: the latest sandbox that was started under it is the one that
    /// [`Self::checkout`] uses. One that was started under it before is held no more, and cells
    /// that are checked out of it stay until they are given back.
    pub async fn startup(&self, blueprints: Vec<Blueprint>) -> Result<(), PoolError> {
        let started = self.registry.background.serve(self.start_all(blueprints)).await;
        started.map_err(CheckoutError::from)?
    }

    async fn start_all(&self, blueprints: Vec<Blueprint>) -> Result<(), PoolError> {
        let mut starting = JoinSet::new();
        for (number, blueprint) in blueprints.into_iter().enumerate() {
            let registry = Arc::clone(&self.registry);
            let start = async move { (number, start(&registry, blueprint).await) };
            starting.spawn_on(start, self.registry.background.handle());
        }
        let mut outcomes = BTreeMap::new();
        while let Some(joined) = starting.join_next().await {
            match joined {
                Ok((number, outcome)) => outcomes.insert(number, outcome),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            };
        }
        let (mut ready, mut failed) = (Vec::new(), None);
        for outcome in outcomes.into_values() {
            match outcome {
                Ok(hold) => ready.push(hold),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            for hold in ready {
                hold.close().await;
            }
            return Err(error);
        }
        for hold in ready {
            let before = self.started().insert(hold.name().to_owned(), hold);
            drop(before);
        }
        Ok(())
    }

    /// Makes one sandbox ready without waiting for its stock. One that is live under the same key
    /// is shared. Concurrent calls for one key prepare once, and all of them hear of its progress.
    pub async fn open(
        &self,
        blueprint: Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<TemplateHold, OpenError> {
        self.registry.background.serve(self.registry.open(blueprint, progress)).await?
    }

    /// A cell of the sandbox that was started under this name last, in turn.
    pub async fn checkout(&self, name: &str) -> Result<Lease, PoolError> {
        Ok(self.called(name)?.checkout().await?)
    }

    /// The same, for callers who will not wait longer.
    pub async fn checkout_within(&self, name: &str, within: Duration) -> Result<Lease, PoolError> {
        Ok(self.called(name)?.checkout_within(within).await?)
    }

    /// What each sandbox that was started holds and has done, by name.
    pub fn stats(&self) -> BTreeMap<String, TemplateStats> {
        self.started().iter().map(|(name, hold)| (name.clone(), hold.stats())).collect()
    }

    /// Every template that is live or being prepared, also those that nobody holds.
    pub fn templates(&self) -> Vec<LiveTemplate> {
        self.registry.templates()
    }

    /// Ends every cell and every zygote, those in use too, and waits until they are gone from the
    /// system.
    pub async fn shutdown(&self) {
        self.shutdown_within(Duration::ZERO).await;
    }

    /// The same, but what is in progress may finish within `grace` and is killed after that.
    /// Nothing more begins meanwhile: callers who still wait for a cell are refused.
    ///
    /// It may be called again and by several at once. Each call waits for the end, and kills when
    /// its own grace is over.
    pub async fn shutdown_within(&self, grace: Duration) {
        self.registry.shut_down(grace).await;
        let started = std::mem::take(&mut *self.started());
        drop(started);
    }

    fn called(&self, name: &str) -> Result<TemplateHold, PoolError> {
        self.registry.background.check().map_err(CheckoutError::from)?;
        if self.registry.lock().is_shut_down {
            return Err(CheckoutError::ShutDown { name: name.to_owned() }.into());
        }
        let started = self.started();
        started.get(name).cloned().ok_or_else(|| PoolError::Unknown {
            name: name.to_owned(),
            known: started.keys().cloned().collect(),
        })
    }

    fn started(&self) -> MutexGuard<'_, BTreeMap<String, TemplateHold>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SandboxPool {
    fn drop(&mut self) {
        if !self.registry.background.is_here() {
            // Without the last reference it stays as it is: it is another process's.
            std::mem::forget(Arc::clone(&self.registry));
        }
    }
}

/// Makes one sandbox ready with a full stock.
async fn start(registry: &Registry, blueprint: Blueprint) -> Result<TemplateHold, PoolError> {
    let name = blueprint.config.name.clone();
    let failed = |source: PoolError| PoolError::Startup { name, source: Box::new(source) };
    let hold = match registry.open(blueprint, &mut |_| {}).await {
        Ok(hold) => hold,
        Err(error) => return Err(failed(error.into())),
    };
    if let Err(error) = hold.wait_until_stocked().await {
        hold.close().await;
        return Err(failed(error.into()));
    }
    Ok(hold)
}
