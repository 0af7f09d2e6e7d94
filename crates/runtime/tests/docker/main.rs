//! What is the docker engine's alone: containers as the daemon sees them, their reuse, their
//! deaths, and what is left of them.
//!
//! What every engine promises is tried by the other suites: `BELLJAR_TEST_ENGINE=docker cargo
//! nextest run -p belljar-runtime`.
//!
//! Without a daemon every test says so in one line and passes, unless `BELLJAR_TEST_REQUIRE` lists
//! `docker`.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::disallowed_methods, reason = "a test has a tokio runtime to itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod building;
mod containers;
mod daemon;
mod deaths;
mod leftovers;
mod network;
mod remote;
mod reuse;
mod world;
