//! What there is, and how it goes: sandboxes, health, figures.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use belljar::engine::ProtectionState;
use belljar::metrics::{
    OUTCOME, SERVER_ANSWERS, SERVER_COMPILATIONS, SERVER_MCP_CALLS, SERVER_QUEUE_SECONDS, SERVER_RUNNING,
    SERVER_SESSIONS, SERVER_WAITING, STATUS, TOOL,
};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use serde_json::json;

use crate::admission::{Fullness, draining};
use crate::guard::Client;
use crate::mcp::ToolName;
use crate::problem::{Code, Problem};
use crate::state::App;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/sandboxes", get(sandboxes))
        .route("/v1/status", get(status))
        .route("/healthz", get(async || Json(json!({"status": "ok"}))))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
}

/// What a client may know of a sandbox: nothing of the owner's files, variables and secrets.
async fn sandboxes(State(app): State<Arc<App>>) -> Response {
    let told: Vec<_> = app
        .sandboxes
        .all()
        .map(|(name, offered)| {
            let config = &offered.equipped.config;
            let cells = offered.ready().map(|sandbox| sandbox.stats());
            json!({
                "name": name,
                "dependencies": config.dependencies,
                "mode": config.execution_mode,
                "limits": config.resource_limits,
                "allowed_hosts": config.network_policy.allowed_hosts,
                "tools": offered.ready().map(|sandbox| sandbox.report().tools.clone()),
                "python": offered.ready().map(|sandbox| sandbox.report().python.clone()),
                "cells": cells.map(|it| json!({"idle": it.idle, "in_use": it.leased, "capacity": it.capacity})),
            })
        })
        .collect();
    Json(json!({"sandboxes": told})).into_response()
}

/// How busy the server is.
async fn status(State(app): State<Arc<App>>, Extension(_): Extension<Client>) -> Response {
    let Fullness { running, waiting } = app.admission.fullness();
    let protections: Vec<_> = app
        .runtime
        .capabilities()
        .protections
        .iter()
        .map(|it| json!({"name": it.name, "is_active": matches!(it.state, ProtectionState::Active { .. })}))
        .collect();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "engine": app.runtime.engine_name(),
        "is_draining": app.is_draining(),
        "runs": {"running": running, "waiting": waiting, "most": app.limits.concurrency},
        "sessions": {"open": app.sessions.count(), "most": app.limits.sessions},
        "programs": {"running": app.programs.count(), "most": app.limits.programs},
        "protections": protections,
    }))
    .into_response()
}

async fn ready(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    if app.is_draining() { Err(draining()) } else { Ok(Json(json!({"status": "ready"})).into_response()) }
}

async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let Some(handle) = &app.metrics else {
        return Err(Problem::new(Code::NotFound, "this server keeps no figures"));
    };
    let Fullness { running, waiting } = app.admission.fullness();
    let sessions = app.sessions.count();
    for (metric, value) in [(SERVER_RUNNING, running), (SERVER_WAITING, waiting), (SERVER_SESSIONS, sessions)]
    {
        ::metrics::gauge!(metric.name).set(value as f64);
    }
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], handle.render()).into_response())
}

/// Counts an answer.
pub(crate) async fn count(response: Response) -> Response {
    let status = response.status().as_str().to_owned();
    ::metrics::counter!(SERVER_ANSWERS.name, STATUS => status).increment(1);
    response
}

/// Has the figures of this process kept, for `/metrics`. Once in a process.
pub fn keep_metrics() -> Result<PrometheusHandle, BuildError> {
    /// From a warm run to the longest that is usual.
    const SECONDS: [f64; 14] =
        [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0];
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .install_recorder()?;
    // What has not happened yet is 0, and not missing.
    drop((::metrics::histogram!(SERVER_QUEUE_SECONDS.name), ::metrics::counter!(SERVER_COMPILATIONS.name)));
    for (tool, outcome) in ToolName::ALL.into_iter().flat_map(|tool| [(tool, "ok"), (tool, "refused")]) {
        drop(::metrics::counter!(SERVER_MCP_CALLS.name, TOOL => tool.name(), OUTCOME => outcome));
    }
    Ok(handle)
}
