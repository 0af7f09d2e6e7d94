//! The guest's side: one Python program for every engine, carried inside this crate.

/// The harness's source.
pub const HARNESS: &str = include_str!("harness.py");
