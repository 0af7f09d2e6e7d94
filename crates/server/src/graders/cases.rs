//! `POST /v1/grade`: one program, many inputs. It is compiled once. Each input has a cell of its
//! own, so that no case can leave anything for the next.
//!
//! Cases run side by side as far as there are places: the first goes on the place of the request,
//! others are taken between cases only, so that other clients have their turn. The answer has the
//! cases in the order in which they came, and does not depend on which was done first.

mod request;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use self::request::{Case, Grading, StopOn, Written};
use super::described::Graded;
use super::ended::{Ended, How};
use super::program::Ready;
use crate::body::Object;
use crate::guard::Client;
use crate::problem::Problem;
use crate::state::App;
use crate::tokens::{Scope, TokenLimits};

/// Bytes of output in one answer. What comes after that is compared, and not told.
const MOST_TOLD: usize = 64 << 20;

/// Runs one program with many inputs. It is compiled once; each input has a cell of its own.
#[utoipa::path(
    post, path = "/v1/grade", tag = "graders", operation_id = "grade", request_body = Written,
    responses((status = OK, body = Graded, description = "how it did")),
)]
pub(super) async fn grade(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Object(fields, _share): Object,
) -> Result<Response, Problem> {
    client.needs(Scope::Run)?;
    let grading = Grading::read(fields, client.limits.max_timeout_sec)?;
    let _busy = app.graders.begin();
    let place = app.admission.turn(&client.id, &client.limits)?.await?;
    // One case that needs a workspace is reason enough for all to have one.
    let needs_one = |case: &&Case| !app.graders.is_fast(&grading.job, &case.input);
    let example = grading.cases.iter().find(needs_one).unwrap_or(&grading.cases[0]);
    let ready = app.graders.make_ready(&client.id, &grading.job, &example.input).await?;
    let done = match ready.is_compiled() {
        true => Done::run(&app, &client, &grading, &ready).await?,
        false => BTreeMap::new(),
    };
    drop(place);
    Ok(Json(told(&grading, &ready, done)).into_response())
}

/// Cases on their way.
struct Done<'a> {
    app: &'a App,
    grading: &'a Grading,
    ready: &'a Ready,
    next: AtomicUsize,
    /// The first case that is known to have failed, if the others need not run then.
    first_failure: AtomicUsize,
    ended: Mutex<BTreeMap<usize, Ended>>,
}

