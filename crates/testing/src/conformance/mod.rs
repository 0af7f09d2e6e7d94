//! The claims that every engine must pass, whoever wrote it.
//!
//! [`suite`] takes an engine and the parts that apply to it, tries each claim on real cells, and
//! reports each one by name. It uses the public traits alone, so an engine of another repository
//! can be held to it.
//!
//! ```text
//!  suite.rs       runs the claims one after the other
//!  report.rs      what came of each
//!  subject.rs     the engine under test, and short ways to run a script on it
//!  protocol.rs    requests, events, results                   ┐
//!  programs.rs    arguments, stdin, files                     │
//!  sessions.rs    steps, interrupts                           ├ Part::Protocol
//!  endings.rs     verdicts, deadlines, cancelling, shutdown   ┘
//!  isolation.rs   nothing is shared, nothing is left            Part::Isolation
//!  egress.rs      the hosts of a policy, and no others          Part::Egress
//! ```
//!
//! A claim about processes looks for them in this machine's `/proc`. Where cells are not processes
//! of this machine it is skipped, and the report says so.

mod claim;
mod egress;
mod endings;
mod isolation;
mod programs;
mod protocol;
mod report;
mod sessions;
mod subject;
mod suite;

pub use report::{Failure, Report, Skip};
pub use suite::{Part, claims, suite};
