//! What a template's pool counts for whoever watches.

use std::time::Duration;

use belljar_core::metrics as names;
use metrics::{Counter, Gauge, Histogram};
use tracing::Span;

use super::slots::Slots;
use crate::EngineError;
use crate::metering::{counter, gauge, histogram};

/// The metrics of one template's cells. Templates of one name share them.
pub(super) struct Meters {
    pub(super) made: Counter,
    pub(super) failed: Counter,
    pub(super) spawn_seconds: Histogram,
    pub(super) reset: Counter,
    pub(super) retired: Retired,
    pub(super) revived: Counter,
    pub(super) checkouts: Checkouts,
    pub(super) wait_seconds: Histogram,
}

/// Cells that were destroyed, by the reason.
pub(super) struct Retired {
    /// Its last use is over, or the session that had it.
    pub(super) used: Counter,
    /// It could have been used again, but what ran in it did not end in good order.
    pub(super) cut_short: Counter,
    /// It ended in good order, and then its reset failed.
    pub(super) in_doubt: Counter,
    /// It was found dead while it waited for a caller.
    pub(super) died_idle: Counter,
    /// Nobody needs it any more.
    pub(super) surplus: Counter,
}

/// Checkouts, by their outcome.
pub(super) struct Checkouts {
    pub(super) warm: Counter,
    pub(super) waited: Counter,
    pub(super) timed_out: Counter,
    pub(super) gave_up: Counter,
    pub(super) refused: Counter,
}

impl Meters {
    pub(super) fn new(engine: &str, sandbox: &str) -> Self {
        let of = [engine, sandbox];
        let retired = |reason| counter(&names::CELLS_RETIRED, &[engine, sandbox, reason]);
        let checkouts = |outcome| counter(&names::CHECKOUTS, &[engine, sandbox, outcome]);
        Self {
            made: counter(&names::CELLS_MADE, &of),
            failed: counter(&names::CELLS_FAILED, &of),
            spawn_seconds: histogram(&names::CELL_SPAWN_SECONDS, &of),
            reset: counter(&names::CELLS_RESET, &of),
            retired: Retired {
                used: retired("used"),
                cut_short: retired("cut_short"),
                in_doubt: retired("in_doubt"),
                died_idle: retired("died_idle"),
                surplus: retired("surplus"),
            },
            revived: counter(&names::TEMPLATES_REVIVED, &of),
            checkouts: Checkouts {
                warm: checkouts("warm"),
                waited: checkouts("waited"),
                timed_out: checkouts("timed_out"),
                gave_up: checkouts("gave_up"),
                refused: checkouts("refused"),
            },
            wait_seconds: histogram(&names::CHECKOUT_SECONDS, &of),
        }
    }
}

/// What the gauges of a template show. Templates of one name add up, so each only adds its own
/// changes, and takes its share away when it ends.
pub(super) struct Levels {
    idle: Gauge,
    leased: Gauge,
    shown: [usize; 2],
}

impl Levels {
    pub(super) fn new(engine: &str, sandbox: &str) -> Self {
        let of = [engine, sandbox];
        Self { idle: gauge(&names::CELLS_IDLE, &of), leased: gauge(&names::CELLS_LEASED, &of), shown: [0; 2] }
    }

    pub(super) fn show(&mut self, slots: &Slots) {
        self.set([slots.idle(), slots.leased()]);
    }

    fn set(&mut self, now: [usize; 2]) {
        if now == self.shown {
            return;
        }
        for ((gauge, now), before) in [&self.idle, &self.leased].into_iter().zip(now).zip(self.shown) {
            gauge.increment(now as f64 - before as f64);
        }
        self.shown = now;
    }
}

impl Drop for Levels {
    fn drop(&mut self) {
        self.set([0; 2]);
    }
}

/// Counts a template as live for as long as it exists.
pub(super) struct Live(Gauge);

impl Live {
    pub(super) fn new(engine: &str) -> Self {
        let live = gauge(&names::TEMPLATES, &[engine]);
        live.increment(1.0);
        Self(live)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// Notes how long a preparation took, and whether it succeeded.
pub(super) fn prepared<T>(span: &Span, engine: &str, outcome: &Result<T, EngineError>, took: Duration) {
    let verdict = if outcome.is_ok() { "ok" } else { "failed" };
    histogram(&names::PREPARE_SECONDS, &[engine, verdict]).record(took);
    span.record("verdict", verdict).record("ms", took.as_secs_f64() * 1e3);
    match outcome {
        Ok(_) => tracing::debug!(parent: span, "a template is prepared"),
        Err(error) => tracing::debug!(parent: span, %error, "a template could not be prepared"),
    }
}
