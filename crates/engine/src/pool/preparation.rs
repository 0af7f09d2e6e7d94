//! One preparation for all who open the same key at the same time.
//!
//! It is a task of its own, so it goes on while anybody waits for it, whoever came first. When the
//! last of them has given up it is dropped, and with it whatever the engine had begun. All who wait
//! share the outcome, errors too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{mpsc, watch};
use tracing::field::Empty;
use tracing::{Instrument, Span, debug_span};

use super::hold::TemplateHold;
use super::key::PoolKey;
use super::meters::prepared;
use super::registry::{Entry, Registry, State};
use super::shutdown::{end, end_all};
use super::template_pool::{Ending, TemplatePool};
use crate::Progress;
use crate::engine::{Blueprint, Template};
use crate::{EngineError, Fault, Forked, metering};

/// Why a sandbox could not be opened.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It could not be made ready. All who waited for the same one share the error.
    #[error(transparent)]
    Prepare(Arc<EngineError>),
    /// This process was forked from the one that has the runtime.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// Everything has been shut down.
    #[error("the runtime is shut down and opens no more sandboxes. Build another runtime")]
    ShutDown,
}

impl OpenError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Prepare(source) => source.fault(),
            Self::Forked(_) | Self::ShutDown => Fault::Caller,
        }
    }
}

/// The span of one preparation. Without a parent: several callers may wait for it.
pub(super) fn prepare_span(sandbox: &str, key: &PoolKey, engine: &str) -> Span {
    let template = tracing::field::debug(key);
    debug_span!(parent: None, "template.prepare", sandbox, template, engine, verdict = Empty, ms = Empty)
}

/// A template being prepared.
pub(super) struct Preparation {
    pub(super) name: String,
    outcome: watch::Sender<Option<Outcome>>,
    listeners: Mutex<Vec<mpsc::UnboundedSender<Progress>>>,
}

#[derive(Clone)]
enum Outcome {
    /// A hold for each who waited. They keep the template from going before they are taken, and
    /// nobody else has one: who drops the last may count on what comes of it.
    Ready(Arc<Mutex<Vec<TemplateHold>>>),
    Failed(Arc<EngineError>),
    ShutDown,
    Panicked,
}

/// Somebody who waits for a preparation.
pub(super) struct Waiter {
    name: String,
    outcome: watch::Receiver<Option<Outcome>>,
    news: mpsc::UnboundedReceiver<Progress>,
}

impl Preparation {
    pub(super) fn new(name: &str) -> Arc<Self> {
        let outcome = watch::Sender::new(None);
        Arc::new(Self { name: name.to_owned(), outcome, listeners: Mutex::default() })
    }

    /// One more who waits. Under the registry's lock, or it may be over before.
    pub(super) fn join(&self) -> Waiter {
        let (listener, news) = mpsc::unbounded_channel();
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
        Waiter { name: self.name.clone(), outcome: self.outcome.subscribe(), news }
    }

    fn tell(&self, step: &Progress) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(step.clone()).is_ok());
    }
}

impl Waiter {
    /// Waits for the outcome and hands progress on meanwhile. `None` when the preparation was
    /// dropped unfinished.
    pub(super) async fn outcome(
        mut self,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Option<Result<TemplateHold, OpenError>> {
        let outcome = loop {
            tokio::select! {
                biased;
                Some(step) = self.news.recv() => progress(step),
                outcome = self.outcome.wait_for(Option::is_some) => break outcome.ok()?.clone()?,
            }
        };
        Some(match outcome {
            Outcome::Ready(holds) => {
                let hold = holds.lock().unwrap_or_else(PoisonError::into_inner).pop();
                // Nobody else has closed it, so nothing but a shutdown can have ended it.
                hold.filter(|hold| hold.check().is_ok()).ok_or(OpenError::ShutDown)
            }
            Outcome::Failed(error) => Err(OpenError::Prepare(error)),
            Outcome::ShutDown => Err(OpenError::ShutDown),
            Outcome::Panicked => panic!("the engine panicked while it prepared sandbox `{}`", self.name),
        })
    }
}

impl Registry {
    /// Prepares a template and tells all who wait what came of it. Those that are in the way end
    /// first, so that there are never more than there may be.
    pub(super) async fn prepare(
        self: Arc<Self>,
        key: PoolKey,
        blueprint: Blueprint,
        preparation: Arc<Preparation>,
        in_the_way: Vec<Arc<TemplatePool>>,
    ) {
        let unfinished = Unfinished { registry: &self, key: &key, preparation: &preparation };
        end_all(in_the_way, Ending::Closed).await;
        let prepared = self.prepare_unless_in_vain(&key, &blueprint, &preparation).await;
        let outcome = match prepared {
            None => return,
            Some(Err(outcome)) => outcome,
            Some(Ok(template)) => self.take_over(&key, blueprint, template, &preparation).await,
        };
        // Before anybody is told: who comes after this does not join what is over.
        drop(unfinished);
        preparation.outcome.send_replace(Some(outcome));
    }

