//! Claims about artifacts, and attacks on them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bucket;
mod claims;
mod context;
mod directory;
mod helping;
mod processes;
mod s3_server;
