//! What an operator sees of runs: metrics, and the life of a run in the log.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "../common/engine.rs"]
mod engine;
#[path = "../it/support.rs"]
#[expect(dead_code, reason = "shared with the other suites, which use more of it")]
mod support;

mod counted;
mod followed;
mod recorder;
