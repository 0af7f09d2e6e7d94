//! A run as an answer: its result, or its events as they come.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;

use super::answers::{Accepted, AcceptedRun};
use super::follow::Follower;
use super::log::Ending;
use super::{Form, Run};
use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::revoked;
use crate::state::App;

/// How often somebody who follows is looked at.
const OFTEN: Duration = Duration::from_secs(5);
/// Names the run in every answer about it.
const RUN_ID: HeaderName = HeaderName::from_static("belljar-run");

/// Answers with a run that was just begun.
pub(crate) async fn answer(
    app: &Arc<App>,
    client: &Client,
    run: Arc<Run>,
    form: Form,
) -> Result<Response, Problem> {
    /// What is refused is refused at once. After that, whoever waits for events should see that
    /// the run goes on.
    const AT_ONCE: Duration = Duration::from_millis(250);
    let place = [(LOCATION.as_str().to_owned(), format!("/v1/runs/{}", run.id))];
    let name = [(RUN_ID, run.id.to_string())];
    match form {
        Form::Later => {
            let told = AcceptedRun { id: run.id.to_string(), status: Accepted::Accepted };
            Ok((StatusCode::ACCEPTED, axum::response::AppendHeaders(place), name, Json(told)).into_response())
        }
        Form::Result => {
            let followed = run.followed();
            let ending = run.over().await;
            drop(followed);
            match ending {
                Ending::Result(result) => Ok((name, Json(&*result)).into_response()),
                Ending::Failed(problem) => Err(taken(&problem)),
            }
        }
        Form::Sse | Form::Ndjson => {
            let follower = Follower::live(&run, 0, app.history.clone());
            let refused = async {
                tokio::select! {
                    ending = run.over() => Some(ending),
                    () = run.begun() => None,
                }
            };
            if let Ok(Some(Ending::Failed(problem))) = tokio::time::timeout(AT_ONCE, refused).await {
                return Err(taken(&problem));
            }
            Ok((name, events(app, client, follower, form)).into_response())
        }
    }
}

/// Why a run failed that has no result of its own.
pub(crate) fn taken(problem: &std::sync::Mutex<Option<Problem>>) -> Problem {
    let told = problem.lock().ok().and_then(|mut problem| problem.take());
    told.unwrap_or_else(|| Problem::new(Code::Internal, "the run failed"))
}

/// The events from where a follower is.
pub(crate) fn events(app: &Arc<App>, client: &Client, follower: Follower, form: Form) -> Response {
    let (app, client) = (app.clone(), client.clone());
    let mut looked = Instant::now();
    // Looked at now and then: it asks the file system, and events may be many.
    let is_welcome = move || {
        if looked.elapsed() < OFTEN {
            return true;
        }
        looked = Instant::now();
        revoked::is_known(&app, &client)
    };
    let kind = if form == Form::Sse { "text/event-stream" } else { "application/x-ndjson" };
    let lines = stream::unfold(Some((follower, is_welcome)), move |state| async move {
        let (mut follower, mut is_welcome) = state?;
        match next(&mut follower, form, &mut is_welcome).await {
            Ok(bytes) => bytes.map(|bytes| (Ok(bytes), Some((follower, is_welcome)))),
            // A stream that ended well would say that there is nothing more.
            Err(error) => Some((Err(error), None)),
        }
    });
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store")], Body::from_stream(lines)).into_response()
}

/// The next events as they are written. `None` after the last.
async fn next(
    follower: &mut Follower,
    form: Form,
    is_welcome: &mut (impl FnMut() -> bool + Send),
) -> io::Result<Option<Bytes>> {
    /// Shorter than the patience of any proxy.
    const QUIET: u32 = 3;
    for waited in 1.. {
        // A number that was not handed out is asked for again, so giving up loses nothing.
        let lines = tokio::time::timeout(OFTEN, follower.next()).await;
        if !is_welcome() {
            return Err(io::Error::other("the token was taken back, or has ended"));
        }
        match lines {
            Ok(Ok(lines)) if lines.is_empty() => return Ok(None),
            Ok(Ok(lines)) => return Ok(Some(written(&lines, form))),
            Ok(Err(error)) => {
                tracing::error!(%error, "events could not be read");
                return Err(io::Error::other(error));
            }
            Err(_) if form == Form::Sse && waited == QUIET => break,
            Err(_) => {}
        }
    }
    Ok(Some(Bytes::from_static(b": the run goes on\n\n")))
}

fn written(lines: &[Arc<str>], form: Form) -> Bytes {
    let mut text = String::with_capacity(lines.iter().map(|line| line.len() + 64).sum());
    for line in lines {
        if form == Form::Sse {
            let (name, number) = head(line);
            let _ = write!(text, "id: {number}\nevent: {name}\ndata: {line}\n\n");
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.into()
}

/// The kind and the number of an event, which are among its first fields.
fn head(line: &str) -> (&str, u64) {
    let after = |key: &str| line.split_once(key).map_or("", |(_, rest)| rest);
    let name = after("\"type\":\"").split('"').next().unwrap_or_default();
    let number: String = after("\"seq\":").chars().take_while(char::is_ascii_digit).collect();
    (name, number.parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use belljar::{Event, EventKind, ExecutionId};

    use super::*;

    #[test]
    fn an_event_says_first_what_it_is() {
        let kind = EventKind::Stdout { text: "\"type\":\"ended\",\"seq\":9".into() };
        let line = serde_json::to_string(&Event::new(ExecutionId::new("x"), 17, kind)).unwrap();
        assert_eq!(head(&line), ("stdout", 17), "{line}");
    }
}
