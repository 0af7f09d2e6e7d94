//! The far side of the proxy: from an allowed target to a connection with its host.
//!
//! ```text
//!  requests:  Target ─► resolve ─► vet ─► dial ─┬─ plain ─────────┬─► HostStream
//!                                               └─ verified TLS ──┘   ─► HostConnection ⇄ pool
//!  tunnels:   Target ─► resolve ─► vet ─► dial ─► two flows
//! ```
//!
//! Verified TLS comes from `certificate_authority` and `roots`. Every byte is counted on this side
//! ([`Meter`]). Only [`HostSocket`] ends a connection: the side that ends first keeps its port for
//! a minute, and all programs of the machine share the ports.

mod certificate_authority;
mod connection;
mod dial;
mod flow;
mod host_stream;
mod meter;
mod pipes;
mod pool;
mod resolve;
mod roots;
mod socket;
mod unacknowledged;

pub(crate) use certificate_authority::CertificateAuthority;
pub(crate) use connection::{HostConnection, agrees};
pub(crate) use dial::{Failure, NotConnected, dial};
pub(crate) use flow::{Flow, Way};
pub(crate) use host_stream::{HostStream, Protection};
pub(crate) use meter::{Counted, Meter};
pub(crate) use pipes::Pipes;
pub(crate) use pool::Pool;
pub use resolve::{Resolve, ResolveError, Resolving, SystemResolver};
pub use roots::Roots;
pub(crate) use socket::HostSocket;