impl<'a> Done<'a> {
    async fn run(
        app: &'a App,
        client: &Client,
        grading: &'a Grading,
        ready: &'a Ready,
    ) -> Result<BTreeMap<usize, Ended>, Problem> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let done = Self {
            app,
            grading,
            ready,
            next: AtomicUsize::new(0),
            first_failure: AtomicUsize::new(usize::MAX),
            ended: Mutex::default(),
        };
        let more = processors.min(grading.cases.len()).saturating_sub(1);
        let first = async {
            while done.one().await? {}
            Ok(())
        };
        let others = (0..more).map(|_| done.beside(client));
        tokio::try_join!(first, try_join_all(others))?;
        Ok(done.ended.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs cases beside the first, while there are places. The request has been counted, so these
    /// are no more runs of their token, but they are places of it.
    async fn beside(&self, client: &Client) -> Result<(), Problem> {
        let limits = TokenLimits { runs_per_minute: None, ..client.limits };
        while self.has_more() {
            let Ok(turn) = self.app.admission.turn(&client.id, &limits) else { return Ok(()) };
            let Some(_place) = self.in_time(turn).await else { return Ok(()) };
            self.one().await?;
        }
        Ok(())
    }

    /// Waits for a place. Whoever runs the last case does not wait for those who wait for a place.
    async fn in_time<P>(&self, turn: impl Future<Output = Result<P, Problem>>) -> Option<P> {
        const OFTEN: std::time::Duration = std::time::Duration::from_millis(20);
        let mut turn = std::pin::pin!(turn);
        loop {
            match tokio::time::timeout(OFTEN, &mut turn).await {
                Ok(place) => return place.ok(),
                Err(_) if self.has_more() => {}
                Err(_) => return None,
            }
        }
    }

    fn has_more(&self) -> bool {
        let next = self.next.load(Ordering::Acquire);
        next < self.grading.cases.len() && next <= self.first_failure.load(Ordering::Acquire)
    }

    /// Runs the next case. Whether there was one.
    async fn one(&self) -> Result<bool, Problem> {
        let number = self.next.fetch_add(1, Ordering::AcqRel);
        let case = match self.grading.cases.get(number) {
            Some(case) if number < self.first_failure.load(Ordering::Acquire) => case,
            _ => return Ok(false),
        };
        let ended = self.app.graders.run(self.ready, &self.grading.job, &case.input).await?;
        if self.grading.stop_on == StopOn::FirstFailure && Judged::of(case, &ended).outcome != "passed" {
            self.first_failure.fetch_min(number, Ordering::AcqRel);
        }
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(number, ended);
        Ok(true)
    }
}

/// What is said of a case.
struct Judged {
    outcome: &'static str,
    difference: Option<super::compare::Difference>,
}

impl Judged {
    fn of(case: &Case, ended: &Ended) -> Self {
        if !ended.is_success() {
            return Self { outcome: "failed", difference: None };
        }
        let expected = case.expected.as_deref();
        let difference = expected.and_then(|expected| case.compare.difference(expected, &ended.stdout));
        Self { outcome: if difference.is_some() { "wrong" } else { "passed" }, difference }
    }
}

fn told(grading: &Grading, ready: &Ready, mut done: BTreeMap<usize, Ended>) -> Value {
    let mut counts: BTreeMap<&str, usize> =
        ["passed", "wrong", "failed", "skipped"].map(|name| (name, 0)).into();
    let mut left = MOST_TOLD;
    let mut is_stopped = false;
    let mut cases = Vec::new();
    for (number, case) in grading.cases.iter().enumerate() {
        // What ran beside the first failure counts as little as what did not run.
        let ended = done.remove(&number).filter(|_| !is_stopped);
        let (outcome, mut told) = match ended {
            None => ("skipped", json!({})),
            Some(ended) => {
                let judged = Judged::of(case, &ended);
                let mut told = step(&ended, &mut left);
                told["difference"] = json!(judged.difference);
                (judged.outcome, told)
            }
        };
        *counts.entry(outcome).or_default() += 1;
        is_stopped |= grading.stop_on == StopOn::FirstFailure && outcome != "passed";
        told["index"] = json!(number);
        told["outcome"] = json!(outcome);
        if let Some(id) = &case.id {
            told["id"] = json!(id);
        }
        cases.push(told);
    }
    let (compilations, is_reused) = match ready {
        Ready::Compiled { is_reused, .. } => (usize::from(!is_reused), *is_reused),
        _ => (0, false),
    };
    json!({
        "language": grading.job.tongue.name,
        "is_correct": counts["passed"] == grading.cases.len(),
        "counts": counts,
        "compile": ready.compiled().map(|ended| {
            let mut told = step(ended, &mut left);
            told["is_reused"] = json!(is_reused);
            told
        }),
        "compilations": compilations,
        "cases": cases,
    })
}

fn step(ended: &Ended, left: &mut usize) -> Value {
    let (exit_code, signal) = match ended.how {
        How::Exited(code) => (Some(code), None),
        How::Signaled(signal) => (None, Some(signal)),
        _ => (None, None),
    };
    let length = ended.stdout.len() + ended.stderr.len();
    let is_told = length <= *left;
    *left -= if is_told { length } else { 0 };
    let shown = |text: &str| if is_told { text.to_owned() } else { String::new() };
    json!({
        "verdict": ended.verdict,
        "exit_code": exit_code,
        "signal": signal,
        "stdout": shown(&ended.stdout),
        "stderr": shown(&ended.stderr),
        "is_output_left_out": !is_told,
        "usage": {
            "wall_ms": ended.wall.as_secs_f64() * 1e3,
            "cpu_ms": ended.cpu.map(|cpu| cpu.as_secs_f64() * 1e3),
            "peak_memory_bytes": ended.peak_memory,
        },
    })
}
