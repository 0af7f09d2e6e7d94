//! `belljar shell`: one session, entry by entry.
//!
//! ```text
//!  Input ──lines──► Entry ──complete──► a step on the session, or a command ──► printed
//!                                        ├ Ctrl-C: KeyboardInterrupt, the variables stay
//!                                        └ its cell is gone (killed, crashed): the next step gets
//!                                          a new one
//! ```
//!
//! Without a terminal nobody can type more, so Ctrl-C ends the shell, and its exit code is that of
//! the last step that failed.

use std::time::Duration;

use anyhow::{Context, ensure};
use belljar::config::ExecutionMode;
use belljar::{ExecutionRequest, ExecutionResult, Runtime, RuntimeError, Sandbox, Session, Verdict};

use super::run::{advice, prepare};
use crate::args::{McpArgs, ShellArgs};
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::{Interrupt, Interrupts};
use crate::mcp::Servers;
use crate::printer::{Output, Printer};
use crate::settings::Settings;
use crate::shell::{Action, Ended, Entry, Input, Said, dedented, files, follow_step, help, parse, table};
use crate::units;

pub(super) async fn shell(options: ShellArgs, verbose: bool) -> Result<End, CliError> {
    let settings = Settings::resolve(&options.sandbox, options.engine.name)?;
    let interrupts = Interrupts::listen()?;
    let runtime = settings.runtime().await?;
    let mut servers = Servers::default();
    let outcome = converse(&runtime, &settings, interrupts, (&mut servers, &options.mcp, verbose)).await;
    runtime.shutdown().await;
    servers.close().await;
    outcome
}

async fn converse(
    runtime: &Runtime,
    settings: &Settings,
    mut interrupts: Interrupts,
    (servers, mcp, verbose): (&mut Servers, &McpArgs, bool),
) -> Result<End, CliError> {
    let printer = Printer::new(Output::Human);
    let preparing = async {
        let tools = servers.connect(mcp, &printer, verbose).await?;
        prepare(runtime, settings, tools, (&printer, verbose)).await
    };
    let sandbox = tokio::select! {
        sandbox = preparing => sandbox?,
        interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
    };
    let input = Input::open(&printer)?;
    if input.is_interactive() {
        let (version, engine) = (env!("CARGO_PKG_VERSION"), runtime.engine_name());
        let python = &sandbox.report().python;
        printer.note(&format!(
            "Belljar {version}, Python {python} in a {engine} cell. :help for help, Ctrl-D to leave."
        ))?;
    }
    let session = sandbox.session().await?;
    let mut shell =
        Shell { settings, sandbox, session, printer, interrupts, input, timeout: None, last_failure: None };
    shell.read_to_the_end().await
}

struct Shell<'a> {
    settings: &'a Settings,
    sandbox: Sandbox,
    session: Session,
    printer: Printer,
    interrupts: Interrupts,
    input: Input,
    /// How long a step may take, where `:timeout` has said so.
    timeout: Option<Duration>,
    /// How the last step ended that failed.
    last_failure: Option<Verdict>,
}

/// Whether the shell goes on.
enum Next {
    GoOn,
    Leave(End),
}

