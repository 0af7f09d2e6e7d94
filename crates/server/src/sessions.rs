//! `/v1/sessions`: steps that share their variables. Each step is a run, with events and a history.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use belljar::files::FileEntry;
use belljar::{ExecutionRequest, RunHandle, Session};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::{self, Object};
use crate::guard::Client;
use crate::openapi::event::Event;
use crate::openapi::request::StepRequest;
use crate::openapi::result::ExecutionResult;
use crate::problem::{Code, Problem};
use crate::runs::answers::AcceptedRun;
use crate::runs::routes::{download, grace};
use crate::runs::{Form, Home, Manner, Place, Run, Source, answer, begin, invalid, new_id, script, within};
use crate::shares::{Share, Shares};
use crate::state::App;
use crate::tokens::Scope;
use crate::trace::VARIABLES;

/// Sessions, by their ids, and the places for them.
pub(crate) struct Sessions {
    held: Mutex<HashMap<String, Arc<Held>>>,
    places: Arc<Shares>,
}

/// A session that a client holds.
pub(crate) struct Held {
    pub(crate) id: String,
    owner: String,
    sandbox: String,
    usual_timeout: f64,
    session: Arc<AsyncMutex<Session>>,
    handle: RunHandle,
    idle: Duration,
    used: Mutex<Instant>,
    /// Whether a step was told of a trace.
    was_traced: AtomicBool,
    _place: Share,
}

impl Sessions {
    pub(crate) fn new(most: usize) -> Self {
        Self { held: Mutex::default(), places: Shares::new("sessions", most as u64) }
    }

    /// How many there are, and how many are being opened.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.places.taken()).unwrap_or(usize::MAX)
    }

    /// Ends the sessions that nobody has used for too long, or that are over.
    pub(crate) fn sweep(&self) {
        self.lock().retain(|_, held| match held.session.try_lock() {
            Ok(session) => session.is_alive() && held.last_use().elapsed() < held.idle,
            Err(_) => true,
        });
    }

    /// Ends all of them.
    pub(crate) fn clear(&self) {
        self.close_all(&|_| true);
    }

    /// Ends those of some owners.
    pub(crate) fn close_all(&self, is_meant: &dyn Fn(&str) -> bool) {
        let gone: Vec<_> = self.lock().extract_if(|_, held| is_meant(&held.owner)).collect();
        gone.iter().for_each(|(_, held)| held.handle.cancel());
    }

    /// Ends one, and the step that is under way.
    pub(crate) fn close(&self, id: &str, client: &Client) -> Result<(), Problem> {
        self.find(id, client)?.handle.cancel();
        self.lock().remove(id);
        Ok(())
    }

    /// One that this client may use.
    pub(crate) fn find(&self, id: &str, client: &Client) -> Result<Arc<Held>, Problem> {
        let found = self.lock().get(id).cloned();
        found.filter(|held| client.may_change(&held.owner)).ok_or_else(|| Problem::no_such("session", id))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// The session, if no step is under way.
    pub(crate) fn take(&self) -> Result<OwnedMutexGuard<Session>, Problem> {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.session.clone().try_lock_owned().map_err(|_| {
            let detail = "a step of this session is under way: wait for it, interrupt it, or use another";
            Problem::new(Code::Conflict, detail)
        })
    }

    fn last_use(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> ListedSession {
        ListedSession {
            id: self.id.clone(),
            sandbox: self.sandbox.clone(),
            owner: self.owner.clone(),
            is_busy: self.session.try_lock().is_err(),
            idle_timeout_sec: self.idle.as_secs_f64(),
        }
    }
}

/// The sandbox of a session, and how long it stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it only describes what `create` reads")]
struct SessionRequest {
    /// The sandbox of the server that it is in. Without it, `default`.
    #[serde(default)]
    sandbox: String,
    /// A sandbox of its own, as a sandbox file has it. Needs a token of scope `admin`.
    #[serde(default)]
    #[schema(value_type = Object)]
    config: serde_json::Value,
    /// Seconds that it may go without a step.
    #[serde(default)]
    #[schema(exclusive_minimum = 0)]
    idle_timeout_sec: f64,
}

/// A session as it is listed.
#[derive(Serialize, ToSchema)]
struct ListedSession {
    id: String,
    sandbox: String,
    /// The id of the token that opened it.
    owner: String,
    /// Whether a step is under way.
    is_busy: bool,
    idle_timeout_sec: f64,
}

/// Sessions.
#[derive(Serialize, ToSchema)]
struct SessionList {
    sessions: Vec<ListedSession>,
}

/// The files of a session.
#[derive(Serialize, ToSchema)]
struct SessionFiles {
    files: Vec<SessionFile>,
}

/// A file or directory of a session.
#[derive(Serialize, ToSchema)]
struct SessionFile {
    path: String,
    size: u64,
    is_directory: bool,
}

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(show, close))
        .routes(routes!(step))
        .routes(routes!(interrupt))
        .routes(routes!(files))
        .routes(routes!(read_file, write_file))
}

