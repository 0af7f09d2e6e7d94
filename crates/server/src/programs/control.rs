//! What clients do with a program that they have begun: type, resize, end.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::answers::ListedProgram;
use super::held::{Held, Kind, type_in};
use super::request::Size;
use crate::body::{self, Object};
use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::runs::{from_json, invalid};
use crate::state::App;

/// Ends a program, if it runs, and forgets it.
#[utoipa::path(
    delete, path = "/v1/programs/{id}", tag = "programs", operation_id = "forget_program",
    responses((status = NO_CONTENT, description = "it is over")),
)]
pub(super) async fn forget(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let held = app.programs.changed(&id, &client)?;
    held.kill();
    held.over().await;
    app.programs.remove(&id);
    Ok(StatusCode::NO_CONTENT)
}

/// What is typed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ProgramInput)]
struct Typed {
    #[serde(default)]
    data: String,
    /// A line's end after it.
    #[serde(default)]
    newline: bool,
    /// No more comes after it.
    #[serde(default)]
    eof: bool,
}

/// Types something into a program.
#[utoipa::path(
    post, path = "/v1/programs/{id}/input", tag = "programs", operation_id = "type_into_program",
    request_body(content((Typed = "application/json"), (Vec<u8> = "application/octet-stream"))),
    responses((status = NO_CONTENT, description = "the program has it, or will read it")),
)]
pub(super) async fn input(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    headers: HeaderMap,
    content: Body,
) -> Result<StatusCode, Problem> {
    /// More is sent in pieces, so that little waits for a program that does not read.
    const MOST: usize = 256 << 10;
    let held = app.programs.changed(&id, &client)?;
    let open = held.input()?;
    let (bytes, _share) = body::received(&app, &client, content, MOST).await?;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind == "application/octet-stream" {
        type_in(&open, bytes).await?;
        return Ok(StatusCode::NO_CONTENT);
    }
    let Typed { data, newline, eof } = match body::object(kind, &bytes)? {
        fields if fields.is_empty() => return Err(invalid("say `data`, `newline` or `eof`").at("data")),
        fields => from_json(Value::Object(fields))?,
    };
    let mut line = data.into_bytes();
    line.extend(newline.then_some(b'\n'));
    if !line.is_empty() {
        type_in(&open, line.into()).await?;
    }
    if eof {
        drop(open);
        held.end_input().await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a terminal another size.
#[utoipa::path(
    post, path = "/v1/programs/{id}/resize", tag = "programs", operation_id = "resize_terminal",
    request_body = Size, responses((status = NO_CONTENT, description = "it has that size")),
)]
pub(super) async fn resize(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    Object(fields, _): Object,
) -> Result<StatusCode, Problem> {
    let held = app.programs.changed(&id, &client)?;
    set_size(&held, fields)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a terminal another size.
pub(super) fn set_size(held: &Held, fields: Map<String, Value>) -> Result<(), Problem> {
    for field in ["rows", "cols"] {
        if !fields.contains_key(field) {
            return Err(invalid(format!("missing field `{field}`")).at(field));
        }
    }
    let size = from_json::<Size>(Value::Object(fields))?.checked()?;
    if held.kind != Kind::Terminal {
        return Err(Problem::new(Code::Conflict, "this program has no terminal"));
    }
    if held.is_over() {
        return Err(Problem::new(Code::Conflict, "the program has ended"));
    }
    held.touch();
    held.orders.send_modify(|orders| orders.size = Some(size));
    Ok(())
}

/// How a program is ended.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = KillRequest)]
struct Ending {
    #[serde(default)]
    signal: Signal,
    /// Seconds between asking it to end and killing it.
    #[schema(minimum = 0, maximum = 60)]
    grace: Option<f64>,
}

#[derive(Debug, Default, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Signal {
    Int,
    Term,
    #[default]
    Kill,
}

/// Kills a program, asks it to end, or interrupts it. One that has ended stays as it is.
#[utoipa::path(
    post, path = "/v1/programs/{id}/kill", tag = "programs", operation_id = "kill_program",
    request_body = Option<Ending>,
    responses((status = OK, body = ListedProgram, description = "the program")),
)]
pub(super) async fn kill(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    Object(fields, _): Object,
) -> Result<Response, Problem> {
    const USUAL: Duration = Duration::from_secs(5);
    const LONGEST: Duration = Duration::from_secs(60);
    let held = app.programs.changed(&id, &client)?;
    let Ending { signal, grace } = from_json(Value::Object(fields))?;
    let grace = match grace.map(Duration::try_from_secs_f64) {
        None => USUAL,
        Some(Ok(grace)) if grace <= LONGEST => grace,
        Some(_) => return Err(invalid(format!("must be from 0 to {} s", LONGEST.as_secs())).at("grace")),
    };
    match signal {
        Signal::Int => {
            held.touch();
            held.orders.send_modify(|orders| orders.interrupts += 1);
            return Ok(Json(held.told()).into_response());
        }
        Signal::Term => held.orders.send_modify(|orders| orders.ends_within = Some(grace)),
        Signal::Kill => held.kill(),
    }
    held.over().await;
    Ok(Json(held.told()).into_response())
}
