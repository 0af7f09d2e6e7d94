//! The task of one program: waits for a place, runs it, does what clients order, and tells how it
//! ended. It alone holds the program, which goes with it.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use belljar::Verdict;
use belljar::program::{ProgramEnd, RunningProgram, StopProgram};
use belljar::workspace::{OpenWorkspace, RunProgramSpec, RunResult, Streaming};
use tokio::sync::watch;

use super::held::{Held, Orders, Stage};
use super::log::Output;
use crate::admission::Place;
use crate::problem::Problem;
use crate::shares::Share;
use crate::state::App;

/// What is to run.
pub(super) struct Job {
    pub(super) workspace: OpenWorkspace,
    pub(super) spec: RunProgramSpec,
    pub(super) streaming: Streaming,
    /// How long it may go without being used. `None`: it does not matter.
    pub(super) idle: Option<Duration>,
    /// The memory that it takes while it waits.
    pub(super) share: Share,
}

/// Runs a program from its turn to its end.
pub(super) async fn drive<T>(app: Arc<App>, held: Arc<Held>, turn: T, job: Job)
where
    T: Future<Output = Result<Place, Problem>>,
{
    let stage = match run(&held, turn, job).await {
        Ok(result) => Stage::Ended(Arc::new(result)),
        Err(problem) => Stage::Failed(problem.code, problem.to_string()),
    };
    held.touch();
    held.stage.send_replace(stage);
    // After the stage: whoever has read everything looks how it ended.
    held.log.close();
    if held.is_forgotten.load(Ordering::SeqCst) {
        app.programs.remove(&held.id);
    }
}

async fn run<T>(held: &Held, turn: T, job: Job) -> Result<RunResult, Problem>
where
    T: Future<Output = Result<Place, Problem>>,
{
    let mut orders = held.orders.subscribe();
    let place = tokio::select! {
        place = turn => place?,
        _ = orders.wait_for(|orders| orders.is_killed || orders.ends_within.is_some()) => {
            return Ok(without(Verdict::Cancelled));
        }
    };
    let Job { workspace, spec, streaming, idle, share } = job;
    let program = workspace.start_streaming(spec, streaming, Output(held.log.clone())).await?;
    held.stage.send_replace(Stage::Running);
    drop(share);
    let end = attend(held, program.program(), orders, idle).await;
    let result = match end {
        Some(end) => program.into_result(&end),
        // The runtime was shut down.
        None => without(Verdict::Infra),
    };
    drop(place);
    Ok(result)
}

/// How a program ended that printed nothing.
fn without(verdict: Verdict) -> RunResult {
    RunResult { exit_code: -1, verdict: Some(verdict.name().to_owned()), ..RunResult::default() }
}

/// Does what clients order until the program has ended.
async fn attend(
    held: &Held,
    program: &RunningProgram,
    mut orders: watch::Receiver<Orders>,
    idle: Option<Duration>,
) -> Option<ProgramEnd> {
    let mut end = pin!(program.wait());
    let mut done = Orders::default();
    let mut killed_at: Option<Instant> = None;
    loop {
        let wanted = orders.borrow_and_update().clone();
        // One that has ended needs no orders, and says so by its end.
        if let Some(size) = wanted.size.filter(|size| done.size != Some(*size)) {
            let _ = program.resize(size);
        }
        if wanted.interrupts != done.interrupts {
            let _ = program.interrupt();
        }
        if wanted.is_killed && !done.is_killed {
            let _ = program.stop(StopProgram::Cancelled);
        }
        if let Some(grace) = wanted.ends_within.filter(|grace| done.ends_within != Some(*grace)) {
            let _ = program.terminate();
            killed_at = Some(Instant::now() + grace);
        }
        done = wanted;
        let bored_at = idle.map(|idle| held.last_use() + idle);
        let alarm = async {
            match killed_at.into_iter().chain(bored_at).min() {
                Some(time) => tokio::time::sleep_until(time.into()).await,
                None => pending().await,
            }
        };
        tokio::select! {
            end = &mut end => return end,
            // The sender is in `held`.
            _ = orders.changed() => {}
            () = alarm => {
                if killed_at.is_some_and(|time| Instant::now() >= time) {
                    let _ = program.stop(StopProgram::Cancelled);
                    killed_at = None;
                } else if idle.is_some_and(|idle| held.last_use().elapsed() >= idle) {
                    let _ = program.stop(StopProgram::TimedOut);
                }
            }
        }
    }
}
