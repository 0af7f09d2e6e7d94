//! The promises, tried on real cells of the engine under test.
//!
//! Where this machine cannot make cells every test says so in one line and passes, unless
//! `BELLJAR_TEST_REQUIRE` lists the engine.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::disallowed_methods, reason = "a test has a tokio runtime to itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod as_python;
mod channel;
mod compatibility;
mod confinement;
mod dependencies;
mod described_tools;
mod displays;
mod endings;
mod ends;
mod files;
mod freshness;
mod grants;
mod harness;
mod host_limits;
mod host_tools;
mod hosts;
mod inquiries;
mod json_schema;
mod pool;
mod pool_deaths;
mod preloads;
mod programs;
mod pythons;
mod refused;
mod run_within;
mod scripts;
mod sessions;
mod slow_listeners;
mod stalled_readers;
mod streaming;
mod tools;
mod wire;
