//! How much of the host a cell's traffic takes, counted while it is taken.
//!
//! | what there is only so much of | counted by | when a cell has had its share |
//! |---|---|---|
//! | bytes of a run | [`Bytes`] | its connections end, and new ones are refused |
//! | new connections | [`Rate`] | they wait their turn, or are refused |
//! | processor time of the proxy | [`Labour`] | its connections pause |
//! | descriptors of the process | [`Descriptors`] | new connections wait in the kernel's queue |
//! | ports that wait after an end | [`Ports`] | a host is not told that its guest has ended its side |
//!
//! The first three are a cell's own. Descriptors are one pool for everybody in the process and ports one for all cells of a
//! template, so they are shared out.

mod bytes;
mod descriptors;
mod labour;
mod ports;
mod rate;
mod savings;

pub(crate) use bytes::Bytes;
pub use descriptors::{Claim, Descriptors, Share};
pub(crate) use labour::{Labour, Paced};
pub(crate) use ports::{CellPorts, Hold, Ports};
pub(crate) use rate::Rate;
