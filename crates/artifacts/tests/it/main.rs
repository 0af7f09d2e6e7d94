//! Claims about artifacts, and attacks on them.

mod bucket;
mod claims;
mod context;
mod directory;
mod helping;
mod processes;
mod s3_server;
