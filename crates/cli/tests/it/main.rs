//! Tests the real binary from outside: what it prints, where, and with which exit code.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod agent;
mod artifacts;
mod bad_input;
mod belljar;
mod cache;
#[cfg(feature = "otlp")]
mod collector;
mod dependencies;
mod displays;
mod docker;
mod doctor;
mod exec;
mod exit_codes;
#[cfg(feature = "otlp")]
mod exported;
mod guide;
mod inherited;
mod limits;
mod local;
mod logs;
mod manual;
mod mcp;
mod output;
mod prune;
mod sandbox;
mod screen;
mod scripts;
mod serve;
mod shell;
mod shell_terminal;
mod signals;
mod terminal;
mod tmux;
mod tools;
mod workspace_forks;
mod workspace_runs;
mod workspace_shell;
mod workspaces;
