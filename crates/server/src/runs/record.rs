//! Drives a run, and writes down what it says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use belljar::{
    Event, EventKind, Execution, ExecutionId, ExecutionRequest, ExecutionResult, RuntimeError, Verdict,
};
use tokio::sync::OwnedMutexGuard;
use tracing::Instrument as _;

use super::log::Ending;
use super::{ProgramRun, Run, new_id};
use crate::admission::Place;
use crate::guard::Client;
use crate::history::{Begun, Chronicle, Outcome, now_ms};
use crate::problem::{Code, Problem, with_causes};
use crate::shares::Share;
use crate::state::App;
use crate::trace::Kind;

/// Where a run comes from. Whatever it holds is held until its end.
pub(crate) enum Source {
    /// A script in a cell of its own.
    Script(Execution),
    /// A step. Nobody else has the session meanwhile.
    Step(Execution, OwnedMutexGuard<belljar::Session>),
    /// A program in a workspace.
    Program(Box<ProgramRun>),
}

/// Where a run belongs.
pub(crate) struct Home {
    /// The name of its sandbox.
    pub(crate) sandbox: String,
    /// The session that it is a step of.
    pub(crate) session: Option<String>,
    pub(crate) manner: Manner,
}

/// How a run waits and goes on.
pub(crate) struct Manner {
    /// How long it goes on when nobody follows it any more. `None`: to its end.
    pub(crate) grace: Option<Duration>,
    /// The memory that its request takes until it is its turn.
    pub(crate) share: Option<Share>,
}

/// Lines a run up, or refuses it at once. `start` is called when it is its turn.
pub(crate) fn begin<S, F>(
    app: &Arc<App>,
    client: &Client,
    request: ExecutionRequest,
    home: Home,
    start: S,
) -> Result<Arc<Run>, Problem>
where
    S: FnOnce(ExecutionRequest) -> F + Send + 'static,
    F: Future<Output = Result<Source, Problem>> + Send + 'static,
{
    let turn = app.admission.turn(&client.id, &client.limits)?;
    let id = new_id("run");
    let run = Run::new(&id, &client.id, home.manner.grace);
    let mut request = request.with_execution_id(&id);
    let span = client.trace.span(Kind::Run, &id, &home.sandbox);
    for (name, value) in client.trace.variables(&span) {
        request.env.entry(name.to_owned()).or_insert(value);
    }
    let begun = Begun {
        id,
        owner: client.id.clone(),
        sandbox: home.sandbox,
        session: home.session,
        script: request.script.clone(),
        started_ms: now_ms(),
    };
    let share = home.manner.share;
    app.runs.add(run.clone());
    tokio::spawn(
        record(app.clone(), run.clone(), begun, turn, move || {
            drop(share);
            start(request)
        })
        .instrument(span),
    );
    Ok(run)
}

/// Waits for a turn, runs, and keeps everything that is said. The last event is always the verdict.
async fn record<T, S, F>(app: Arc<App>, run: Arc<Run>, begun: Begun, turn: T, start: S)
where
    T: Future<Output = Result<Place, Problem>>,
    S: FnOnce() -> F,
    F: Future<Output = Result<Source, Problem>>,
{
    let chronicle = Chronicle::begin(&app.writer, begun).await;
    let mut recorder = Recorder { run: &run, chronicle, next: 0 };
    let place = tokio::select! {
        place = turn => place,
        () = run.cancelled() => return never_ran(&app, recorder).await,
    };
    let source = match place {
        Ok(place) => start().await.map(|source| (place, source)),
        Err(problem) => Err(problem),
    };
    let ending = match source {
        Ok((place, source)) => {
            let ending = recorder.run(source).await;
            drop(place);
            ending
        }
        Err(problem) => Err(problem),
    };
    let ending = match ending {
        Ok(result) => Ending::Result(result),
        Err(problem) => {
            // Nothing else would tell those who follow that it is over, and why.
            let mut result = ExecutionResult::new(recorder.id(), Verdict::Infra, app.runtime.engine_name());
            result.error = Some(problem.to_string());
            recorder.say_end(result.into()).await;
            Ending::Failed(Arc::new(Mutex::new(Some(problem))))
        }
    };
    conclude(&app, recorder, ending).await;
}

