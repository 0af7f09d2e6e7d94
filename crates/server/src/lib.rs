//! Belljar over HTTP: one process, one port.
//!
//! ```text
//!  client ──► guard ──► routes ──► admission ──► runs ──► belljar (the library)
//!             token,    runs,      a bounded      events     │
//!             host,     sessions,  queue; tokens  as they    └► history: every run and its events
//!             origin    overview   take turns     come
//! ```
//!
//! * [`ServerOptions`] is how it is set up, [`Server`] what serves.
//! * `guard` decides who asks; [`Token`]s are kept by a [`TokenStore`].
//! * `admission` decides who waits.
//! * `runs` and `sessions` are what clients come for; `overview` says how it goes.
//! * `mcp` is the same for models, over HTTP or, as a [`McpServer`], over a pipe.
//! * `graders` runs programs for those who judge them, in the words of other servers.
//! * `console` is a page to see all of it, and is a client like any other.
//! * `workspaces`, `programs` and `artifacts` are what stays: directories, what runs in them, and
//!   named files. `tools` says what scripts can call.
//! * `history` keeps what has run; [`HistoryReader`] reads it, also without a server.
//! * `trace` knows which trace of its caller's a request belongs to.
//! * `problem` is the only way in which something is refused; `openapi` says all that can be asked.

mod admission;
mod artifacts;
mod body;
mod console;
mod graders;
mod guard;
mod history;
mod mcp;
mod openapi;
mod options;
mod overview;
mod patience;
mod problem;
mod programs;
mod revoked;
mod runs;
mod serve;
mod sessions;
mod shares;
mod state;
mod tls;
mod tokens;
mod tools;
mod trace;
mod workspaces;

pub use self::history::{HistoryError, HistoryReader, Retention, RunFilter, RunSummary};
pub use self::mcp::McpServer;
pub use self::openapi::openapi;
pub use self::options::{ServerLimits, ServerOptions, TlsFiles};
pub use self::overview::keep_metrics;
pub use self::serve::{ServeError, Server};
pub use self::tls::TlsError;
pub use self::tokens::{Scope, Token, TokenError, TokenLimits, TokenStore, write_private};