    /// `None` when nobody waits any more.
    async fn prepare_unless_in_vain(
        &self,
        key: &PoolKey,
        blueprint: &Blueprint,
        preparation: &Arc<Preparation>,
    ) -> Option<Result<Arc<dyn Template>, Outcome>> {
        let mut tell = |step: Progress| preparation.tell(&step);
        // Here, because a recorder may be installed at any time before a sandbox is opened.
        metering::describe();
        let engine = self.engine.name();
        let span = prepare_span(&preparation.name, key, engine);
        let began = Instant::now();
        let prepare = self.engine.prepare(blueprint, &mut tell).instrument(span.clone());
        tokio::pin!(prepare);
        loop {
            tokio::select! {
                biased;
                () = self.stopping.cancelled() => return Some(Err(Outcome::ShutDown)),
                outcome = &mut prepare => {
                    prepared(&span, engine, &outcome, began.elapsed());
                    return Some(outcome.map_err(|error| Outcome::Failed(Arc::new(error))));
                }
                () = preparation.outcome.closed() => {
                    // Nobody can join while the registry is locked.
                    let mut state = self.lock();
                    if preparation.outcome.receiver_count() == 0 {
                        tracing::debug!(parent: &span, "nobody waits for the template any more");
                        state.forget_preparation(key, preparation);
                        return None;
                    }
                }
            }
        }
    }

    /// Puts a template on the books, unless the pool was shut down meanwhile.
    async fn take_over(
        &self,
        key: &PoolKey,
        blueprint: Blueprint,
        template: Arc<dyn Template>,
        preparation: &Preparation,
    ) -> Outcome {
        let pool = TemplatePool::open(
            self.background.clone(),
            Arc::clone(&self.engine),
            blueprint,
            template,
            self.options,
        );
        {
            let mut state = self.lock();
            if !state.is_shut_down {
                state.entries.insert(key.clone(), Entry::Ready(Arc::clone(&pool)));
                // From now on nobody joins. If all have given up, the one hold is dropped unused.
                let waiting = preparation.outcome.receiver_count().max(1);
                let hold = || TemplateHold::new(&pool, self.me.clone());
                let holds = std::iter::repeat_with(hold).take(waiting).collect();
                return Outcome::Ready(Arc::new(Mutex::new(holds)));
            }
        }
        end(pool, Ending::ShutDown).await;
        Outcome::ShutDown
    }
}

impl State {
    /// Strikes a preparation off the books, if it is there. A template that took its place stays.
    fn forget_preparation(&mut self, key: &PoolKey, preparation: &Arc<Preparation>) {
        let is_there = matches!(self.entries.get(key), Some(Entry::Preparing(present)) if Arc::ptr_eq(present, preparation));
        if is_there {
            self.entries.remove(key);
            self.retention.forget(key);
        }
    }
}

/// Whatever ends a preparation, panics and the end of its async runtime too, takes it off the
/// books.
struct Unfinished<'a> {
    registry: &'a Registry,
    key: &'a PoolKey,
    preparation: &'a Arc<Preparation>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.registry.lock().forget_preparation(self.key, self.preparation);
        if std::thread::panicking() {
            self.preparation.outcome.send_replace(Some(Outcome::Panicked));
        }
    }
}