/// Opens a session: a cell that stays, for steps that share their variables and files.
#[utoipa::path(
    post, path = "/v1/sessions", tag = "sessions", operation_id = "open_session",
    request_body = Option<SessionRequest>,
    responses((status = CREATED, body = ListedSession, description = "the session")),
)]
async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Object(mut fields, _): Object,
) -> Result<Response, Problem> {
    client.needs(Scope::Run)?;
    let place = Place::take(&mut fields)?;
    let most = app.limits.session_idle;
    let idle = match fields.remove("idle_timeout_sec") {
        None => most,
        Some(seconds) => seconds
            .as_f64()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|idle| !idle.is_zero() && *idle <= most)
            .ok_or_else(|| {
                invalid(format!("must be more than 0 and at most {} seconds", most.as_secs()))
                    .at("idle_timeout_sec")
            })?,
    };
    if let Some(unknown) = fields.keys().next() {
        let detail = format!("unknown field `{unknown}`, expected `sandbox`, `config` or `idle_timeout_sec`");
        return Err(invalid(detail).at(unknown.clone()));
    }
    let held = open(&app, &client, place, idle).await?;
    Ok((StatusCode::CREATED, Json(held.told())).into_response())
}

/// Opens a session for a client that may run scripts.
pub(crate) async fn open(
    app: &App,
    client: &Client,
    place: Place,
    idle: Duration,
) -> Result<Arc<Held>, Problem> {
    client.needs(Scope::Run)?;
    let chosen = app.choose(place, client)?;
    app.sessions.sweep();
    if app.is_draining() {
        return Err(crate::admission::draining());
    }
    // A session has a cell for as long as it stays, so a token has no more of them than of runs.
    let own = client.limits.concurrency.map(|most| most as u64);
    let place = app.sessions.places.take(&client.id, 1, own)?;
    let _turn = app.admission.turn(&client.id, &client.limits)?.await?;
    let (name, usual_timeout) = (chosen.name.clone(), chosen.usual_timeout());
    let session = app.sandbox(chosen).await?.session().await?;
    let held = Arc::new(Held {
        id: new_id("ses"),
        owner: client.id.clone(),
        sandbox: name,
        usual_timeout,
        handle: session.interrupt_handle(),
        session: Arc::new(AsyncMutex::new(session)),
        idle,
        used: Mutex::new(Instant::now()),
        was_traced: AtomicBool::new(false),
        _place: place,
    });
    app.sessions.lock().insert(held.id.clone(), held.clone());
    Ok(held)
}

/// Lists sessions that are open.
#[utoipa::path(
    get, path = "/v1/sessions", tag = "sessions", operation_id = "list_sessions",
    responses((status = OK, body = SessionList, description = "those that this token may see")),
)]
async fn list(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
) -> Result<Response, Problem> {
    app.sessions.sweep();
    let all: Vec<_> = app.sessions.lock().values().cloned().collect();
    let sessions = all.iter().filter(|held| client.may_see(&held.owner)).map(|held| held.told()).collect();
    Ok(Json(SessionList { sessions }).into_response())
}

/// Shows a session.
#[utoipa::path(
    get, path = "/v1/sessions/{id}", tag = "sessions", operation_id = "show_session",
    responses((status = OK, body = ListedSession, description = "the session")),
)]
async fn show(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let found = app.sessions.lock().get(&id).cloned();
    let held = found.filter(|held| client.may_see(&held.owner));
    Ok(Json(held.ok_or_else(|| Problem::no_such("session", &id))?.told()).into_response())
}

