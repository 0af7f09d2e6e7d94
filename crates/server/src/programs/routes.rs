//! `/v1/workspaces/{id}/programs` and `/v1/programs`: begins programs, and shows them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use belljar::workspace::{ProgramBytes, ProgramStatus};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tracing::Instrument as _;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answers::{ListedProgram, PolledProgram, ProgramList, ProgramResult};
use super::driver::{Job, drive};
use super::held::{Held, Orders, Stage};
use super::request::{Terms, Wanted};
use super::{control, terminal};
use crate::body::Object;
use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::runs::{Form, Place, from_json, invalid, new_id};
use crate::shares::Share;
use crate::state::App;
use crate::tokens::Scope;
use crate::trace::Kind;

/// Names the program in every answer about it.
const PROGRAM_ID: HeaderName = HeaderName::from_static("belljar-program");

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(list))
        .routes(routes!(poll, control::forget))
        .routes(routes!(control::input))
        .routes(routes!(control::resize))
        .routes(routes!(control::kill))
        .routes(routes!(terminal::attach))
}

/// Runs a program in a workspace.
///
/// The answer is its result, or the program itself if it is talked to or `Prefer` says so.
#[utoipa::path(
    post, path = "/v1/workspaces/{id}/programs", tag = "programs", operation_id = "run_program",
    params(("Prefer" = Option<String>, Header, description = "`respond-async`: answer with an id, and go on")),
    request_body = Wanted,
    responses(
        (status = OK, body = ProgramResult, description = "it has ended"),
        (status = CREATED, body = ListedProgram, description = "it runs, and is talked to"),
        (status = ACCEPTED, body = ListedProgram, description = "with `Prefer: respond-async`"),
    ),
)]
async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Object(fields, share): Object,
) -> Result<Response, Problem> {
    client.needs(Scope::Run)?;
    let form = Form::of(&headers)?;
    if matches!(form, Form::Sse | Form::Ndjson) {
        let detail = "a program's output is not an event stream: use `Prefer: respond-async`, and poll it";
        return Err(Problem::new(Code::NotAcceptable, detail).at("accept"));
    }
    let wanted: Wanted = from_json(Value::Object(fields))?;
    let held = begin(&app, &client, &id, wanted, share)?;
    let waiting = KilledWithout { app: &app, held: &held, is_done: false };
    let place = AppendHeaders([(LOCATION, format!("/v1/programs/{}", held.id))]);
    let name = [(PROGRAM_ID, held.id.clone())];
    if held.kind.is_talked_to() {
        if let Stage::Failed(code, reason) = held.begun().await {
            return Err(Problem::new(code, reason));
        }
        waiting.stays();
        return Ok((StatusCode::CREATED, place, name, Json(held.told())).into_response());
    }
    if form == Form::Later {
        waiting.stays();
        return Ok((StatusCode::ACCEPTED, place, name, Json(held.told())).into_response());
    }
    // Its result is the answer, so nobody asks for it later.
    match held.over().await {
        Stage::Ended(result) => Ok((name, Json(&*result)).into_response()),
        Stage::Failed(code, reason) => Err(Problem::new(code, reason)),
        _ => Err(Problem::new(Code::Internal, "the program was lost")),
    }
}

/// Kills a program that whoever asked for it has left, and forgets it.
struct KilledWithout<'a> {
    app: &'a App,
    held: &'a Arc<Held>,
    is_done: bool,
}

impl KilledWithout<'_> {
    /// It is kept until its client says otherwise.
    fn stays(mut self) {
        self.is_done = true;
    }
}

impl Drop for KilledWithout<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.held.kill();
            // Its driver forgets it, if it still runs: until then it is in its workspace.
            self.held.is_forgotten.store(true, Ordering::SeqCst);
            if self.held.is_over() {
                self.app.programs.remove(&self.held.id);
            }
        }
    }
}

