//! The end of templates: of one that is not needed any more, and of all of them.
//!
//! Ending a template blocks for some milliseconds, until its processes are gone. That is done on
//! threads of their own.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::registry::{Entry, Registry};
use super::template_pool::{Ending, TemplatePool};
use crate::blocking::{named, on_a_thread};
use crate::timeout;

/// Ends a template and waits until it has ended.
pub(super) async fn end(pool: Arc<TemplatePool>, why: Ending) {
    end_all(vec![Arc::clone(&pool)], why).await;
    pool.wait_for_tasks().await;
}

/// Ends templates and waits until their processes are gone.
pub(super) async fn end_all(pools: Vec<Arc<TemplatePool>>, why: Ending) {
    if pools.is_empty() {
        return;
    }
    let ending = pools.clone();
    let ended = on_a_thread("belljar-end", move || ending.iter().for_each(|pool| pool.close(why))).await;
    if ended.is_err() {
        pools.iter().for_each(|pool| pool.close(why));
    }
}

impl Registry {
    /// Ends templates in the background, also where there is no async runtime.
    pub(super) fn end_soon(&self, pools: Vec<Arc<TemplatePool>>) {
        if pools.is_empty() {
            return;
        }
        let (ending, known) = (pools.clone(), self.work.token());
        let work = move || {
            ending.iter().for_each(|pool| pool.close(Ending::Closed));
            drop((ending, known));
        };
        if named("belljar-end").spawn(work).is_err() {
            // A machine that has no thread to give: whoever is here waits.
            pools.iter().for_each(|pool| pool.close(Ending::Closed));
        }
    }

    /// Ends every template, live, ending or in preparation. From the first moment on nothing more
    /// may begin. What is in progress may finish within `grace` and is killed then. Comes back when
    /// nothing is left on the system.
    pub(super) async fn shut_down(&self, grace: Duration) {
        // In a fork there is nothing to end: all of it is another process's.
        let _ = self.background.serve(self.end_everything(grace)).await;
    }

    async fn end_everything(&self, grace: Duration) {
        let known = {
            let mut state = self.lock();
            state.is_shut_down = true;
            let ready = state.entries.values().filter_map(|entry| match entry {
                Entry::Ready(pool) => Some(Arc::clone(pool)),
                Entry::Preparing(_) => None,
            });
            let ending = state.ending.iter().filter_map(Weak::upgrade);
            ready.chain(ending).collect::<Vec<_>>()
        };
        self.stopping.cancel();
        known.iter().for_each(|pool| pool.stop(Ending::ShutDown));
        let finished = async {
            for pool in &known {
                pool.runs.close();
                pool.runs.wait().await;
            }
        };
        // Who calls again with less patience is not held up: what is killed below is in progress no
        // more.
        let _ = timeout(grace, finished).await;
        end_all(known.clone(), Ending::ShutDown).await;
        self.work.close();
        self.work.wait().await;
        for pool in &known {
            pool.wait_for_tasks().await;
        }
        // Only now: whoever calls this meanwhile has to know of them, too.
        let gone = std::mem::take(&mut self.lock().entries);
        drop((gone, known));
        self.engine.settle().await;
    }
}
