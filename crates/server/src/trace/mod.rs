//! Which trace a request belongs to: W3C Trace Context, in and out.
//!
//! ```text
//!  traceparent ──► request ──► guard: a client has its trace ──► a run, a program
//!  (or a new          │                                             │
//!   trace)            └► traceresponse, a line in the log           └► TRACEPARENT, if it was sent
//! ```
//!
//! * `context` reads and writes the headers. It is pure.
//! * `asked` is where one request stands in a trace, and what goes on from there.
//! * `request` is around every request: its span, its answer's header, its line in the log.
//! * `export` knows the ids under which spans are exported, if they are (feature `otlp`).
//!
//! A header that is wrong is no error: a new trace begins. Nothing here sees a script, its output,
//! its arguments, a secret or the text of a token.

mod asked;
mod context;
mod export;
mod request;

pub(crate) use self::asked::{Kind, Trace, VARIABLES};
pub(crate) use self::request::{Followed, follow};
