//! Counts what a cell's traffic takes from the host, while it is taken.
//!
//! | what is limited | counted by | what happens at the limit |
//! |---|---|---|
//! | bytes of a run | [`Bytes`] | its connections end, and new ones are refused |
//! | new connections | [`Rate`] | they wait their turn, or are refused |
//! | processor time of the proxy | [`ProcessorTime`] | its connections pause |
//! | descriptors of the process | [`Descriptors`] | new connections wait in the kernel's queue |
//! | ports in `TIME_WAIT` | [`Ports`] | the host is not told that its guest has ended its side |
//!
//! The first three belong to a cell. Descriptors are one pool for the whole process, and ports one
//! pool for all cells of a template, so these are shared out.

mod bytes;
mod descriptors;
mod ports;
mod processor_time;
mod rate;
mod token_bucket;

pub(crate) use bytes::Bytes;
pub use descriptors::{Claim, Descriptors, Share};
pub(crate) use ports::{CellPorts, Hold, Ports};
pub(crate) use processor_time::{Paced, ProcessorTime};
pub(crate) use rate::Rate;
