//! All sandboxes of a program, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::key::PoolKey;
use super::lease::Lease;
use super::shelf::{CheckoutError, Shelf, ShelfStats};
use crate::Progress;
use crate::engine::{Blueprint, Engine};
use crate::{EngineError, Fault};

/// What is the same for all sandboxes of a pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolOptions {
    /// How many cells of a sandbox there may be beyond its `pool_size`.
    pub max_overflow: usize,
    /// How much memory the idle cells of a sandbox may hold together, in bytes. The stock is smaller than `pool_size` where that is too much.
    pub max_idle_memory: u64,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self { max_overflow: 10, max_idle_memory: 4 << 30 }
    }
}

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
        source: Arc<EngineError>,
    },
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
            Self::Checkout(CheckoutError::Spawn(source)) => source.fault(),
            Self::Checkout(_) => Fault::Backend,
        }
    }
}

/// Warm cells of several sandboxes.
pub struct SandboxPool {
    engine: Arc<dyn Engine>,
    options: PoolOptions,
    shelves: Mutex<BTreeMap<String, (PoolKey, Arc<Shelf>)>>,
}

impl SandboxPool {
    /// An empty pool.
    pub fn new(engine: Arc<dyn Engine>, options: PoolOptions) -> Self {
        Self { engine, options, shelves: Mutex::default() }
    }

    /// Makes these sandboxes ready and fills their stocks, all at once. When one fails, none are kept.
    pub async fn startup(&self, blueprints: Vec<Blueprint>) -> Result<(), PoolError> {
        let begun = blueprints.into_iter().map(|blueprint| {
            let (engine, options) = (Arc::clone(&self.engine), self.options);
            tokio::spawn(async move {
                let name = blueprint.config.name.clone();
                let opened = open(engine, blueprint, options, &mut |_| {}).await;
                let stocked = match opened {
                    Ok((key, shelf)) => match shelf.wait_until_stocked().await {
                        Err(CheckoutError::Spawn(error)) => Err(error),
                        _ => Ok((key, shelf)),
                    },
                    Err(error) => Err(Arc::new(error)),
                };
                stocked.map_err(|source| PoolError::Startup { name, source })
            })
        });
        let begun: Vec<_> = begun.collect();
        let mut ready = Vec::new();
        let mut failed = None;
        for shelf in begun {
            match shelf.await {
                Ok(Ok(shelf)) => ready.push(shelf),
                Ok(Err(error)) => failed = failed.or(Some(error)),
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            }
        }
        if let Some(error) = failed {
            ready.iter().for_each(|(_, shelf)| shelf.close());
            return Err(error);
        }
        for (key, shelf) in ready {
            self.keep(key, shelf);
        }
        Ok(())
    }

    /// Makes one sandbox ready without waiting for its stock. One that is ready under the same key already is shared.
    pub async fn open(
        &self,
        blueprint: Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Arc<Shelf>, EngineError> {
        let key = PoolKey::of(self.engine.name(), &blueprint);
        let present =
            self.shelves().get(&blueprint.config.name).filter(|(present, _)| *present == key).cloned();
        if let Some((_, shelf)) = present {
            return Ok(shelf);
        }
        let (key, shelf) = open(Arc::clone(&self.engine), blueprint, self.options, progress).await?;
        Ok(self.keep(key, shelf))
    }

    /// A cell of the sandbox called so, in turn.
    pub async fn checkout(&self, name: &str) -> Result<Lease, PoolError> {
        Ok(self.shelf(name)?.checkout().await?)
    }

    /// The same, for callers who will not wait longer.
    pub async fn checkout_within(&self, name: &str, within: Duration) -> Result<Lease, PoolError> {
        Ok(self.shelf(name)?.checkout_within(within).await?)
    }

    /// What each sandbox holds and has done.
    pub fn stats(&self) -> BTreeMap<String, ShelfStats> {
        self.shelves().iter().map(|(name, (_, shelf))| (name.clone(), shelf.stats())).collect()
    }

    /// Ends every cell, leased ones too, and every zygote.
    pub fn shutdown(&self) {
        let shelves = std::mem::take(&mut *self.shelves());
        for (_, shelf) in shelves.into_values() {
            shelf.close();
        }
    }

    fn shelf(&self, name: &str) -> Result<Arc<Shelf>, PoolError> {
        let shelves = self.shelves();
        match shelves.get(name) {
            Some((_, shelf)) => Ok(Arc::clone(shelf)),
            None => {
                Err(PoolError::Unknown { name: name.to_owned(), known: shelves.keys().cloned().collect() })
            }
        }
    }

    /// A sandbox made ready under another policy takes the name over; whoever holds the old one may finish with it.
    fn keep(&self, key: PoolKey, shelf: Arc<Shelf>) -> Arc<Shelf> {
        let name = shelf.name().to_owned();
        self.shelves().insert(name, (key, Arc::clone(&shelf)));
        shelf
    }

    fn shelves(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, (PoolKey, Arc<Shelf>)>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn open(
    engine: Arc<dyn Engine>,
    blueprint: Blueprint,
    options: PoolOptions,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(PoolKey, Arc<Shelf>), EngineError> {
    let key = PoolKey::of(engine.name(), &blueprint);
    let template = engine.prepare(&blueprint, progress).await?;
    Ok((key, Shelf::open(engine, blueprint, template, options)))
}
