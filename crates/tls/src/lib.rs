//! Whom Belljar's own clients trust when they speak TLS.
//!
//! Models, MCP servers and buckets of artifacts are reached over HTTPS, and so are the hosts that
//! the egress proxy talks to in a cell's place. All of them are verified by one rule, and this is
//! the only place that states it: the root certificates of the machine, the cryptography of ring,
//! TLS 1.2 and 1.3, and no certificate of our own.
//!
//! ```
//! # fn main() -> Result<(), belljar_tls::NoRoots> {
//! // Handed to an HTTP client before it is built.
//! let settings = belljar_tls::client_config("http")?;
//! # let _ = settings; Ok(()) }
//! ```
//!
//! * [`machine_roots`] loads the root certificates, and says what to do if there are none.
//! * [`client_config`] makes the settings of a client out of them. [`client_config_trusting`] does
//!   so for a client that trusts somebody else.
//!
//! What a docker daemon is trusted by is another rule, docker's own: `belljar_engine` has it.

mod client;
mod roots;

pub use client::{client_config, client_config_trusting};
pub use roots::{NoRoots, machine_roots};
