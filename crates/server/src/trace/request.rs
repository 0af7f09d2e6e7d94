//! Around every request: its span, the header of its answer, its line in the log.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use belljar::metrics::{ROUTE, SERVER_ANSWER_SECONDS};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, error_span};

use super::asked::Trace;

/// Says in an answer which trace the request was in, as the W3C proposes it.
const RESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// The route of a request that has none.
const NO_ROUTE: &str = "none";

/// A request that is followed. The guard finds it, and says who asks.
#[derive(Clone)]
pub(crate) struct Followed {
    trace: Trace,
    token: Arc<OnceLock<String>>,
}

impl Followed {
    /// Notes the id of the token. Returns the trace of the request.
    pub(crate) fn by(&self, token: &str) -> Trace {
        let _ = self.token.set(token.to_owned());
        self.trace.clone()
    }
}

/// Follows a request to its answer.
pub(crate) async fn follow(mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or(NO_ROUTE, MatchedPath::as_str).to_owned();
    let span = span(request.method(), &route);
    let trace = Trace::of_request(request.headers(), &span);
    span.record("trace_id", trace.id());
    let token = Arc::default();
    let mut line = Line {
        began: Instant::now(),
        method: request.method().clone(),
        path: request.uri().path().to_owned(),
        trace_id: trace.id(),
        token: Arc::clone(&token),
        status: None,
    };
    let response_header = HeaderValue::from_str(&trace.response());
    request.extensions_mut().insert(Followed { trace, token });
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    metrics::histogram!(SERVER_ANSWER_SECONDS.name, ROUTE => route).record(line.began.elapsed());
    line.status = Some(status);
    if let Ok(value) = response_header {
        response.headers_mut().insert(RESPONSE, value);
    }
    response
}

/// The path is not in it, only its pattern: a path may have names of files in it.
fn span(method: &Method, route: &str) -> Span {
    // Those who only look whether the server is well ask often, and belong to no trace.
    if matches!(route, "/healthz" | "/readyz" | "/metrics") {
        return Span::none();
    }
    // At the level of errors: whatever is logged, the trace's id is beside it.
    error_span!(
        parent: None,
        "server.request",
        trace_id = Empty,
        http.request.method = %method,
        http.route = route,
        http.response.status_code = Empty,
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
    )
}

/// The line in the log. It is written when this is dropped, also if the client goes before it has
/// an answer.
struct Line {
    began: Instant,
    method: Method,
    path: String,
    trace_id: String,
    token: Arc<OnceLock<String>>,
    status: Option<StatusCode>,
}

impl Drop for Line {
    fn drop(&mut self) {
        let Self { began, method, path, trace_id, token, status } = self;
        let ms = began.elapsed().as_micros() as f64 / 1e3;
        let token = token.get().map(String::as_str);
        match status.map(|status| status.as_u16()) {
            Some(status) => {
                tracing::info!(parent: None, %method, path, status, ms, token, trace_id, "answered");
            }
            None => tracing::info!(parent: None, %method, path, ms, token, trace_id, "the client has gone"),
        }
    }
}
