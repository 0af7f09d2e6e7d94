//! `/v1/runs`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::{Extension, Path, Query, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use belljar::files::Collected;
use belljar::{ExecutionRequest, ExecutionResult};
use serde::Deserialize;
use serde_json::{Value, json};

use super::follow::Follower;
use super::stream::events;
use super::{Form, Home, Source, Wanted, answer, begin, invalid, within};
use crate::body::Object;
use crate::guard::Client;
use crate::history::{RunFilter, RunSummary};
use crate::problem::{Code, Problem};
use crate::state::App;
use crate::tokens::Scope;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/runs", post(create).get(list))
        .route("/v1/runs/{id}", get(show))
        .route("/v1/runs/{id}/events", get(follow))
        .route("/v1/runs/{id}/cancel", post(cancel))
        .route("/v1/runs/{id}/files/{*path}", get(file))
}

async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    Object(fields): Object,
) -> Result<Response, Problem> {
    client.needs(Scope::Run)?;
    let form = Form::of(&headers)?;
    let Wanted { mut request, place } = Wanted::read(fields)?;
    let chosen = app.choose(place, &client)?;
    within(client.limits.max_timeout_sec, &mut request, chosen.usual_timeout())?;
    let home = Home { sandbox: chosen.name.clone(), session: None, grace: grace(form, &app) };
    let own = app.clone();
    let start =
        async move |request: ExecutionRequest| Ok(Source::Script(own.sandbox(chosen).await?.stream(request)));
    let run = begin(&app, &client, request, home, start)?;
    answer(&app, run, form).await
}

/// How long a run goes on when its client has gone.
pub(crate) fn grace(form: Form, app: &App) -> Option<Duration> {
    match form {
        Form::Result => Some(Duration::ZERO),
        Form::Sse | Form::Ndjson => Some(app.limits.reconnect),
        Form::Later => None,
    }
}

#[derive(Deserialize)]
struct Listing {
    verdict: Option<String>,
    sandbox: Option<String>,
    session: Option<String>,
    since: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Query(asked): Query<Listing>,
) -> Result<Response, Problem> {
    const MOST: usize = 1000;
    let limit = asked.limit.unwrap_or(50);
    if !(1..=MOST).contains(&limit) {
        return Err(invalid(format!("must be from 1 to {MOST}")).at("limit"));
    }
    let since_ms = asked.since.as_deref().map(moment).transpose()?;
    let filter = RunFilter {
        owner: (client.scope == Scope::Run).then_some(client.id),
        verdict: asked.verdict,
        sandbox: asked.sandbox,
        session: asked.session,
        since_ms,
        before: asked.before,
        limit,
    };
    let runs = app.history.list(filter).await?;
    let next = (runs.len() == limit).then(|| runs.last().map(|run| run.id.clone())).flatten();
    let runs: Vec<_> = runs.iter().map(told).collect();
    Ok(Json(json!({"runs": runs, "next": next})).into_response())
}

/// A time as clients write it: RFC 3339, or seconds since 1970.
fn moment(text: &str) -> Result<i64, Problem> {
    let wrong = || invalid("must be a time such as 2026-01-31T12:00:00Z, or seconds since 1970").at("since");
    if let Ok(seconds) = text.parse::<f64>() {
        return if seconds.is_finite() { Ok((seconds * 1000.0) as i64) } else { Err(wrong()) };
    }
    let time = humantime::parse_rfc3339_weak(text).map_err(|_| wrong())?;
    let since = time.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| wrong())?;
    i64::try_from(since.as_millis()).map_err(|_| wrong())
}

/// A run as it is listed.
fn told(run: &RunSummary) -> Value {
    let time = |ms: i64| {
        let since = Duration::from_millis(u64::try_from(ms).unwrap_or_default());
        humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since).to_string()
    };
    json!({
        "id": run.id,
        "status": if run.ended_ms.is_some() { "ended" } else { "running" },
        "verdict": run.verdict,
        "error": run.error,
        "sandbox": run.sandbox,
        "session": run.session,
        "owner": run.owner,
        "started_at": time(run.started_ms),
        "ended_at": run.ended_ms.map(time),
        "usage": {
            "wall_ms": run.wall_ms,
            "cpu_ms": run.cpu_ms,
            "peak_memory_bytes": run.peak_memory_bytes,
        },
        "events": run.events,
    })
}

/// A run of the history that this client may see.
async fn seen(app: &App, client: &Client, id: &str) -> Result<(RunSummary, String), Problem> {
    let missing = || Problem::no_such("run", id);
    if let Some(run) = app.runs.find(id) {
        if !client.may_see(&run.owner) {
            return Err(missing());
        }
        // What was begun a moment ago may not be written yet.
        app.writer.flush().await;
    }
    let (run, script) = app.history.find(id).await?.ok_or_else(missing)?;
    if client.may_see(&run.owner) { Ok((run, script)) } else { Err(missing()) }
}

async fn show(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let (run, script) = seen(&app, &client, &id).await?;
    let mut told = told(&run);
    told["script"] = script.into();
    told["result"] = match run.ended_ms {
        Some(_) => serde_json::to_value(result(&app, &id).await?).unwrap_or_default(),
        None => Value::Null,
    };
    Ok(Json(told).into_response())
}

async fn result(app: &App, id: &str) -> Result<ExecutionResult, Problem> {
    let last = app.history.last_event(id).await?.ok_or_else(|| Problem::no_such("result of", id))?;
    serde_json::from_str(&last).map_err(|error| {
        tracing::error!(%error, id, "an event in the history cannot be read");
        Problem::new(Code::Internal, "the result in the history cannot be read")
    })
}

#[derive(Deserialize)]
struct From {
    from: Option<u64>,
}

async fn follow(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    Query(From { from }): Query<From>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let form = Form::of_stream(&headers)?;
    let from = match (from, headers.get("last-event-id")) {
        (Some(from), _) => from,
        (None, Some(last)) => {
            let last: Option<u64> = last.to_str().ok().and_then(|last| last.trim().parse().ok());
            let wrong = || invalid("must be the number of an event").at("last-event-id");
            last.and_then(|last| last.checked_add(1)).ok_or_else(wrong)?
        }
        (None, None) => 0,
    };
    if let Some(run) = app.runs.find(&id).filter(|run| client.may_see(&run.owner)) {
        return Ok(events(Follower::live(&run, from, app.history.clone()), form));
    }
    seen(&app, &client, &id).await?;
    Ok(events(Follower::past(&id, from, app.history.clone()), form))
}

async fn cancel(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    client.needs(Scope::Run)?;
    match app.runs.find(&id).filter(|run| client.may_change(&run.owner)) {
        Some(run) => run.cancel(),
        // One that is over stays as it is.
        None => drop(seen(&app, &client, &id).await?),
    }
    Ok(Json(json!({"id": id})).into_response())
}

async fn file(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path((id, path)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (run, _) = seen(&app, &client, &id).await?;
    if run.ended_ms.is_none() {
        return Err(Problem::new(Code::Conflict, "files are there when the run has ended"));
    }
    let result = result(&app, &id).await?;
    let found = result.files.into_iter().find(|file| file.name == path).map(|file| file.content);
    match found {
        Some(Collected::Bytes(bytes)) => Ok(download(bytes)),
        _ => Err(Problem::no_such("file", &path)),
    }
}

/// Bytes that a guest made. A browser saves them, and shows nothing of them.
pub(crate) fn download(bytes: bytes::Bytes) -> Response {
    let headers = [(CONTENT_TYPE, "application/octet-stream"), (CONTENT_DISPOSITION, "attachment")];
    (headers, bytes).into_response()
}
