//! The one way out, from inside real cells: ordinary clients reach the hosts a config allows and no
//! others.
//!
//! The bypass corpus (`belljar_testing::bypass`) is run here once more from inside a cell. The rest
//! is about what a script, its caller and its neighbours see of it.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::disallowed_methods, reason = "a test has a tokio runtime to itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod abandoned;
mod audit;
mod bypass;
mod clients;
mod credentials;
mod hostile;
mod planted;
mod ports;
mod refusals;
mod smuggling;
mod tenants;
mod termination;
mod world;
