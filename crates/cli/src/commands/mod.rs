//! One file per command, and what all commands have around them.

mod agent;
mod artifact;
mod bench;
mod build;
mod cache;
mod docker;
mod doctor;
mod exec;
mod manual;
mod mcp;
mod missing_module;
mod run;
mod runs;
mod serve;
mod shell;
mod token;
mod tools;
mod ws;

pub(crate) use self::run::advice;

use std::time::Duration;

use crate::args::{Arguments, Command};
use crate::error::CliError;
use crate::exit::{self, End};
use crate::logs::Logs;
use crate::printer::{Output, Printer};
use crate::startup;

/// Runs the command and prints its error, if any. Returns the exit code.
pub(crate) fn execute(arguments: Arguments) -> u8 {
    let outcome = Logs::begin(&arguments.command).and_then(|logs| {
        let outcome = startup::check().and_then(|()| in_tokio(arguments));
        logs.end();
        outcome
    });
    let printer = Printer::new(Output::Human);
    // If stderr cannot be written either, the error cannot be reported.
    let _ = match &outcome {
        Err(error) if !error.is_closed_pipe() => printer.error(&error.explain()),
        Ok(End::Interrupted(_)) => printer.note("cancelled"),
        _ => printer.leave(),
    };
    exit::code(&outcome)
}

fn in_tokio(arguments: Arguments) -> Result<End, CliError> {
    /// A thread that waits for stdin or a blocked pipe has nothing to clean up.
    const LAST_THREADS: Duration = Duration::from_millis(10);
    // One thread is enough for one script, and saves every event a trip to another core.
    let mut builder = match &arguments.command {
        Command::Serve(_) | Command::Mcp(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let tokio = builder.enable_all().build();
    let tokio = tokio.map_err(CliError::system("start the event loop"))?;
    let work = async move {
        let verbose = arguments.verbose;
        match arguments.command {
            Command::Run(options) => run::run(options, verbose).await,
            Command::Exec(options) => exec::exec(options, verbose).await,
            Command::Ws(command) => ws::ws(command, verbose).await,
            Command::Artifact(command) => artifact::artifact(command).await,
            Command::Agent(options) => agent::agent(options, verbose).await,
            Command::Shell(options) => shell::shell(options, verbose).await,
            Command::Serve(options) => serve::serve(*options, verbose).await,
            Command::Mcp(options) => mcp::mcp(*options, verbose).await,
            Command::Token(command) => token::token(command),
            Command::Runs(command) => runs::runs(command).await,
            Command::Doctor(options) => doctor::doctor(options).await,
            Command::Bench(options) => bench::bench(options).await,
            Command::Build(options) => build::build(options, verbose).await,
            Command::Tools(command) => tools::tools(command).await,
            Command::Cache(command) => cache::cache(command).await,
            Command::Docker(command) => docker::docker(command).await,
            Command::Completions(options) => manual::completions(&options),
            Command::Man(options) => manual::man(&options),
        }
    };
    // The command runs as a task: waking the outermost future also wakes the event loop itself,
    // which costs a system call each time.
    let outcome = tokio.block_on(async {
        match tokio::spawn(work).await {
            Ok(outcome) => outcome,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    });
    tokio.shutdown_timeout(LAST_THREADS);
    outcome
}
