//! May this cell talk to that host? This is the only place that answers.
//!
//! Every way out of a cell (an absolute URL, CONNECT, SOCKS, a server name in TLS) asks [`decide`]
//! before anything is resolved, and [`vet`] before anything is dialled. Both are pure: no clock, no
//! resolver, no socket. So property tests can prove what they promise, without traffic.
//!
//! ```text
//!  "EVIL.com.", 443 ► Host::parse ──► decide ─► Target ─► (proxy resolves) ──► vet ──► (it dials)
//!                          │            │                                      │
//!                          └────────────┴──────────── Denial { rule } ─────────┘
//! ```
//!
//! [`folded`] is here too: it reads a header's name like the least careful server, because a policy
//! may set headers.
//!
//! Names are ASCII. A name outside ASCII is refused and not converted, because two libraries that
//! convert it differently are a security hole. Its `xn--` form is accepted, from a guest and in a
//! policy.

mod address;
mod allowlist;
mod decide;
mod header;
mod host;
mod number;
mod rule;

pub use address::{AddressKind, kind_of};
pub use decide::{Denial, Target, covers, decide, vet};
pub use header::{folded, is_for_one_connection, is_for_the_proxy};
pub use host::{Host, HostError};
pub(crate) use host::{is_label, is_number};
pub use rule::Rule;
