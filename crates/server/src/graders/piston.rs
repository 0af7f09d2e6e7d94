//! Piston's `POST /api/v2/execute` and `GET /api/v2/runtimes`.
//!
//! A program that fails is a 200. What cannot be read is a 400 with a `message`, which no other
//! answer may have: clients take it for an error.

mod request;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use belljar::OutputStream;
use serde_json::{Value, json};

use self::request::Wanted;
use super::described::{PistonAnswer, PistonRequest, PistonRuntime};
use super::ended::{Ended, How};
use super::program::Outcome;
use super::versions::Runtime;
use crate::body;
use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::state::App;
use crate::tokens::Scope;

/// Lists the languages of this machine, in the words of Piston.
#[utoipa::path(
    get, path = "/api/v2/runtimes", tag = "graders", operation_id = "list_runtimes",
    responses((status = OK, body = Vec<PistonRuntime>, description = "the languages")),
)]
pub(super) async fn runtimes(State(app): State<Arc<App>>) -> Response {
    match app.graders.runtimes().await {
        Ok(runtimes) => Json(runtimes.iter().map(listed).collect::<Vec<_>>()).into_response(),
        Err(problem) => refused(&problem),
    }
}

fn listed(runtime: &Runtime) -> Value {
    let names: Vec<_> = runtime.language.names().collect();
    let mut listed = json!({
        "language": names[0],
        "version": runtime.version.to_string(),
        "aliases": names[1..],
    });
    // What one package provides for several languages has its name beside them.
    if runtime.program != names[0] {
        listed["runtime"] = json!(runtime.program);
    }
    listed
}

/// Runs a program, in the words of Piston.
#[utoipa::path(
    post, path = "/api/v2/execute", tag = "graders", operation_id = "execute", request_body = PistonRequest,
    responses((status = OK, body = PistonAnswer, description = "how it ended")),
)]
pub(super) async fn execute(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    request: Request,
) -> Response {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.trim_start().to_ascii_lowercase().starts_with("application/json") {
        let message = json!({"message": "requests must be of type application/json"});
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, Json(message)).into_response();
    }
    let answered = async {
        client.needs(Scope::Run)?;
        let most = app.limits.request_bytes;
        let (bytes, _share) = body::received(&app, &client, request.into_body(), most).await?;
        body::few_enough(&bytes)?;
        let wanted = Wanted::read(&bytes, client.limits.max_timeout_sec)?;
        let runtimes = app.graders.runtimes().await?;
        let runtime = wanted.runtime(&runtimes)?;
        let (language, version) = (runtime.language.name(), runtime.version.to_string());
        let _busy = app.graders.begin();
        let _place = app.admission.turn(&client.id, &client.limits)?.await?;
        let outcome = app.graders.run_once(&client.id, &wanted.job, &wanted.input).await?;
        Ok::<_, Problem>(told(outcome, language, &version))
    };
    match answered.await {
        Ok(told) => Json(told).into_response(),
        Err(problem) => refused(&problem),
    }
}

fn refused(problem: &Problem) -> Response {
    let message = problem.to_string();
    let status = match problem.code {
        Code::Invalid => StatusCode::BAD_REQUEST,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::QueueFull | Code::Draining => StatusCode::SERVICE_UNAVAILABLE,
        _ => {
            tracing::warn!(%message, "a program could not be run");
            StatusCode::INTERNAL_SERVER_ERROR
        }
    };
    let mut response = (status, Json(json!({"message": message}))).into_response();
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        response.headers_mut().insert(RETRY_AFTER, 1.into());
    }
    response
}

fn told(outcome: Outcome, language: &str, version: &str) -> Value {
    let Outcome { compile, run } = outcome;
    let compile = compile.map(|ended| stage(&ended));
    let run = run.as_ref().map(stage).or_else(|| compile.clone());
    let mut told = json!({"run": run, "language": language, "version": version});
    if let Some(compile) = compile {
        told["compile"] = compile;
    }
    told
}

fn stage(ended: &Ended) -> Value {
    const KILLED: Option<&str> = Some("SIGKILL");
    let (code, signal, status, message) = match ended.how {
        How::Exited(0) => (Some(0), None, None, None),
        How::Exited(code) => (Some(code), None, Some("RE"), Some(format!("Exited with error status {code}"))),
        How::Signaled(number) => {
            (None, Some(signal_name(number)), Some("SG"), Some(format!("Caught fatal signal {number}")))
        }
        How::TimedOut if ended.verdict == "timeout_cpu" => {
            (None, KILLED.map(str::to_owned), Some("TO"), Some("Time limit exceeded".to_owned()))
        }
        How::TimedOut => {
            (None, KILLED.map(str::to_owned), Some("TO"), Some("Time limit exceeded (wall clock)".to_owned()))
        }
        How::OutOfMemory => (None, KILLED.map(str::to_owned), Some("SG"), Some("out of memory".to_owned())),
        How::Flooded(OutputStream::Stderr) => {
            (None, KILLED.map(str::to_owned), Some("EL"), Some("stderr length exceeded".to_owned()))
        }
        How::Flooded(_) => {
            (None, KILLED.map(str::to_owned), Some("OL"), Some("stdout length exceeded".to_owned()))
        }
    };
    json!({
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        "output": ended.output,
        "code": code,
        "signal": signal,
        "message": message,
        "status": status,
        "cpu_time": ended.cpu.map(|cpu| cpu.as_millis() as u64),
        "wall_time": ended.wall.as_millis() as u64,
        "memory": ended.peak_memory,
    })
}

fn signal_name(number: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(number).ok().and_then(|number| NAMES.get(number.checked_sub(1)?));
    name.map_or_else(|| format!("SIG{number}"), |name| format!("SIG{name}"))
}
