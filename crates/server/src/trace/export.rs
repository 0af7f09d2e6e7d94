//! The ids under which spans are exported. Without the feature `otlp`, or where nobody asked for an
//! exporter, there are none.

use tracing::Span;

use super::asked::Sent;
use super::context::TraceParent;

/// Puts a span that was just made below another, or at the beginning of a trace. Returns its ids.
#[cfg(feature = "otlp")]
pub(super) fn put_below(span: &Span, above: Option<&Sent>) -> Option<TraceParent> {
    use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    let context = match above {
        None => opentelemetry::Context::new(),
        Some(Sent { parent, state }) => {
            let state = state.as_deref().and_then(|state| state.parse::<TraceState>().ok());
            let context = SpanContext::new(
                TraceId::from(parent.trace),
                SpanId::from(parent.span),
                TraceFlags::new(parent.flags),
                true,
                state.unwrap_or_default(),
            );
            opentelemetry::Context::new().with_remote_span_context(context)
        }
    };
    // It fails only where nobody exports.
    span.set_parent(context).ok()?;
    ids(span)
}

/// The ids of a span, if it has any.
#[cfg(feature = "otlp")]
pub(super) fn ids(span: &Span) -> Option<TraceParent> {
    use opentelemetry::trace::TraceContextExt as _;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    let context = span.context();
    let context = context.span().span_context().clone();
    context.is_valid().then(|| TraceParent {
        trace: u128::from_be_bytes(context.trace_id().to_bytes()),
        span: u64::from_be_bytes(context.span_id().to_bytes()),
        flags: context.trace_flags().to_u8(),
    })
}

#[cfg(not(feature = "otlp"))]
pub(super) fn put_below(_: &Span, _: Option<&Sent>) -> Option<TraceParent> {
    None
}

#[cfg(not(feature = "otlp"))]
pub(super) fn ids(_: &Span) -> Option<TraceParent> {
    None
}