/// Lines a program up, or refuses it at once.
fn begin(
    app: &Arc<App>,
    client: &Client,
    workspace: &str,
    wanted: Wanted,
    share: Share,
) -> Result<Arc<Held>, Problem> {
    let (name, _) = app.workspaces.changed(client, workspace)?;
    let chosen = app.choose(Place::Named(wanted.sandbox().to_owned()), client)?;
    let workspace = app.workspaces.to_run_in(&name, &chosen.name, chosen.config())?;
    let command = wanted.words();
    let Terms { kind, mut spec, streaming, input, idle } =
        wanted.terms(&client.limits, chosen.usual_timeout(), app.limits.session_idle)?;
    let held = Arc::new(Held {
        id: new_id("prg"),
        owner: client.id.clone(),
        workspace: name,
        command,
        kind,
        log: Arc::default(),
        stage: watch::Sender::new(Stage::Waiting),
        orders: watch::Sender::new(Orders::default()),
        input: Mutex::new(input),
        used: Mutex::new(Instant::now()),
        asked_at: SystemTime::now(),
        is_forgotten: AtomicBool::new(false),
    });
    let turn = app.admission.turn(&client.id, &client.limits)?;
    app.programs.add(held.clone(), &app.limits)?;
    let span = client.trace.span(Kind::Program, &held.id, &chosen.name);
    for (name, value) in client.trace.variables(&span) {
        spec.env.entry(name.to_owned()).or_insert(value);
    }
    let job = Job { workspace, spec, streaming, idle, share };
    tokio::spawn(drive(app.clone(), held.clone(), turn, job).instrument(span));
    Ok(held)
}

/// Lists programs: those that run, and the last that have ended.
#[utoipa::path(
    get, path = "/v1/programs", tag = "programs", operation_id = "list_programs",
    responses((status = OK, body = ProgramList, description = "those that this token may see")),
)]
async fn list(State(app): State<Arc<App>>, Extension(client): Extension<Client>) -> Response {
    app.programs.sweep();
    let own = app.programs.all().into_iter().filter(|held| client.may_see(&held.owner));
    Json(ProgramList { programs: own.map(|held| held.told()).collect() }).into_response()
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Polling {
    /// The number of the first byte that is wanted.
    #[serde(default)]
    from: u64,
    /// Bytes at the most.
    #[param(minimum = 1, maximum = 1048576, default = 65536)]
    limit: Option<usize>,
    /// Seconds to wait until there is something.
    #[serde(default)]
    #[param(minimum = 0, maximum = 30)]
    wait: f64,
}

/// Polls a program: what it has printed, and its result once it has ended.
#[utoipa::path(
    get, path = "/v1/programs/{id}", tag = "programs", operation_id = "poll_program", params(Polling),
    responses((status = OK, body = PolledProgram, description = "the program")),
)]
async fn poll(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    Query(Polling { from, limit, wait }): Query<Polling>,
) -> Result<Response, Problem> {
    const MOST: usize = 1 << 20;
    const USUAL: usize = 64 << 10;
    const LONGEST: f64 = 30.0;
    let held = app.programs.seen(&id, &client)?;
    let limit = limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(invalid(format!("must be from 1 to {MOST}")).at("limit"));
    }
    if !(0.0..=LONGEST).contains(&wait) {
        return Err(invalid(format!("must be from 0 to {LONGEST} seconds")).at("wait"));
    }
    if client.may_change(&held.owner) {
        held.touch();
    }
    if wait > 0.0 {
        let something = held.log.reaches_beyond(from);
        let _ = tokio::time::timeout(Duration::from_secs_f64(wait), something).await;
    }
    // Before the bytes are read: after its end there are no more.
    let program = held.told();
    let stage = held.stage();
    let (offset, mut data) = held.log.read(from, limit);
    if !stage.is_over() {
        data.truncate(whole_characters(&data));
    }
    let next_offset = offset + data.len() as u64;
    let bytes = ProgramBytes { status: ProgramStatus::Running, data, offset, next_offset, exit_code: None };
    let bytes = serde_json::to_value(bytes).unwrap_or_default();
    let text = |field: &str| bytes[field].as_str().map(str::to_owned);
    let (output, output_base64) = (text("output").unwrap_or_default(), text("output_base64"));
    let result = match stage {
        Stage::Ended(result) => serde_json::to_value(&*result).unwrap_or_default(),
        _ => Value::Null,
    };
    Ok(Json(PolledProgram { program, output, output_base64, offset, next_offset, result }).into_response())
}

/// How many bytes are whole characters, if the rest is the beginning of one.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_cut_in_two_and_bytes_that_are_none_are_not_held_back() {
        assert_eq!(whole_characters("aé".as_bytes()), 3);
        assert_eq!(whole_characters(&"aé".as_bytes()[..2]), 1);
        assert_eq!(whole_characters(&[b'a', 0xff, b'b']), 3);
        assert_eq!(whole_characters(b""), 0);
    }
}
