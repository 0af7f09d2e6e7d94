//! Cells behind a supervisor: a process that runs one guest after the other and speaks for them.
//!
//! ```text
//!  SupervisedCell ── messages over a SupervisorStream ──► supervisor.py ── fork ──► guest
//!        └── Container: what the supervisor runs in; kills it, removes it, knows its egress
//! ```
//!
//! Nothing here is Docker's. An engine of this crate that can start `supervisor.py` and attach to
//! its stdin and stdout implements [`SupervisorStream`] and [`Container`], and has cells.
//!
//! * `message` is the protocol: lines of JSON, some followed by raw bytes.
//! * `stream` is what the protocol needs of a connection.
//! * `supervisor/` is the program itself, which forks the harness for each use.
//! * `container` is what the supervisor runs in.
//! * `cell` keeps the state of one cell by what its supervisor says.

mod cell;
mod container;
mod message;
mod stream;

pub(crate) use cell::SupervisedCell;
pub(crate) use container::{Container, ContainerEgress, Introduction};
pub(crate) use message::{Ready, Surroundings, egress_settings};
pub(crate) use stream::{StreamEnd, SupervisorStream};

/// The supervisor's program: `supervisor.py` and what it is made of, by file name.
pub(crate) const SUPERVISOR: [(&str, &str); 10] = [
    ("supervisor.py", include_str!("supervisor/supervisor.py")),
    ("rights.py", include_str!("supervisor/rights.py")),
    ("host.py", include_str!("supervisor/host.py")),
    ("meter.py", include_str!("supervisor/meter.py")),
    ("guest.py", include_str!("supervisor/guest.py")),
    ("renewal.py", include_str!("supervisor/renewal.py")),
    ("questions.py", include_str!("supervisor/questions.py")),
    ("egress.py", include_str!("supervisor/egress.py")),
    ("stdin.py", include_str!("supervisor/stdin.py")),
    ("clerk.py", include_str!("supervisor/clerk.py")),
];
