//! The server as clients meet it: over HTTP, on a port of its own, with real cells.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod artifacts;
mod console;
mod contract;
mod doors;
mod full_disk;
mod graders;
mod guide;
mod history;
mod mcp;
mod programs;
mod queue;
mod runs;
mod sessions;
mod shares;
mod stopping;
mod terminals;
mod tls;
mod tools;
mod traces;
mod workspaces;
mod world;
