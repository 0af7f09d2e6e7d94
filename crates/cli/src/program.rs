//! Programs, as opposed to scripts: runs one in a workspace and hands on what it prints.
//!
//! ```text
//!  stdin ──► program ──► output (at most 1 MiB waits) ──► printer (a thread that may block)
//!              ▲
//!  Ctrl-C ─────┘ interrupts it; a second one kills it
//! ```
//!
//! * `output` is what waits between a program and the reader of stdout.
//! * `input` is what a program reads.
//! * `terminal` is the user's own terminal, handed over to a program.

pub(crate) mod input;
mod output;
pub(crate) mod terminal;

use std::time::Duration;

use belljar::Verdict;
use belljar::program::{ProgramEnd, StopProgram};
use belljar::workspace::{OpenWorkspace, RunProgramSpec, RunResult, StreamedProgram, Streaming};

use self::output::Printed;
pub(crate) use self::output::{Raw, Shown, output};
use crate::commands::advice;
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::{Interrupt, Interrupts};
use crate::printer::{Advice, Printer};
use crate::settings::Settings;
use crate::terminal_text::quoted;

/// How a program ended, and what the user wanted meanwhile.
pub(crate) struct Ended {
    pub(crate) result: RunResult,
    pub(crate) end: ProgramEnd,
    /// The signal that had it killed.
    pub(crate) interrupt: Option<Interrupt>,
}

/// Runs a program and prints what it prints, or keeps that for its result. Instead of an end there
/// is a signal that came before the program began.
pub(crate) async fn run(
    workspace: &OpenWorkspace,
    spec: RunProgramSpec,
    streaming: Streaming,
    (printer, interrupts): (&Printer, &mut Interrupts),
) -> Result<Result<Ended, Interrupt>, CliError> {
    let shown = (!streaming.keeps_output).then(|| Shown::new(printer.clone()));
    let (sink, printed) = output(shown)?;
    let program = tokio::select! {
        program = workspace.start_streaming(spec, streaming, sink) => program?,
        interrupt = interrupts.next() => return Ok(Err(interrupt)),
    };
    let (end, interrupt) = attend(&program, printed, interrupts).await?;
    Ok(Ok(Ended { result: program.into_result(&end), end, interrupt }))
}

/// Waits for the end of a program, and of what it printed. Signals are passed on.
async fn attend(
    program: &StreamedProgram,
    mut printed: Printed,
    interrupts: &mut Interrupts,
) -> Result<(ProgramEnd, Option<Interrupt>), CliError> {
    /// How long a program may take to end that was asked to.
    const LAST_WORDS: Duration = Duration::from_secs(5);
    let program = program.program();
    let mut first = None;
    let mut killer = None;
    let mut patience = std::pin::pin!(tokio::time::sleep(Duration::MAX));
    let end = loop {
        tokio::select! {
            end = program.wait() => break end.ok_or(belljar::RuntimeError::ShutDown)?,
            // Nobody reads any more. What is dropped then kills the program.
            Err(error) = printed.failed() => return Err(CliError::Output(error)),
            interrupt = interrupts.next() => match (first, interrupt) {
                (None, Interrupt::Keyboard) => {
                    first = Some(interrupt);
                    let _ = program.interrupt();
                }
                (None, _) => {
                    first = Some(interrupt);
                    let _ = program.terminate();
                    patience.as_mut().reset(tokio::time::Instant::now() + LAST_WORDS);
                }
                (Some(_), _) => {
                    killer = Some(interrupt);
                    let _ = program.stop(StopProgram::Cancelled);
                }
            },
            () = &mut patience, if killer.is_none() && first.is_some() => {
                killer = first;
                let _ = program.stop(StopProgram::Cancelled);
            }
        }
    };
    tokio::select! {
        printed = printed.done() => printed.map_err(CliError::Output)?,
        // The reader of stdout takes its time, and the user does not.
        interrupt = interrupts.next() => return Ok((end, Some(interrupt))),
    }
    Ok((end, killer))
}

/// Tells people why a program failed, where it has not done so itself, and gives the exit code.
pub(crate) fn tell(ended: &Ended, settings: &Settings, printer: &Printer) -> Result<End, CliError> {
    let Ended { end, interrupt, .. } = ended;
    if let Some(interrupt) = interrupt {
        return Ok(End::Interrupted(*interrupt));
    }
    match &end.result.verdict {
        _ if !printer.is_for_people() => {}
        Verdict::Exited { .. } if end.not_started.is_some() => {
            printer.error(&quoted(end.not_started.as_deref().unwrap_or_default()))?;
        }
        Verdict::Ok | Verdict::Exited { .. } | Verdict::Signaled { .. } => {}
        Verdict::Disk => printer.result(&end.result, Advice::Help(more_room(settings)))?,
        _ => printer.result(&end.result, Advice::from(advice(&end.result, settings, None)))?,
    }
    Ok(End::RanProgram(end.result.verdict.clone()))
}

/// What to do about a disk that is full: there are two.
fn more_room(settings: &Settings) -> String {
    let mebibytes = settings.blueprint.config.scratch_size_mb;
    format!(
        "a workspace has the room that --max-disk gave it; outside of it there are {mebibytes} MiB, or what --disk says"
    )
}
