//! What there is, and how it goes: sandboxes, health, figures.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use belljar::config::ExecutionMode;
use belljar::engine::ProtectionState;
use belljar::metrics::{
    OUTCOME, SERVER_ANSWERS, SERVER_COMPILATIONS, SERVER_MCP_CALLS, SERVER_QUEUE_SECONDS, SERVER_RUNNING,
    SERVER_SESSIONS, SERVER_WAITING, STATUS, TOOL,
};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::admission::{Fullness, draining};
use crate::mcp::ToolName;
use crate::openapi::request::Mode;
use crate::problem::{Code, Problem};
use crate::state::App;

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(sandboxes))
        .routes(routes!(status))
        .routes(routes!(alive))
        .routes(routes!(ready))
        .routes(routes!(metrics))
}

/// The sandboxes of a server.
#[derive(Serialize, ToSchema)]
struct SandboxList {
    sandboxes: Vec<ListedSandbox>,
}

/// What a client may know of a sandbox: nothing of the owner's files, variables and secrets.
#[derive(Serialize, ToSchema)]
struct ListedSandbox {
    name: String,
    /// Packages that scripts can import.
    dependencies: Vec<String>,
    #[schema(value_type = Mode)]
    mode: ExecutionMode,
    /// What a run may use, as a sandbox file has it.
    #[schema(value_type = Object)]
    limits: Value,
    /// Hosts that scripts may reach.
    allowed_hosts: Vec<String>,
    /// Names of tools, once it is ready.
    tools: Option<Vec<String>>,
    /// The version of Python, once it is ready.
    python: Option<String>,
    /// Its cells, once it is ready.
    cells: Option<Cells>,
}

/// The cells of a sandbox.
#[derive(Serialize, ToSchema)]
struct Cells {
    idle: usize,
    in_use: usize,
    capacity: usize,
}

/// Lists the sandboxes that runs may name.
#[utoipa::path(
    get, path = "/v1/sandboxes", tag = "server", operation_id = "list_sandboxes",
    responses((status = OK, body = SandboxList, description = "the sandboxes")),
)]
async fn sandboxes(State(app): State<Arc<App>>) -> Response {
    let sandboxes = app
        .sandboxes
        .all()
        .map(|(name, offered)| {
            let config = &offered.equipped.config;
            let cells = offered.ready().map(|sandbox| sandbox.stats());
            ListedSandbox {
                name: name.to_owned(),
                dependencies: config.dependencies.iter().map(ToString::to_string).collect(),
                mode: config.execution_mode,
                limits: serde_json::to_value(&config.resource_limits).unwrap_or_default(),
                allowed_hosts: config.network_policy.allowed_hosts.iter().map(ToString::to_string).collect(),
                tools: offered.ready().map(|sandbox| sandbox.report().tools.clone()),
                python: offered.ready().map(|sandbox| sandbox.report().python.clone()),
                cells: cells.map(|it| Cells { idle: it.idle, in_use: it.leased, capacity: it.capacity }),
            }
        })
        .collect();
    Json(SandboxList { sandboxes }).into_response()
}

/// How busy a server is, and how it protects itself.
#[derive(Serialize, ToSchema)]
struct Status {
    version: &'static str,
    engine: String,
    /// Whether it is about to end.
    is_draining: bool,
    runs: RunCounts,
    sessions: SessionCounts,
    programs: ProgramCounts,
    protections: Vec<Protection>,
}

#[derive(Serialize, ToSchema)]
struct RunCounts {
    running: usize,
    waiting: usize,
    /// Runs at the same time.
    most: usize,
}

#[derive(Serialize, ToSchema)]
struct SessionCounts {
    open: usize,
    most: usize,
}

#[derive(Serialize, ToSchema)]
struct ProgramCounts {
    running: usize,
    most: usize,
}

/// One of the protections of `belljar doctor`.
#[derive(Serialize, ToSchema)]
struct Protection {
    name: &'static str,
    is_active: bool,
}

/// Says how busy the server is.
#[utoipa::path(
    get, path = "/v1/status", tag = "server", operation_id = "show_status",
    responses((status = OK, body = Status, description = "the server")),
)]
async fn status(State(app): State<Arc<App>>) -> Response {
    let Fullness { running, waiting } = app.admission.fullness();
    let protections = app
        .runtime
        .capabilities()
        .protections
        .iter()
        .map(|it| Protection { name: it.name, is_active: matches!(it.state, ProtectionState::Active { .. }) })
        .collect();
    Json(Status {
        version: env!("CARGO_PKG_VERSION"),
        engine: app.runtime.engine_name().to_owned(),
        is_draining: app.is_draining(),
        runs: RunCounts { running, waiting, most: app.limits.concurrency },
        sessions: SessionCounts { open: app.sessions.count(), most: app.limits.sessions },
        programs: ProgramCounts { running: app.programs.count(), most: app.limits.programs },
        protections,
    })
    .into_response()
}

/// Whether it is there, in a word.
#[derive(Serialize, ToSchema)]
struct Health {
    status: &'static str,
}

/// Says that the process answers.
#[utoipa::path(
    get, path = "/healthz", tag = "server", operation_id = "is_alive",
    responses((status = OK, body = Health, description = "it does")),
)]
async fn alive() -> Response {
    Json(Health { status: "ok" }).into_response()
}

/// Says that the server takes requests. One that is about to end does not.
#[utoipa::path(
    get, path = "/readyz", tag = "server", operation_id = "is_ready",
    responses((status = OK, body = Health, description = "it does")),
)]
async fn ready(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    if app.is_draining() {
        return Err(draining());
    }
    if !app.writer.is_well().await {
        return Err(Problem::new(Code::History, "what runs cannot be written down: see the server's log"));
    }
    Ok(Json(Health { status: "ready" }).into_response())
}

/// Figures for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "server", operation_id = "show_metrics",
    responses((status = OK, body = String, content_type = "text/plain", description = "in its text format")),
)]
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
