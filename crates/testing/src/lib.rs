//! What the tests of Belljar share. It is a dev-dependency and is never published.
//!
//! ```text
//!  choice.rs        which engine is under test (BELLJAR_TEST_ENGINE), and where it cannot run
//!  running.rs       a runtime, a sandbox, what a script gives
//!  waiting.rs       waiting with a bound on hangs
//!  processes.rs     processes and control groups that a test has left
//!  attacks.rs       reads files of attacks: name, expectation, script
//!  bypass/          the corpus of ways around the proxy, and the hosts it must not reach
//!  replay.rs        the corpora of the fuzz targets, and changes to them
//!  conformance/     the claims that every engine must pass, out-of-tree ones too
//! ```
//!
//! Whoever writes an engine needs [`conformance`] only:
//!
//! ```no_run
//! # async fn example(engine: std::sync::Arc<dyn belljar_engine::Engine>) {
//! use belljar_testing::conformance::{Part, suite};
//!
//! suite(engine, &[Part::Protocol, Part::Isolation]).await.assert_passed();
//! # }
//! ```

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

pub mod attacks;
pub mod bypass;
mod choice;
pub mod conformance;
mod processes;
pub mod replay;
mod running;
mod waiting;

pub use choice::{
    build, build_with, cache, connect_or_skip, docker_with, engine, installed, local, native, only_on,
};
pub use processes::{
    children_of, control_groups_of, directories_in, kill, name_of, processes_below, processes_called,
    scopes_of, signal,
};
pub use running::{
    about_the_run, config, data, has, needs_isolation, run, runtime, sandbox_with, sandbox_with_tools,
    session, tool_sources,
};
pub use waiting::{HANG, eventually, in_time, interrupted, patience, slowness};
