//! Making cells, and replacing a zygote that died.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::field::{Empty, display};
use tracing::{Instrument, Span, debug_span};

use super::meters::prepared;
use super::preparation::prepare_span;
use super::slots::Slots;
use super::template_pool::{State, TemplatePool};
use crate::EngineError;
use crate::cell::Cell;
use crate::engine::{Fitting, Need, Template};

/// After a failed attempt to make a cell, how long until the next one that no caller asked for.
const BACK_OFF: Duration = Duration::from_millis(100);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(30);

impl TemplatePool {
    /// Begins to make a cell.
    pub(super) fn make(&self, state: &State) {
        let Some(me) = self.me.upgrade() else { return };
        let template = state.template.clone();
        let need = if state.slots.waiting() > 0 { Need::Now } else { Need::Later };
        // Without a parent: a cell outlives whatever run happened to be under way.
        let span = debug_span!(
            parent: None,
            "cell.spawn",
            sandbox = %self.name,
            template = ?self.key,
            ?need,
            cell = Empty,
            place = Empty,
            ms = Empty
        );
        self.spawn(async move {
            let began = Instant::now();
            let made = me.make_one(template, need).instrument(span.clone()).await;
            let took = began.elapsed();
            span.record("ms", took.as_secs_f64() * 1e3);
            match made {
                Ok(cell) => {
                    me.meters.spawn_seconds.record(took);
                    span.in_scope(|| me.made(cell));
                }
                Err(error) => me.making_failed(error, &span).await,
            }
        });
    }

    /// One cell: from the template or, when its zygote is gone, from the one that takes its place.
    /// Whoever waits need not know.
    async fn make_one(
        &self,
        template: Option<Arc<dyn Template>>,
        need: Need,
    ) -> Result<Box<dyn Cell>, EngineError> {
        let closed = || EngineError::TemplateGone { name: self.name.clone(), last_words: String::new() };
        let template = template.ok_or_else(closed)?;
        match template.spawn(need).await {
            Err(gone @ EngineError::TemplateGone { .. }) => {
                self.revive(&template, &gone).await?.ok_or_else(closed)?.spawn(need).await
            }
            made => made,
        }
    }

    /// One cell to measure, in the same way. It is no part of the stock.
    pub(super) async fn make_fitted(&self, fitting: &Fitting) -> Result<Box<dyn Cell>, EngineError> {
        let closed = || EngineError::TemplateGone { name: self.name.clone(), last_words: String::new() };
        if let (Some(workspace), None) = (&fitting.workspace, &self.blueprint.workspaces) {
            let reason = format!("it has no workspaces, and so no {workspace}: prepare it with a store");
            return Err(EngineError::Spawn { name: self.name.clone(), reason });
        }
        let template = self.lock().template.clone().ok_or_else(closed)?;
        match template.spawn_fitted(fitting).await {
            Err(gone @ EngineError::TemplateGone { .. }) => {
                self.revive(&template, &gone).await?.ok_or_else(closed)?.spawn_fitted(fitting).await
            }
            made => made,
        }
    }

    fn made(&self, cell: Box<dyn Cell>) {
        Span::current().record("cell", display(cell.id())).record("place", cell.place());
        tracing::debug!("a cell is made");
        self.meters.made.increment(1);
        let mut state = self.lock();
        state.counted.made += 1;
        state.failures_in_a_row = 0;
        state.last_failure = None;
        if state.stock.is_none() {
            let stock = self.affordable_stock(cell.as_ref());
            state.stock = Some(stock);
            let more = state.slots.learn_stock(stock);
            self.obey(&mut state, more, None);
        }
        let actions = state.slots.made(cell.id());
        self.obey(&mut state, actions, Some(cell));
        drop(state);
        self.changed.notify_waiters();
    }

    /// As many as the config asks for, or as fit under the ceiling on memory.
    fn affordable_stock(&self, cell: &dyn Cell) -> usize {
        // Where nothing counts it: what an idle cell was measured to hold, rounded up.
        const ASSUMED: u64 = 4 << 20;
        let each = cell.usage().peak_memory_bytes.unwrap_or(ASSUMED).max(1);
        let (asked, most) = (self.blueprint.config.pool_size, self.options.max_idle_memory / each);
        let stock = asked.min(usize::try_from(most).unwrap_or(usize::MAX));
        if stock < asked {
            tracing::warn!(sandbox = %self.name, asked, stock, each, "the stock is kept small: idle cells would hold too much memory");
        }
        stock
    }

    /// Tells one caller, and tries again to fill the stock after a while.
    async fn making_failed(&self, error: EngineError, span: &Span) {
        self.meters.failed.increment(1);
        let pause = {
            let mut state = self.lock();
            if self.refusal().is_none() {
                let sandbox = &self.name;
                tracing::warn!(parent: span, %sandbox, %error, "a cell could not be made");
            }
            state.counted.failed += 1;
            state.failures_in_a_row += 1;
            state.last_failure = Some(Arc::new(error));
            BACK_OFF.saturating_mul(1 << state.failures_in_a_row.min(10)).min(LONGEST_BACK_OFF)
        };
        self.change(Slots::making_failed);
        self.changed.notify_waiters();
        tokio::select! {
            () = tokio::time::sleep(pause) => self.change(Slots::resume_stock),
            // A closed pool has no stock to fill, and its end is waited for.
            () = self.ended.cancelled() => {}
        }
    }

    /// The template in the place of one whose zygote is gone: made now, or by somebody who found
    /// out before. `None` when the pool is closed.
    async fn revive(
        &self,
        dead: &Arc<dyn Template>,
        why: &EngineError,
    ) -> Result<Option<Arc<dyn Template>>, EngineError> {
        let _one_at_a_time = self.reviving.lock().await;
        let present = self.lock().template.clone();
        if !present.as_ref().is_some_and(|present| Arc::ptr_eq(present, dead)) {
            return Ok(present);
        }
        tracing::warn!(sandbox = %self.name, %why, "a zygote is replaced");
        let mut nobody_listens = |_| {};
        let span = prepare_span(&self.name, &self.key, self.engine.name());
        let began = Instant::now();
        let prepare = self.engine.prepare(&self.blueprint, &mut nobody_listens).instrument(span.clone());
        let template = tokio::select! {
            template = prepare => template,
            () = self.ended.cancelled() => return Ok(None),
        };
        prepared(&span, self.engine.name(), &template, began.elapsed());
        let template = template?;
        let mut state = self.lock();
        if state.template.is_none() {
            drop(state);
            template.close();
            return Ok(None);
        }
        state.template = Some(Arc::clone(&template));
        state.replaced.retain(|replaced| replaced.strong_count() > 0);
        state.replaced.push(Arc::downgrade(dead));
        state.counted.revived += 1;
        self.meters.revived.increment(1);
        state.counted.last_revival = Some(why.to_string());
        Ok(Some(template))
    }
}
