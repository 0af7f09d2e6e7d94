//! The `belljar` command.
//!
//! ```text
//!  args ──► settings ──► commands/{run,shell,doctor,bench} ──► belljar (the library)
//!   what was typed  what it means     │
//!                                     ├► printer   the only way to stdout and stderr; shown: how other people's words look there
//!                                     └► exit      the one place that knows exit codes
//! ```
//!
//! Nothing here decides anything about sandboxes: a command turns arguments into library calls, and what comes back into
//! text and an exit code.

mod args;
mod commands;
mod entry;
mod env;
mod error;
mod exit;
mod follow;
mod interrupt;
mod machine;
mod panics;
mod pretty;
mod printer;
mod progress;
mod script;
mod settings;
mod shown;
mod start;
mod statistics;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    panics::explain();
    // The hook has said what happened.
    let code = std::panic::catch_unwind(|| commands::execute(arguments));
    ExitCode::from(code.unwrap_or(belljar::ExitCode::Infra).number())
}
