//! The only way out of a cell.
//!
//! A cell has no network but a listener on its own loopback, which was handed to the host. Behind it stands this proxy:
//! it knows which cell it speaks to by the listener, asks [`belljar_core::policy`] about every host, resolves names on the
//! host, and dials only addresses that were vetted.
//!
//! ```text
//!  guest ──► listener ─┬─ 'A'..'Z' ─► head ─┬─ CONNECT ───► connect ─┐
//!            (budget)  │                    └─ http://… ──► forward ─┤ decide ─► upstream: resolve, vet, dial
//!                      ├─ 5 ──────────► socks ──────────────────────┘
//!                      └─ else: refused                relay:  one request out, its answer back
//!                                                      tunnel: TLS from both sides, then two flows
//!                                                      inside: TLS that is opened here, then as forward
//! ```
//!
//! * [`Egress`] is one policy made ready (one per template); [`Egress::serve`] gives one cell its proxy.
//! * [`CellEgress`] is that proxy: dropping it ends every connection; [`CellEgress::take_decisions`] tells what was asked.
//! * A refusal is a 403 whose JSON says which rule and what would be allowed, since the reader is often a model.
//! * What a cell's traffic costs is counted in `budget`, what it asked for in `audit`. Nothing there is another cell's, and
//!   nothing outlives the [`CellEgress`].
//!
//! Requests are read by a small strict parser (`head`), not by hyper's server: the guest is the enemy here, and what a
//! lenient parser repairs (bare line feeds, two lengths, folded lines) is what request smuggling is made of. Answers come
//! from hosts the policy trusts, and are read by hyper.
//!
//! What it cannot see: inside an allowed TLS tunnel a guest can ask a shared front end for another tenant by `Host`
//! header (domain fronting), and can name another server in a second ClientHello after a retry. Only a terminated
//! connection is checked request by request.

mod answer;
mod audit;
mod authority;
mod body;
mod budget;
mod cell;
mod connect;
mod departure;
mod egress;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod entries;
mod error;
mod forward;
mod head;
mod inject;
mod inside;
mod limits;
mod listener;
mod relay;
mod sni;
mod socks;
mod tunnel;
mod upstream;
mod wire;

pub use budget::{Claim, Descriptors, Share};
pub use egress::{Egress, EgressOptions};
pub use error::EgressError;
pub use limits::Limits;
pub use listener::CellEgress;
pub use upstream::{Resolve, ResolveError, Resolving, Roots, SystemResolver};
