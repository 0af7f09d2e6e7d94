//! The only way out of a cell.
//!
//! A cell has no network but a listener on its own loopback. That listener was handed to the host,
//! and this proxy accepts on it. The proxy knows the cell by its listener. It asks
//! [`belljar_core::policy`] about every host, resolves names on the host, and dials only addresses
//! that were vetted.
//!
//! ```text
//!  guest ──► listener ─┬─ 'A'..'Z' ─► head ─┬─ CONNECT ───► connect ─┐
//!            (budget)  │                    └─ http://… ──► forward ─┤ decide ─► upstream:
//!                      ├─ 5 ──────────► socks ──────────────────────┘   resolve, vet, dial
//!                      └─ else: refused
//!
//!  relay:            one request out, its answer back
//!  tunnel:           TLS from both sides, then two flows
//!  tls_termination:  TLS that ends here, then as forward
//! ```
//!
//! * [`Egress`] is one prepared policy, one per template. [`Egress::serve`] gives one cell its
//!   proxy.
//! * [`CellEgress`] is that proxy. Dropping it ends every connection.
//!   [`CellEgress::take_decisions`] returns what was asked.
//! * A refusal is a 403. Its JSON says which rule and what would be allowed, because the reader is
//!   often a model.
//! * `budget` counts what a cell's traffic costs, and `audit` what it asked for. Nothing there
//!   belongs to another cell, and nothing outlives the [`CellEgress`].
//!
//! A small strict parser (`head`) reads requests, not hyper's server. The guest is the enemy here.
//! What a lenient parser repairs (bare line feeds, two lengths, folded lines) is what request
//! smuggling is made of. Answers come from hosts the policy trusts, and hyper reads them.
//!
//! The proxy cannot see inside an allowed TLS tunnel. There a guest can ask a shared front end for
//! another tenant by `Host` header (domain fronting). It can also name another server in a second
//! ClientHello after a retry. Only a terminated connection is checked request by request.

mod answer;
mod audit;
mod authority;
mod body;
mod budget;
mod cell;
mod connect;
mod disconnect;
mod egress;
mod error;
mod forward;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz_entries;
mod head;
mod inject;
mod limits;
mod listener;
mod relay;
mod sni;
mod socks;
mod tls_termination;
mod tunnel;
mod upstream;
mod wire;

pub use budget::{Claim, Descriptors, Share};
pub use egress::{Egress, EgressOptions};
pub use error::EgressError;
pub use limits::Limits;
pub use listener::CellEgress;
pub use upstream::{Resolve, ResolveError, Resolving, Roots, SystemResolver};
