//! `belljar shell`: one session, entry by entry.
//!
//! ```text
//!  stdin (a thread) ──lines──► Entry ──complete──► step on the session ──► printed
//!                                                    └ Ctrl-C, time limit: the cell is gone,
//!                                                      the next step gets a new one
//! ```

use std::io::{self, BufRead, IsTerminal};

use belljar::config::ExecutionMode;
use belljar::{ExecutionRequest, Runtime, Sandbox, Session, Verdict};
use tokio::sync::mpsc::{self, Receiver};

use super::run::{advice, prepare};
use crate::args::ShellArgs;
use crate::entry::Entry;
use crate::error::CliError;
use crate::exit::End;
use crate::follow::{follow, hand_on};
use crate::interrupt::{Interrupt, Interrupts};
use crate::printer::{Output, Printer};
use crate::settings::Settings;

/// Entries that end the shell, besides the end of input.
const QUIT: [&str; 5] = [":quit", "exit", "exit()", "quit", "quit()"];

pub(super) async fn shell(options: ShellArgs, verbose: bool) -> Result<End, CliError> {
    let settings = Settings::resolve(&options.sandbox, options.engine.name)?;
    let interrupts = Interrupts::listen()?;
    let runtime = settings.runtime().await?;
    let outcome = converse(&runtime, &settings, interrupts, verbose).await;
    runtime.shutdown().await;
    outcome
}

async fn converse(
    runtime: &Runtime,
    settings: &Settings,
    mut interrupts: Interrupts,
    verbose: bool,
) -> Result<End, CliError> {
    let printer = Printer::new(Output::Human);
    let sandbox = tokio::select! {
        sandbox = prepare(runtime, settings, &printer, verbose) => sandbox?,
        interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
    };
    let is_interactive = io::stdin().is_terminal();
    if is_interactive {
        let (version, engine) = (env!("CARGO_PKG_VERSION"), runtime.engine_name());
        let python = &sandbox.report().python;
        printer
            .note(&format!("Belljar {version}, Python {python} in a {engine} cell. :quit or Ctrl-D ends."))?;
    }
    let mut shell = Shell {
        settings,
        session: sandbox.session().await?,
        sandbox,
        printer,
        interrupts,
        is_interactive,
        last: Verdict::Ok,
    };
    shell.read_to_the_end().await
}

struct Shell<'a> {
    settings: &'a Settings,
    sandbox: Sandbox,
    session: Session,
    printer: Printer,
    interrupts: Interrupts,
    is_interactive: bool,
    /// How the last step ended.
    last: Verdict,
}

impl Shell<'_> {
    async fn read_to_the_end(&mut self) -> Result<End, CliError> {
        let mut lines = read_lines()?;
        let mut entry = Entry::default();
        loop {
            self.prompt(if entry.is_empty() { ">>> " } else { "... " })?;
            let line = tokio::select! {
                line = lines.recv() => line,
                interrupt = self.interrupts.next() => match interrupt {
                    Interrupt::Keyboard if self.is_interactive => {
                        entry.take();
                        self.printer.text("\n")?;
                        continue;
                    }
                    _ => return Ok(End::Interrupted(interrupt)),
                },
            };
            let complete = match line {
                Some(line) => entry.push(&line?),
                // The rest may still be a whole program, because the end of a file closes a block.
                None => {
                    let rest = entry.take();
                    if self.is_interactive {
                        self.printer.text("\n")?;
                    }
                    if !rest.trim().is_empty()
                        && let Some(interrupt) = self.step(rest).await?
                    {
                        return Ok(End::Interrupted(interrupt));
                    }
                    return Ok(if self.is_interactive { End::Done } else { End::Ran(self.last.clone()) });
                }
            };
            let Some(complete) = complete else { continue };
            if QUIT.contains(&complete.trim()) {
                return Ok(End::Done);
            }
            if complete.trim().is_empty() {
                continue;
            }
            if let Some(interrupt) = self.step(complete).await? {
                return Ok(End::Interrupted(interrupt));
            }
        }
    }

    /// Runs one entry. An interrupt ends the step and with it the session. It also ends the shell,
    /// unless a person can type more.
    async fn step(&mut self, entry: String) -> Result<Option<Interrupt>, CliError> {
        let request = ExecutionRequest::new(entry).with_mode(ExecutionMode::Interactive);
        let execution = self.session.stream(request);
        let step = follow(&self.printer, async |queue| hand_on(execution, queue).await);
        let ended = tokio::select! {
            ended = step => Ok(ended?),
            interrupt = self.interrupts.next() => Err(interrupt),
        };
        let interrupt = match ended {
            Ok(Ok(result)) => {
                self.printer.result(&result, advice(&result.verdict, self.settings).into())?;
                self.last = result.verdict;
                None
            }
            // For example a NUL in an entry. It does not touch the session.
            Ok(Err(error @ belljar::RuntimeError::Script(_))) => {
                self.printer.error(&error.to_string())?;
                self.last = Verdict::Exception;
                None
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(interrupt) => {
                self.printer.note("interrupted")?;
                self.last = Verdict::Cancelled;
                (interrupt == Interrupt::Terminate || !self.is_interactive).then_some(interrupt)
            }
        };
        if !self.session.is_alive() && interrupt.is_none() {
            self.session = self.sandbox.session().await?;
            self.printer.note("The session is over and a new one has begun: its variables are gone.")?;
        }
        Ok(interrupt)
    }

    fn prompt(&self, text: &str) -> io::Result<()> {
        if self.is_interactive { self.printer.prompt(text) } else { Ok(()) }
    }
}

/// Reads lines of stdin on a thread of its own, because a terminal cannot be waited for in any
/// other way.
fn read_lines() -> Result<Receiver<Result<String, CliError>>, CliError> {
    const AHEAD: usize = 16;
    let (sender, lines) = mpsc::channel(AHEAD);
    let read = move || {
        for (number, line) in io::stdin().lock().lines().enumerate() {
            let place = || anyhow::anyhow!("line {} of stdin cannot be read", number + 1);
            let line = line.map_err(|error| CliError::Input(anyhow::Error::from(error).context(place())));
            let is_last = line.is_err();
            if sender.blocking_send(line).is_err() || is_last {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(read)
        .map_err(CliError::system("start a thread that reads stdin"))?;
    Ok(lines)
}
