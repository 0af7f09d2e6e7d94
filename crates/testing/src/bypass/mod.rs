//! Ways around the proxy, as data. Each must be refused by the rule it breaks, before a byte
//! reaches anybody.
//!
//! The proxy's own tests send them over a socket, and those of the runtime from inside a real cell.
//!
//! ```text
//!  cases.txt    the corpus, one line a case
//!  corpus.rs    reads it
//!  shape.rs     how a case looks on the wire, and how its refusal does
//!  hello.rs     TLS greetings that no TLS library would send
//!  host.rs      a host that counts what reaches it, and the policy that allows it
//!  odd.rs       a host that misbehaves
//! ```

mod corpus;
mod hello;
mod host;
mod odd;
mod shape;

pub use corpus::{Case, cases};
pub use hello::{extension, hello, server_name};
pub use host::{ALLOWED, Heard, Host, answer, policy, policy_with_credentials};
pub use odd::Odd;
pub use shape::{Opening, Shape, denial, refusal, silence};
