//! The one way out, from inside real cells: ordinary clients reach the hosts a config allows and no others.
//!
//! The bypass corpus is the proxy's own (`crates/proxy/tests/bypass`), run here once more from inside a cell; the rest is about
//! what a script, its caller and its neighbours see of it.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "../common/engine.rs"]
mod engine;
#[path = "../it/support.rs"]
#[expect(dead_code, reason = "shared with the other suites, which use more of it")]
mod support;

#[path = "../../../proxy/tests/bypass/corpus.rs"]
mod corpus;
#[path = "../../../proxy/tests/bypass/hello.rs"]
mod hello;
#[path = "../../../proxy/tests/bypass/host.rs"]
mod host;
#[path = "../../../proxy/tests/bypass/odd.rs"]
mod odd;
#[path = "../../../proxy/tests/bypass/shape.rs"]
mod shape;

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
