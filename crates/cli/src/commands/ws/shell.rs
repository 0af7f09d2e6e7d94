//! A terminal in a workspace.

use std::io::{self, IsTerminal};
use std::time::Duration;

use anyhow::anyhow;
use belljar::RuntimeError;
use belljar::files::stdin_from_reader;
use belljar::program::StopProgram;
use belljar::workspace::{RunProgramSpec, Streaming};
use tokio::signal::unix::{SignalKind, signal};

use super::run::command;
use super::scene::Scene;
use crate::args::WsShellArgs;
use crate::env;
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::{Interrupt, Interrupts};
use crate::program::terminal::{Keeper, RawTerminal, size};
use crate::program::{self, Ended, Raw, output};

/// How long a terminal may be used, if nothing else is said: as long as any program.
const A_DAY: Duration = Duration::from_secs(86_400);

pub(super) async fn shell(
    scene: &Scene<'_>,
    options: &WsShellArgs,
    interrupts: &mut Interrupts,
) -> Result<End, CliError> {
    let workspace = scene.find(&options.name)?;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let name = &options.name;
        return Err(
            anyhow!("a shell needs a terminal; run a program with `belljar ws run {name} -- CMD`").into()
        );
    }
    scene.warn().await?;
    let system = CliError::system;
    // From here on no change is missed.
    let mut resized = signal(SignalKind::window_change()).map_err(system("listen for signals"))?;
    const SIGCONT: i32 = 18;
    let mut continued = signal(SignalKind::from_raw(SIGCONT)).map_err(system("listen for signals"))?;
    let keeper = Keeper::start();
    let (sink, mut printed) = output(Some(Raw::new(&keeper)))?;
    let stdin = stdin_from_reader(io::stdin());
    let streaming = Streaming { stdin, terminal: Some(size()), keeps_output: false };
    let streamed = tokio::select! {
        started = workspace.start_streaming(spec(options), streaming, sink) => started?,
        interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
    };
    let terminal = RawTerminal::take(keeper).map_err(system("take the terminal"))?;
    let program = streamed.program();
    let mut interrupt = None;
    let end = loop {
        tokio::select! {
            end = program.wait() => break end.ok_or(RuntimeError::ShutDown)?,
            Err(error) = printed.failed() => return Err(CliError::Output(error)),
            _ = resized.recv() => {
                let _ = program.resize(size());
            }
            _ = continued.recv() => {
                // A terminal that was closed has nobody who would miss it. That is told, too.
                let _ = terminal.take_again();
                let _ = program.resize(size());
            }
            sent = interrupts.next() => match sent {
                // Not a key, which the program gets itself, but a signal to this command.
                Interrupt::Keyboard => drop(program.interrupt()),
                sent => {
                    interrupt = Some(sent);
                    let _ = program.stop(StopProgram::Cancelled);
                }
            },
        }
    };
    if interrupt.is_none() {
        tokio::select! {
            done = printed.done() => done.map_err(CliError::Output)?,
            sent = interrupts.next() => interrupt = Some(sent),
        }
    }
    drop(terminal);
    let ended = Ended { result: streamed.into_result(&end), end, interrupt };
    program::tell(&ended, &scene.settings, scene.printer)
}

fn spec(options: &WsShellArgs) -> RunProgramSpec {
    const USUAL: &str = "if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh";
    let mut spec = match options.command.is_empty() {
        true => RunProgramSpec::new("sh", ["-c", USUAL]),
        false => command(&options.command),
    };
    spec.cwd.clone_from(&options.cwd);
    spec.timeout = options.sandbox.timeout.is_none().then_some(A_DAY);
    if let Ok(kind) = std::env::var(env::TERM) {
        spec.env.insert(env::TERM.to_owned(), kind);
    }
    spec
}