impl Shell<'_> {
    async fn read_to_the_end(&mut self) -> Result<End, CliError> {
        let mut entry = Entry::default();
        loop {
            self.input.prompt(&self.printer, &entry)?;
            let (complete, is_end) = match self.listen().await? {
                Ok(Said::Line(line)) if entry.is_empty() && line.trim_start().starts_with(':') => {
                    (Some(line), false)
                }
                Ok(Said::Line(line)) => (entry.push(&line), false),
                // The rest may still be a whole program, because the end of a file closes a block.
                Ok(Said::End) => (Some(entry.take()), true),
                Ok(_) => {
                    entry.take();
                    continue;
                }
                Err(interrupt) => return Ok(End::Interrupted(interrupt)),
            };
            let Some(complete) = complete else { continue };
            if let Next::Leave(end) = self.enter(&complete).await? {
                return Ok(end);
            }
            if is_end {
                return Ok(self.end());
            }
        }
    }

    /// How the shell ends when nothing more is said.
    fn end(&mut self) -> End {
        match self.last_failure.take() {
            Some(verdict) if !self.input.is_interactive() => End::RanProgram(verdict),
            _ => End::Done,
        }
    }

    /// Waits for what is said at the prompt, and answers what is asked meanwhile. The error is a
    /// signal that ends the shell.
    async fn listen(&mut self) -> Result<Result<Said, Interrupt>, CliError> {
        loop {
            let said = tokio::select! {
                said = self.input.next() => said?,
                interrupt = self.interrupts.next() => match interrupt {
                    Interrupt::Keyboard if self.input.is_interactive() => {
                        if !self.input.is_signalled() {
                            continue;
                        }
                        self.printer.text("\n")?;
                        Said::Cleared
                    }
                    _ => return Ok(Err(interrupt)),
                },
            };
            match said {
                Said::Question(question) => {
                    // A session that is gone has no names.
                    let found = self.session.complete(&question.line).await.unwrap_or_default();
                    question.answer(found);
                }
                Said::End if self.input.is_interactive() && self.input.is_signalled() => {
                    self.printer.text("\n")?;
                    return Ok(Ok(said));
                }
                said => return Ok(Ok(said)),
            }
        }
    }

    /// Does what a complete entry asks for.
    async fn enter(&mut self, entry: &str) -> Result<Next, CliError> {
        if entry.trim().is_empty() {
            return Ok(Next::GoOn);
        }
        self.input.remember(entry);
        match parse(entry) {
            Ok(None) => {
                let code = if self.input.is_interactive() { dedented(entry) } else { entry.to_owned() };
                let interrupt = self.step(code).await?;
                Ok(interrupt.map_or(Next::GoOn, |interrupt| Next::Leave(End::Interrupted(interrupt))))
            }
            Ok(Some((Action::Quit, _))) => Ok(Next::Leave(self.end())),
            Ok(Some((action, argument))) => {
                if let Err(error) = self.obey(action, argument).await {
                    self.refuse(error)?;
                }
                Ok(Next::GoOn)
            }
            Err(error) => self.refuse(error.into()).map(|()| Next::GoOn),
        }
    }

    /// Says what is wrong with a command. The shell goes on.
    fn refuse(&mut self, error: CliError) -> Result<(), CliError> {
        let CliError::Input(error) = error else { return Err(error) };
        self.printer.error(&format!("{error:#}"))?;
        self.last_failure = Some(Verdict::Exception);
        Ok(())
    }

    async fn obey(&mut self, action: Action, argument: &str) -> Result<(), CliError> {
        match action {
            Action::Help => self.printer.text(&help())?,
            Action::Variables => self.show_variables().await?,
            Action::Reset => {
                self.session = self.sandbox.session().await?;
                self.printer
                    .note("A new session has begun: variables and files of the last one are gone.")?;
            }
            Action::Files => files::list(&self.session, &self.printer).await?,
            Action::Get => files::get(&self.session, &self.printer, argument).await?,
            Action::Put => files::put(&self.session, &self.printer, argument).await?,
            Action::Timeout => self.set_timeout(argument)?,
            Action::Quit => {}
        }
        Ok(())
    }

    async fn show_variables(&mut self) -> Result<(), CliError> {
        let variables = self.session.variables().await?;
        if variables.is_empty() {
            return Ok(self.printer.note("There are no variables yet.")?);
        }
        Ok(self.printer.text(&table(&variables))?)
    }

    fn set_timeout(&mut self, argument: &str) -> Result<(), CliError> {
        if !argument.is_empty() {
            self.timeout = Some(seconds(argument)?);
        }
        let seconds = self.timeout().as_secs_f64();
        Ok(self.printer.note(&format!("A step may take {seconds} s."))?)
    }

    fn timeout(&self) -> Duration {
        let configured = || self.settings.blueprint.config.resource_limits.execution_timeout();
        self.timeout.unwrap_or_else(configured)
    }

    /// Runs one entry. If a person can type more, Ctrl-C interrupts the step and nothing else.
    /// Otherwise it ends the shell.
    async fn step(&mut self, entry: String) -> Result<Option<Interrupt>, CliError> {
        let mut request = ExecutionRequest::new(entry).with_mode(ExecutionMode::Interactive);
        if let Some(timeout) = self.timeout {
            request = request.with_timeout(timeout);
        }
        let execution = self.session.stream(request);
        let is_interactive = self.input.is_interactive();
        match follow_step(execution, &self.printer, &mut self.interrupts, is_interactive).await? {
            Ok(ended) => self.show_end(ended)?,
            Err(interrupt) => return Ok(Some(interrupt)),
        }
        if !self.session.is_alive() {
            self.session = self.sandbox.session().await?;
            self.printer.note("The session is over and a new one has begun: its variables are gone.")?;
        }
        Ok(None)
    }

    fn show_end(&mut self, Ended { result, was_interrupted }: Ended) -> Result<(), CliError> {
        match result {
            Ok(result) if was_interrupted && result.verdict == Verdict::Cancelled => {
                self.printer.traceback(&result)?;
                if self.session.is_alive() {
                    self.printer.note("interrupted; the variables are kept")?;
                }
                self.last_failure = Some(result.verdict);
            }
            Ok(result) => {
                let advice = self.advice(&result);
                let is_raised = result.verdict == Verdict::Exception && result.traceback.is_some();
                if self.input.is_interactive() && is_raised && advice.is_none() {
                    // Its traceback says it all, as at Python's own prompt.
                    self.printer.traceback(&result)?;
                } else {
                    self.printer.result(&result, advice.into())?;
                }
                if !result.success() {
                    self.last_failure = Some(result.verdict);
                }
            }
            // For example a NUL in an entry. It does not touch the session.
            Err(error @ RuntimeError::Script(_)) => {
                self.printer.error(&error.to_string())?;
                self.last_failure = Some(Verdict::Exception);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn advice(&self, result: &ExecutionResult) -> Option<String> {
        match result.verdict {
            Verdict::TimeoutWall => {
                let seconds = self.timeout().as_secs_f64();
                Some(format!("a step may take {seconds} s; give it more with :timeout SECS"))
            }
            _ => advice(result, self.settings, None),
        }
    }
}

/// A time limit that is possible.
fn seconds(text: &str) -> anyhow::Result<Duration> {
    const LONGEST: f64 = 86_400.0;
    let refused =
        || format!("{text:?} is no time limit. Write seconds, such as `:timeout 60` or `:timeout 2m30s`");
    let seconds = units::seconds(text).ok().with_context(refused)?;
    ensure!(seconds > 0.0 && seconds <= LONGEST, "a step may take more than 0 s and up to {LONGEST} s");
    Ok(Duration::from_secs_f64(seconds))
}
