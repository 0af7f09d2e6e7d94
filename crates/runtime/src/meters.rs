//! What is counted of runs, for whoever watches, and the span that each run is in.

use belljar_core::metrics as names;
use belljar_core::{
    Decision, ExecutionId, ExecutionRequest, ExecutionResult, NetworkVerdict, ToolCallRecord, Verdict,
};
use belljar_engine::metering::{counter, histogram};
use belljar_engine::pool::TemplateHold;
use metrics::{Counter, Histogram};
use tracing::field::{self, Empty, display};
use tracing::{Span, debug_span};

use crate::executor::id_of;

/// The metrics of the runs on one engine.
#[derive(Debug)]
pub(crate) struct RunMeters {
    /// In the order of [`Verdict::NAMES`].
    ended: [Counter; Verdict::NAMES.len()],
    abandoned: Counter,
    seconds: Histogram,
    output_bytes: Counter,
    network: NetworkMeters,
    pub(crate) tools: ToolMeters,
}

/// The metrics of calls of host tools.
#[derive(Debug)]
pub(crate) struct ToolMeters {
    ok: Counter,
    failed: Counter,
    seconds: Histogram,
}

impl ToolMeters {
    fn new(engine: &str) -> Self {
        let calls = |outcome| counter(&names::TOOL_CALLS, &[engine, outcome]);
        let seconds = histogram(&names::TOOL_CALL_SECONDS, &[engine]);
        Self { ok: calls("ok"), failed: calls("failed"), seconds }
    }

    pub(crate) fn count(&self, call: &ToolCallRecord) {
        let counted = if call.success { &self.ok } else { &self.failed };
        counted.increment(1);
        self.seconds.record(call.duration_ms / 1e3);
    }
}

#[derive(Debug)]
struct NetworkMeters {
    allowed: Counter,
    denied: Counter,
    failed: Counter,
}

impl RunMeters {
    pub(crate) fn new(engine: &str) -> Self {
        let runs = |verdict| counter(&names::RUNS, &[engine, verdict]);
        let network = |verdict| counter(&names::NETWORK_DECISIONS, &[engine, verdict]);
        Self {
            ended: Verdict::NAMES.map(runs),
            abandoned: runs(names::ABANDONED),
            seconds: histogram(&names::RUN_SECONDS, &[engine]),
            output_bytes: counter(&names::RUN_OUTPUT_BYTES, &[engine]),
            network: NetworkMeters {
                allowed: network("allowed"),
                denied: network("denied"),
                failed: network("failed"),
            },
            tools: ToolMeters::new(engine),
        }
    }

    /// A run begins. It counts as abandoned, unless it is told how it ended.
    pub(crate) fn begin(&self) -> Running<'_> {
        Running { meters: self, has_ended: false }
    }

    fn count(&self, result: &ExecutionResult) {
        let name = result.verdict.name();
        if let Some(index) = Verdict::NAMES.iter().position(|known| *known == name) {
            self.ended[index].increment(1);
        }
        self.seconds.record(result.usage.wall_ms / 1e3);
        self.output_bytes.increment(result.output_bytes);
        for Decision { verdict, count, .. } in &result.network {
            let meter = match verdict {
                NetworkVerdict::Allowed => &self.network.allowed,
                NetworkVerdict::Denied { .. } => &self.network.denied,
                _ => &self.network.failed,
            };
            meter.increment(*count);
        }
    }
}

/// A run under way.
pub(crate) struct Running<'a> {
    meters: &'a RunMeters,
    has_ended: bool,
}

impl Running<'_> {
    pub(crate) fn ended(mut self, result: &ExecutionResult) {
        self.has_ended = true;
        self.meters.count(result);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.meters.abandoned.increment(1);
            tracing::debug!("the run is abandoned");
        }
    }
}

/// By what a run is known.
pub(crate) struct Identity {
    pub(crate) id: ExecutionId,
    /// From the wait for its cell to its last event.
    pub(crate) span: Span,
}

impl Identity {
    /// Of a request to a template, or to a cell that came from no pool.
    pub(crate) fn of(request: &ExecutionRequest, hold: Option<&TemplateHold>) -> Self {
        let id = id_of(request);
        let span = run_span(&id, hold);
        Self { id, span }
    }
}

fn run_span(id: &ExecutionId, hold: Option<&TemplateHold>) -> Span {
    let template = hold.map(|hold| field::debug(hold.key()));
    debug_span!(
        "exec.run",
        execution = %id,
        sandbox = hold.map(TemplateHold::name),
        template,
        cell = Empty,
        place = Empty,
        verdict = Empty,
        request_bytes = Empty,
        output_bytes = Empty,
        ms = Empty
    )
}

/// Notes in a run's span where it runs.
pub(crate) fn note_cell(span: &Span, cell: &dyn belljar_engine::Cell) {
    span.record("cell", display(cell.id())).record("place", cell.place());
}

/// Notes in a run's span how it ended.
pub(crate) fn note_result(span: &Span, result: &ExecutionResult) {
    span.record("verdict", result.verdict.name())
        .record("output_bytes", result.output_bytes)
        .record("ms", result.usage.wall_ms);
    tracing::debug!(parent: span, "the run ended");
}
