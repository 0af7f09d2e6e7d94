//! `/v1/runs`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use belljar::files::Collected;
use belljar::{ExecutionRequest, ExecutionResult};
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answers::{AcceptedRun, CancelledRun, ListedRun, RunList, ShownRun};
use super::follow::Follower;
use super::stream::events;
use super::{Form, Home, Manner, Source, Wanted, answer, begin, invalid, within};
use crate::body::{self, Object};
use crate::guard::Client;
use crate::history::{RunFilter, RunSummary};
use crate::openapi::event::Event;
use crate::openapi::request::RunRequest;
use crate::openapi::result::ExecutionResult as DescribedResult;
use crate::problem::{Code, Problem};
use crate::state::App;
use crate::tokens::Scope;

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(show))
        .routes(routes!(follow))
        .routes(routes!(cancel))
        .routes(routes!(file))
}

/// Runs a script in a fresh cell.
///
/// The answer is the result, or events as they come, or an id: see `Accept` and `Prefer`.
#[utoipa::path(
    post, path = "/v1/runs", tag = "runs", operation_id = "run",
    params(("Prefer" = Option<String>, Header, description = "`respond-async`: answer with an id, and go on")),
    request_body = RunRequest,
    responses(
        (status = OK, description = "the result, or events as they come, as `Accept` asks", content(
            (DescribedResult = "application/json"),
            (Event = "application/x-ndjson"),
            (Event = "text/event-stream"),
        )),
        (status = ACCEPTED, body = AcceptedRun, description = "with `Prefer: respond-async`"),
    ),
)]
async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    Object(fields, share): Object,
) -> Result<Response, Problem> {
    client.needs(Scope::Run)?;
    let form = Form::of(&headers)?;
    if form == Form::Later && !app.writer.is_well().await {
        let detail = "what runs cannot be written down just now, so there would be nothing to ask for later";
        return Err(Problem::new(Code::History, detail).after(Duration::from_secs(10)));
    }
    let Wanted { mut request, place } = Wanted::read(fields)?;
    let chosen = app.choose(place, &client)?;
    within(client.limits.max_timeout_sec, &mut request, chosen.usual_timeout())?;
    let manner = Manner { grace: grace(form, &app), share: Some(share) };
    let home = Home { sandbox: chosen.name.clone(), session: None, manner };
    let own = app.clone();
    let start =
        async move |request: ExecutionRequest| Ok(Source::Script(own.sandbox(chosen).await?.stream(request)));
    let run = begin(&app, &client, request, home, start)?;
    answer(&app, &client, run, form).await
}

/// How long a run goes on when its client has gone.
pub(crate) fn grace(form: Form, app: &App) -> Option<Duration> {
    match form {
        Form::Result => Some(Duration::ZERO),
        Form::Sse | Form::Ndjson => Some(app.limits.reconnect),
        Form::Later => None,
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Listing {
    /// Those that ended so.
    verdict: Option<String>,
    /// Those in this sandbox.
    sandbox: Option<String>,
    /// Steps of this session.
    session: Option<String>,
    /// Those that began after: RFC 3339, or seconds since 1970.
    since: Option<String>,
    /// Those that came before this one: `next` of the answer before.
    before: Option<String>,
    /// How many at the most.
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Lists what has run, the last first.
#[utoipa::path(
    get, path = "/v1/runs", tag = "runs", operation_id = "list_runs",
    params(Listing), responses((status = OK, body = RunList, description = "runs that this token may see")),
)]
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
    let runs = runs.iter().map(ListedRun::of).collect();
    Ok(Json(RunList { runs, next }).into_response())
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

/// Shows a run with its script and its result.
#[utoipa::path(
    get, path = "/v1/runs/{id}", tag = "runs", operation_id = "show_run",
    responses((status = OK, body = ShownRun, description = "the run")),
)]
async fn show(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let (run, script) = seen(&app, &client, &id).await?;
    let result = match run.ended_ms {
        Some(_) => serde_json::to_value(result(&app, &id).await?).unwrap_or_default(),
        None => Value::Null,
    };
    let shown = ShownRun { run: ListedRun::of(&run), script, result };
    let text = serde_json::to_vec(&shown).unwrap_or_default();
    let share = app.held.take(&client.id, text.len() as u64, None)?;
    Ok(([(CONTENT_TYPE, "application/json")], body::sent(text.into(), share)).into_response())
}

async fn result(app: &App, id: &str) -> Result<ExecutionResult, Problem> {
    let last = app.history.last_event(id).await?.ok_or_else(|| Problem::no_such("result of", id))?;
    serde_json::from_str(&last).map_err(|error| {
        tracing::error!(%error, id, "an event in the history cannot be read");
        Problem::new(Code::Internal, "the result in the history cannot be read")
    })
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct From {
    /// The number of the first event that is wanted. `Last-Event-ID` names the one before.
    from: Option<u64>,
}

/// Follows a run: its events from any number on, until its end.
#[utoipa::path(
    get, path = "/v1/runs/{id}/events", tag = "runs", operation_id = "follow_run",
    params(From, ("Last-Event-ID" = Option<u64>, Header, description = "the last event that was read")),
    responses((status = OK, description = "events as they come, as `Accept` asks", content(
        (Event = "text/event-stream"),
        (Event = "application/x-ndjson"),
    ))),
)]
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
        let history = app.history.clone();
        let follower = match client.may_change(&run.owner) {
            true => Follower::live(&run, from, history),
            false => Follower::onlooker(&run, from, history),
        };
        return Ok(events(&app, &client, follower, form));
    }
    seen(&app, &client, &id).await?;
    Ok(events(&app, &client, Follower::past(&id, from, app.history.clone()), form))
}

/// Ends a run. One that is over stays as it is.
#[utoipa::path(
    post, path = "/v1/runs/{id}/cancel", tag = "runs", operation_id = "cancel_run",
    responses((status = OK, body = CancelledRun, description = "it is being ended, or is over")),
)]
async fn cancel(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    client.needs(Scope::Run)?;
    match app.runs.find(&id).filter(|run| client.may_change(&run.owner)) {
        Some(run) => run.cancel(),
        // One that is over stays as it is.
        None if seen(&app, &client, &id).await?.0.ended_ms.is_some() => {}
        None => {
            let detail = "another process runs it, which alone can end it";
            return Err(Problem::new(Code::Conflict, detail));
        }
    }
    Ok(Json(CancelledRun { id }).into_response())
}

/// Reads a file that a run was asked to collect.
#[utoipa::path(
    get, path = "/v1/runs/{id}/files/{*path}", tag = "runs", operation_id = "read_file_of_run",
    responses((status = OK, content_type = "application/octet-stream", body = Vec<u8>, description = "its bytes")),
)]
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
        Some(Collected::Bytes(bytes)) => download(&app, &client, bytes),
        _ => Err(Problem::no_such("file", &path)),
    }
}

/// Bytes that a guest made. A browser saves them, and shows nothing of them. They take of the
/// client's share of memory until they are sent.
pub(crate) fn download(app: &App, client: &Client, bytes: bytes::Bytes) -> Result<Response, Problem> {
    let share = app.held.take(&client.id, bytes.len() as u64, None)?;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_DISPOSITION, "attachment".to_owned()),
        (CONTENT_LENGTH, bytes.len().to_string()),
    ];
    Ok((headers, body::sent(bytes, share)).into_response())
}
