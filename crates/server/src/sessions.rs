//! `/v1/sessions`: steps that share their variables. Each step is a run, with events and a history.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use belljar::{ExecutionRequest, RunHandle, Session};
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::body::{self, Object};
use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::runs::routes::{download, grace};
use crate::runs::{Form, Home, Place, Run, Source, answer, begin, invalid, new_id, script, within};
use crate::state::App;
use crate::tokens::Scope;
use crate::trace::VARIABLES;

/// Sessions, by their ids.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<String, Arc<Held>>>);

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
}

impl Sessions {
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
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
        for held in self.lock().drain().map(|(_, held)| held) {
            held.handle.cancel();
        }
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn told(&self) -> Value {
        json!({
            "id": self.id,
            "sandbox": self.sandbox,
            "owner": self.owner,
            "is_busy": self.session.try_lock().is_err(),
            "idle_timeout_sec": self.idle.as_secs_f64(),
        })
    }
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/sessions", post(create).get(list))
        .route("/v1/sessions/{id}", get(show).delete(close))
        .route("/v1/sessions/{id}/steps", post(step))
        .route("/v1/sessions/{id}/interrupt", post(interrupt))
        .route("/v1/sessions/{id}/files", get(files))
        .route("/v1/sessions/{id}/files/{*path}", get(read_file).put(write_file))
}

async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Object(mut fields): Object,
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
    if app.sessions.count() >= app.limits.sessions {
        let detail = format!("there are {} sessions, as many as may be: close one", app.limits.sessions);
        return Err(Problem::new(Code::QueueFull, detail).after(Duration::from_secs(5)));
    }
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
    });
    app.sessions.lock().insert(held.id.clone(), held.clone());
    Ok(held)
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
) -> Result<Response, Problem> {
    app.sessions.sweep();
    let all: Vec<_> = app.sessions.lock().values().cloned().collect();
    let told: Vec<_> =
        all.iter().filter(|held| client.may_see(&held.owner)).map(|held| held.told()).collect();
    Ok(Json(json!({"sessions": told})).into_response())
}

async fn show(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let found = app.sessions.lock().get(&id).cloned();
    let held = found.filter(|held| client.may_see(&held.owner));
    Ok(Json(held.ok_or_else(|| Problem::no_such("session", &id))?.told()).into_response())
}

async fn close(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    app.sessions.close(&id, &client)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn step(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Object(fields): Object,
) -> Result<Response, Problem> {
    let held = app.sessions.find(&id, &client)?;
    let form = Form::of(&headers)?;
    let run = begin_step(&app, &client, &held, script(fields)?, grace(form, &app))?;
    answer(&app, run, form).await
}

/// Begins a step of a session that has none under way.
pub(crate) fn begin_step(
    app: &Arc<App>,
    client: &Client,
    held: &Held,
    mut request: ExecutionRequest,
    grace: Option<Duration>,
) -> Result<Arc<Run>, Problem> {
    within(client.limits.max_timeout_sec, &mut request, held.usual_timeout)?;
    let mut session = held.take()?;
    let home = Home { sandbox: held.sandbox.clone(), session: Some(held.id.clone()), grace };
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

async fn interrupt(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let held = app.sessions.find(&id, &client)?;
    held.handle.interrupt();
    Ok(Json(held.told()).into_response())
}

async fn files(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let session = app.sessions.find(&id, &client)?.take()?;
    let entries = session.files().list().await?;
    let told: Vec<_> = entries
        .iter()
        .map(|entry| json!({"path": entry.path, "size": entry.size, "is_directory": entry.is_directory}))
        .collect();
    Ok(Json(json!({"files": told})).into_response())
}

async fn read_file(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path((id, path)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let session = app.sessions.find(&id, &client)?.take()?;
    let most = app.limits.request_bytes as u64;
    let bytes = session.files().read(&path, most).await?;
    Ok(download(bytes))
}

async fn write_file(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path((id, path)): Path<(String, String)>,
    content: Body,
) -> Result<StatusCode, Problem> {
    let held = app.sessions.find(&id, &client)?;
    let bytes = body::read(content, app.limits.request_bytes).await?;
    let session = held.take()?;
    session.files().put(&path, bytes).await?;
    Ok(StatusCode::NO_CONTENT)
}