async fn never_ran(app: &App, mut recorder: Recorder<'_>) {
    let mut result = ExecutionResult::new(recorder.id(), Verdict::Cancelled, app.runtime.engine_name());
    result.error = Some("it was cancelled before it began".to_owned());
    let result = Arc::new(result);
    recorder.say_end(result.clone()).await;
    conclude(app, recorder, Ending::Result(result)).await;
}

/// Tells everybody, and forgets the run once the history has all of it.
async fn conclude(app: &App, recorder: Recorder<'_>, ending: Ending) {
    let Recorder { run, chronicle, .. } = recorder;
    let outcome = match &ending {
        Ending::Result(result) => outcome(result),
        Ending::Failed(problem) => {
            let error = problem.lock().ok().and_then(|it| it.as_ref().map(ToString::to_string));
            Outcome { verdict: Verdict::Infra.name().to_owned(), error, ..Outcome::default() }
        }
    };
    run.end(ending);
    chronicle.end(outcome).await;
    app.writer.flush().await;
    app.runs.remove(&run.id);
}

fn outcome(result: &ExecutionResult) -> Outcome {
    Outcome {
        verdict: result.verdict.name().to_owned(),
        error: result.error.clone(),
        wall_ms: result.usage.wall_ms,
        cpu_ms: result.usage.cpu_ms,
        peak_memory_bytes: result.usage.peak_memory_bytes.and_then(|bytes| bytes.try_into().ok()),
    }
}

struct Recorder<'a> {
    run: &'a Arc<Run>,
    chronicle: Chronicle,
    /// The number of the next event.
    next: u64,
}

impl Recorder<'_> {
    fn id(&self) -> ExecutionId {
        ExecutionId::new(&*self.run.id)
    }

    async fn run(&mut self, source: Source) -> Result<Arc<ExecutionResult>, Problem> {
        let (mut execution, held) = match source {
            Source::Script(execution) => (execution, None),
            Source::Step(execution, session) => (execution, Some(session)),
            Source::Program(program) => return self.run_program(*program).await,
        };
        let handle = execution.handle();
        let mut is_cancelled = false;
        let result = loop {
            let event = tokio::select! {
                event = execution.next() => event,
                () = self.run.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    handle.cancel();
                    continue;
                }
            };
            match event {
                Some(Event { kind: EventKind::Ended { result }, .. }) => break Some(result),
                Some(event) => self.say(event.kind).await,
                None => break None,
            }
        };
        // The cell goes back, and with it the session's turn, before anybody hears of the end.
        let ended = execution.result().await;
        drop(held);
        match (result, ended) {
            (Some(result), _) => {
                self.say_end(result.clone()).await;
                Ok(result)
            }
            (None, Ok(result)) => {
                let result = Arc::new(result);
                self.say_end(result.clone()).await;
                Ok(result)
            }
            (None, Err(error)) => Err(failed(error)),
        }
    }

    async fn run_program(&mut self, mut program: ProgramRun) -> Result<Arc<ExecutionResult>, Problem> {
        let mut is_cancelled = false;
        loop {
            tokio::select! {
                kind = program.next() => match kind {
                    Some(kind) => self.say(kind).await,
                    None => break,
                },
                () = self.run.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    program.cancel();
                }
            }
        }
        let result = Arc::new(program.result(self.id()).await?);
        self.say_end(result.clone()).await;
        Ok(result)
    }

    async fn say_end(&mut self, result: Arc<ExecutionResult>) {
        self.say(EventKind::Ended { result }).await;
    }

    async fn say(&mut self, kind: EventKind) {
        let event = Event::new(self.id(), self.next, kind);
        self.next += 1;
        let line: Arc<str> = serde_json::to_string(&event).expect("an event is plain data").into();
        self.chronicle.event(event.seq, line.clone()).await;
        self.run.push(line, &self.chronicle.progress);
        if let Some(number) = self.run.must_wait_for() {
            self.chronicle.progress.beyond(number).await;
        }
    }
}

fn failed(error: RuntimeError) -> Problem {
    match error {
        RuntimeError::Abandoned => Problem::new(Code::Internal, with_causes(&error)),
        error => error.into(),
    }
}
