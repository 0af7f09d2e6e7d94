//! Hosts of every kind, for the tests in `tests/hosts`.
//!
//! A host is the program that Belljar is embedded in. Some are ordinary, many are not: they have no
//! tokio, drop it too early, fork, block signals, or are not Rust at all. Each kind is a module of
//! the program `belljar-host`, or a file in `foreign/` that loads this crate as a shared library.
//! [`c_abi`] is what that library offers.

pub mod c_abi;

/// An error with all its causes.
pub fn in_full(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
