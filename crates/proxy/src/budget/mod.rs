//! How much of the host a cell's traffic takes, counted while it is taken.
//!
//! | what there is only so much of | counted by | when a cell has had its share |
//! |---|---|---|
//! | bytes of a run | [`Bytes`] | its connections end, and new ones are refused |
//! | new connections | [`Rate`] | they wait their turn, or are refused |
//! | processor time of the proxy | [`Labour`] | its connections pause |
//! | descriptors of the process | [`Descriptors`] | new connections wait in the kernel's queue |
//!
//! All but the last are a cell's own. Descriptors are one pool for everybody in the process, so they are shared out.

mod bytes;
mod descriptors;
mod labour;
mod rate;
mod savings;

pub(crate) use bytes::Bytes;
pub use descriptors::{Claim, Descriptors, Share};
pub(crate) use labour::{Labour, Paced};
pub(crate) use rate::Rate;
