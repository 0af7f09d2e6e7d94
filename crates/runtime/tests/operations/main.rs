//! What an operator sees of runs: metrics, and the life of a run in the log.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod counted;
mod followed;
mod recorder;
