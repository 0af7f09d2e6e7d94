//! Models that are reached over HTTP.
//!
//! ```text
//!  HttpModel::openai / ::anthropic ──► builder ──► HttpModel: a Model
//!                                                     │ body
//!       retry: again, or not, and when ◄── failed ── endpoint: one request, bounded, timed
//!                                                     │ bytes
//!                         openai, anthropic: events ◄─ sse: bytes as events
//! ```
//!
//! * `http` is the model, and `builder` sets it up. Requests are made on threads of Belljar's own,
//!   so it can be used wherever a sandbox can.
//! * `endpoint` makes one request after the other until there is a reply or an error with a name.
//! * `problem` is what goes wrong with one request. `retry` says which are made again.
//! * `openai` and `anthropic` know what their servers want and say. Neither does any I/O.
//!
//! A key is in a header and nowhere else. No error, log or `Debug` has it. `hiding` takes it out of
//! what a server says, which may repeat it.

mod anthropic;
mod builder;
mod endpoint;
mod hiding;
mod http;
mod openai;
mod problem;
mod retry;
mod sse;

pub use self::builder::HttpModelBuilder;
pub use self::http::{HttpModel, Provider, UnknownProvider};
pub use self::retry::Retry;
