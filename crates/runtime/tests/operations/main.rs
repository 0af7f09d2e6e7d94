//! What an operator sees of runs: metrics, and the life of a run in the log.

#![expect(clippy::disallowed_methods, reason = "a test has a tokio runtime to itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod counted;
mod followed;
mod recorder;
