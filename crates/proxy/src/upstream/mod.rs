//! The far side of the proxy: from a target that was allowed to a connection with its host.
//!
//! ```text
//!  Target ─► resolve ─► vet ─► dial ─┬─ plain ──────────────────────────┐
//!                                    └─ TLS, verified (certify, roots) ─┴─► Reached ─► HostConnection ⇄ pool     (requests)
//!                              dial ──────────────────────────────────────► two flows                           (tunnels)
//! ```
//!
//! Every byte is counted on this side ([`Meter`]). How a connection ends is for [`HostSocket`] alone: the side that ends first
//! keeps its port for a minute, and ports are everybody's.

mod certify;
mod connection;
mod dial;
mod flow;
mod meter;
mod pipes;
mod pool;
mod reached;
mod resolve;
mod roots;
mod socket;
mod unacknowledged;

pub(crate) use certify::Authority;
pub(crate) use connection::{HostConnection, agrees};
pub(crate) use dial::{Failure, Undialled, dial};
pub(crate) use flow::{Flow, Way};
pub(crate) use meter::{Counted, Meter};
pub(crate) use pipes::Pipes;
pub(crate) use pool::Pool;
pub(crate) use reached::{Protection, Reached};
pub use resolve::{Resolve, ResolveError, Resolving, SystemResolver};
pub use roots::Roots;
pub(crate) use socket::HostSocket;