/// Ends a session, and the step that is under way.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}", tag = "sessions", operation_id = "close_session",
    responses((status = NO_CONTENT, description = "it is over")),
)]
async fn close(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    app.sessions.close(&id, &client)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Runs a step in a session. Each step is a run, with events and a place in the history.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/steps", tag = "sessions", operation_id = "run_step",
    params(("Prefer" = Option<String>, Header, description = "`respond-async`: answer with an id, and go on")),
    request_body = StepRequest,
    responses(
        (status = OK, description = "the result, or events as they come, as `Accept` asks", content(
            (ExecutionResult = "application/json"),
            (Event = "application/x-ndjson"),
            (Event = "text/event-stream"),
        )),
        (status = ACCEPTED, body = AcceptedRun, description = "with `Prefer: respond-async`"),
    ),
)]
async fn step(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Object(fields, share): Object,
) -> Result<Response, Problem> {
    let held = app.sessions.find(&id, &client)?;
    let form = Form::of(&headers)?;
    let manner = Manner { grace: grace(form, &app), share: Some(share) };
    let run = begin_step(&app, &client, &held, script(fields)?, manner)?;
    answer(&app, &client, run, form).await
}

/// Begins a step of a session that has none under way.
pub(crate) fn begin_step(
    app: &Arc<App>,
    client: &Client,
    held: &Held,
    mut request: ExecutionRequest,
    manner: Manner,
) -> Result<Arc<Run>, Problem> {
    within(client.limits.max_timeout_sec, &mut request, held.usual_timeout)?;
    let mut session = held.take()?;
    let home = Home { sandbox: held.sandbox.clone(), session: Some(held.id.clone()), manner };
    let was_traced = held.was_traced.fetch_or(client.trace.is_sent(), Ordering::Relaxed);
    let start = async move |mut request: ExecutionRequest| {
        // Variables stay in a session. The trace of one step is not the next one's.
        for name in VARIABLES.into_iter().filter(|_| was_traced) {
            request.env.entry(name.to_owned()).or_default();
        }
        let execution = session.stream(request);
        Ok(Source::Step(execution, session))
    };
    begin(app, client, request, home, start)
}

/// Interrupts the step that is under way, as Ctrl-C does. The variables stay.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/interrupt", tag = "sessions", operation_id = "interrupt_session",
    responses((status = OK, body = ListedSession, description = "the session")),
)]
async fn interrupt(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let held = app.sessions.find(&id, &client)?;
    held.handle.interrupt();
    Ok(Json(held.told()).into_response())
}

/// Lists the files of a session.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/files", tag = "sessions", operation_id = "list_files_of_session",
    responses((status = OK, body = SessionFiles, description = "files and directories")),
)]
async fn files(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let session = app.sessions.find(&id, &client)?.take()?;
    let entries = session.files().list().await?;
    let told = |entry: &FileEntry| SessionFile {
        path: entry.path.clone(),
        size: entry.size,
        is_directory: entry.is_directory,
    };
    Ok(Json(SessionFiles { files: entries.iter().map(told).collect() }).into_response())
}

/// Reads a file of a session.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/files/{*path}", tag = "sessions", operation_id = "read_file_of_session",
    responses((status = OK, content_type = "application/octet-stream", body = Vec<u8>, description = "its bytes")),
)]
async fn read_file(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path((id, path)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let session = app.sessions.find(&id, &client)?.take()?;
    let most = app.limits.request_bytes as u64;
    let bytes = session.files().read(&path, most).await?;
    download(&app, &client, bytes)
}

/// Writes a file of a session.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/files/{*path}", tag = "sessions", operation_id = "write_file_of_session",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = NO_CONTENT, description = "it is written")),
)]
async fn write_file(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path((id, path)): Path<(String, String)>,
    content: Body,
) -> Result<StatusCode, Problem> {
    let held = app.sessions.find(&id, &client)?;
    let (bytes, _share) = body::received(&app, &client, content, app.limits.request_bytes).await?;
    let session = held.take()?;
    session.files().put(&path, bytes).await?;
    Ok(StatusCode::NO_CONTENT)
}
