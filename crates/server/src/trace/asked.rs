//! Where one request stands in a trace, and what goes on from there.

use axum::http::HeaderMap;
use tracing::field::Empty;
use tracing::{Span, error_span};

use super::context::{TraceParent, read_state};
use super::export;

/// What guests find in their environment of the trace that they are in.
pub(crate) const VARIABLES: [&str; 2] = ["TRACEPARENT", "TRACESTATE"];

/// Where one request stands in a trace.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    /// The request itself.
    own: TraceParent,
    /// What its caller sent.
    sent: Option<Sent>,
}

/// The place in a trace from which a caller asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) parent: TraceParent,
    pub(super) state: Option<String>,
}

impl Sent {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let all = |name: &str| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let mut parents = headers.get_all("traceparent").iter();
        // Two of them are as good as none: nobody knows which is meant.
        let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
        let parent = TraceParent::parse(parent.to_str().ok()?)?;
        Some(Self { parent, state: read_state(all("tracestate")) })
    }
}

impl Trace {
    /// A trace of our own.
    pub(crate) fn begin() -> Self {
        Self { own: TraceParent::begin(), sent: None }
    }

    /// The trace that headers name, or a new one. The span is that of the request.
    pub(super) fn of_request(headers: &HeaderMap, span: &Span) -> Self {
        Self::of_sent(Sent::of(headers), span)
    }

    fn of_sent(sent: Option<Sent>, span: &Span) -> Self {
        let exported = export::put_below(span, sent.as_ref());
        let own = exported.unwrap_or_else(|| match &sent {
            Some(sent) => sent.parent.below(),
            None => TraceParent::begin(),
        });
        Self { own, sent }
    }

    /// The trace of a call of a tool, and its span. Over HTTP it is the request's. Over a pipe, a
    /// client may send it beside the arguments, where others have headers.
    pub(crate) fn of_call<'a>(
        tool: &'static str,
        request: Option<&Self>,
        field: impl Fn(&str) -> Option<&'a str>,
    ) -> (Self, Span) {
        let span = error_span!(parent: None, "server.call", trace_id = Empty, tool, otel.kind = "server");
        let trace = match request {
            Some(request) => {
                let own = export::put_below(&span, Some(&request.here())).unwrap_or(request.own);
                Self { own, sent: request.sent.clone() }
            }
            None => {
                let parent = field("traceparent").and_then(TraceParent::parse);
                let state = || read_state(field("tracestate").into_iter());
                Self::of_sent(parent.map(|parent| Sent { parent, state: state() }), &span)
            }
        };
        span.record("trace_id", trace.id());
        (trace, span)
    }

    /// This request, for what is below it.
    fn here(&self) -> Sent {
        Sent { parent: self.own, state: self.sent.as_ref().and_then(|sent| sent.state.clone()) }
    }

    /// Whether its caller sent it.
    pub(crate) fn is_sent(&self) -> bool {
        self.sent.is_some()
    }

    pub(crate) fn id(&self) -> String {
        self.own.trace_id()
    }

    /// What an answer says of it: `traceresponse`.
    pub(super) fn response(&self) -> String {
        self.own.to_string()
    }

    /// The span of a run or a program. The request is above it, but does not last as long: many
    /// answers come before the end of what they begin.
    pub(crate) fn span(&self, kind: Kind, id: &str, sandbox: &str) -> Span {
        // At the level of errors: whatever is logged, the trace's id is beside it.
        let span = match kind {
            Kind::Run => error_span!(parent: None, "server.run", trace_id = self.id(), run = id, sandbox),
            Kind::Program => {
                error_span!(parent: None, "server.program", trace_id = self.id(), program = id, sandbox)
            }
        };
        let _ = export::put_below(&span, Some(&self.here()));
        span
    }

    /// What a guest finds in its environment: nothing, unless the caller sent a trace.
    pub(crate) fn variables(&self, span: &Span) -> Vec<(&'static str, String)> {
        let Some(sent) = &self.sent else { return Vec::new() };
        // A span that nobody exports would be a gap in the caller's picture.
        let parent = export::ids(span).unwrap_or(sent.parent);
        let values = [Some(parent.to_string()), sent.state.clone()];
        VARIABLES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// What a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Run,
    Program,
}
