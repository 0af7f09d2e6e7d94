//! SandboxFusion's `POST /run_code` and `GET /v1/ping`.
//!
//! A program that fails is a 200. What cannot be read is a 422 in the form of FastAPI. A queue that
//! is full is a 504: trainers try again after that, and after nothing else. `SandboxError` is kept
//! for faults of our own, because clients run the program again then.

mod request;

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use self::request::{Refusal, read, wrong};
use super::described::{FusionAnswer, FusionRequest};
use super::ended::{Ended, How};
use super::program::Outcome;
use crate::body;
use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::state::App;
use crate::tokens::Scope;

/// Answers, as SandboxFusion does.
#[utoipa::path(
    get, path = "/v1/ping", tag = "graders", operation_id = "ping",
    responses((status = OK, body = String, content_type = "application/json", description = "`pong`")),
)]
pub(super) async fn ping() -> Json<&'static str> {
    Json("pong")
}

/// Runs a program, in the words of SandboxFusion.
#[utoipa::path(
    post, path = "/run_code", tag = "graders", operation_id = "run_code", request_body = FusionRequest,
    responses((status = OK, body = FusionAnswer, description = "how it ended")),
)]
pub(super) async fn run_code(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    request: Request,
) -> Response {
    let answered = async {
        client.needs(Scope::Run)?;
        let most = app.limits.request_bytes;
        let (bytes, _share) = body::received(&app, &client, request.into_body(), most).await?;
        body::few_enough(&bytes)?;
        let (job, input) = read(&bytes, client.limits.max_timeout_sec)?;
        let _busy = app.graders.begin();
        let turn = app.admission.turn(&client.id, &client.limits)?;
        let _place = timeout(PATIENCE, turn).await.map_err(|_| too_long())??;
        Ok(app.graders.run_once(&client.id, &job, &input).await?)
    };
    match answered.await {
        Ok(outcome) => Json(told(outcome)).into_response(),
        Err(Refusal::Fields(detail)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"detail": detail}))).into_response()
        }
        Err(Refusal::Problem(problem)) => refused(&problem),
    }
}

/// How long a request waits for a place. A trainer gives up so much later than its program would
/// have ended at the latest, and takes that for a wrong answer. After a 504 it tries again.
const PATIENCE: Duration = Duration::from_secs(10);

fn too_long() -> Problem {
    let detail = format!("there was no place for {} s: come again", PATIENCE.as_secs());
    Problem::new(Code::QueueFull, detail)
}

fn refused(problem: &Problem) -> Response {
    let detail = problem.to_string();
    let status = match problem.code {
        Code::QueueFull | Code::RateLimited | Code::Draining => StatusCode::GATEWAY_TIMEOUT,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::Invalid => {
            let mut place = vec!["body"];
            place.extend(problem.field());
            let detail = [wrong("value_error", &place, &detail, &Value::Null)];
            return (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"detail": detail}))).into_response();
        }
        _ => {
            tracing::warn!(%detail, "a program could not be run");
            let told = json!({
                "status": "SandboxError",
                "message": detail,
                "compile_result": null,
                "run_result": null,
                "executor_pod_name": null,
                "files": {},
            });
            return Json(told).into_response();
        }
    };
    (status, Json(json!({"detail": detail}))).into_response()
}

fn told(outcome: Outcome) -> Value {
    let Outcome { compile, run } = outcome;
    let is_success = run.as_ref().is_some_and(Ended::is_success);
    let files: Map<String, Value> = run
        .iter()
        .flat_map(|run| &run.files)
        .map(|(name, content)| (name.clone(), json!(BASE64_STANDARD.encode(content))))
        .collect();
    json!({
        "status": if is_success { "Success" } else { "Failed" },
        "message": "",
        "compile_result": compile.map(|ended| step(&ended)),
        "run_result": run.as_ref().map(step),
        "executor_pod_name": null,
        "files": files,
    })
}

fn step(ended: &Ended) -> Value {
    const SIGKILL: i32 = 9;
    let (status, code) = match ended.how {
        How::TimedOut => ("TimeLimitExceeded", None),
        How::Exited(code) => ("Finished", Some(code)),
        How::Signaled(signal) => ("Finished", Some(-signal)),
        How::OutOfMemory | How::Flooded(_) => ("Finished", Some(-SIGKILL)),
    };
    json!({
        "status": status,
        "execution_time": ended.wall.as_secs_f64(),
        "return_code": code,
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        "cpu_time": ended.cpu.map(|cpu| cpu.as_secs_f64()),
        "memory": ended.peak_memory,
        "verdict": ended.verdict,
    })
}
