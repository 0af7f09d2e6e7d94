//! The `belljar` command.
//!
//! ```text
//!  args ──► settings ──► commands/{run,agent,shell,…} ──► belljar (the library)
//!   what was typed  what it means     │
//!                                     ├► program   runs programs in workspaces (ws, exec)
//!                                     ├► printer   the only way to stdout and stderr
//!                                     │  ├ terminal_text   makes other text safe for a terminal
//!                                     │  └ pictures        shows what a script displays
//!                                     └► exit      the only place that chooses an exit code
//! ```
//!
//! It is a library because the Python package has the same command in its native module.
//!
//! This crate decides nothing about sandboxes. A command turns arguments into library calls, and
//! turns what they return into text and an exit code.

mod agent_view;
mod args;
mod commands;
mod data;
mod env;
mod error;
mod exit;
mod files;
mod follow;
mod interrupt;
mod logs;
mod machine;
mod mcp;
mod metadata;
mod panics;
mod pictures;
mod pretty;
mod printer;
mod program;
mod progress;
mod requirements;
mod script;
mod secrets;
mod settings;
mod shell;
mod startup;
mod statistics;
mod terminal_text;
mod units;

use clap::Parser;

/// Obeys the command line of this process. Returns the exit code.
pub fn main() -> u8 {
    if program::terminal::keeper::is_called() {
        return u8::from(program::terminal::keeper::keep().is_err());
    }
    let arguments = args::Arguments::parse();
    panics::explain();
    // The panic hook has reported what happened.
    let code = std::panic::catch_unwind(|| commands::execute(arguments));
    code.unwrap_or(belljar::ExitCode::Infra.number())
}
