//! The escape suite: each test is an attack on a cell, and passes when the attack fails.
//!
//! ```text
//!  attacks/<family>.py   what a script tries: one block an attack, and the answer it must get
//!  families.rs           the names of these blocks; every one becomes a test
//!  attack.rs             reads the blocks, runs one, compares
//!  counters.rs           numbers that the whole machine has only so many of
//!  grants.rs             a granted directory, and what lies around it
//!  host.rs               the host itself while a cell is alive
//!  leftovers.rs          what runs leave in networks, devices, scratch places and the zygote
//!  neighbours.rs         another live cell of the same template
//!  traces.rs             earlier runs, and what all cells are born with
//!  support.rs            which engine is attacked, and on what terms
//! ```
//!
//! Answers are compared exactly, so that a slip in an attack does not pass for a wall that held;
//! wherever it can, an attack shows first that its tool works on what the guest owns. Where this
//! machine cannot make cells every test says so and passes, unless `BELLJAR_TEST_REQUIRE` lists the
//! engine.

#![expect(clippy::disallowed_methods, reason = "a test has a tokio runtime to itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod attack;
mod counters;
mod families;
mod grants;
mod host;
mod leftovers;
mod neighbours;
mod support;
mod traces;
