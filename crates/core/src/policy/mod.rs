//! May this cell talk to that host? The one place that answers.
//!
//! Every way out of a cell (an absolute URL, CONNECT, SOCKS, a server name in TLS) asks [`decide`] before anything is
//! resolved and [`vet`] before anything is dialled. Both are pure: no clock, no resolver, no socket, so what they promise
//! is proven by properties instead of by traffic.
//!
//! ```text
//!  "EVIL.com.", 443 ──► Host::parse ──► decide ──► Target ──► (proxy resolves) ──► vet ──► (proxy dials that address)
//!                          │              │                                        │
//!                          └──────────────┴───────────── Denial { rule } ──────────┘
//! ```
//!
//! What a header's name means to the least careful server is here too ([`folded`]), because a policy may set headers.
//!
//! Names are ASCII. A name outside ASCII is refused instead of being converted, because two libraries that convert it
//! differently are a hole; its `xn--` form is accepted, by a guest and in a policy alike.

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
