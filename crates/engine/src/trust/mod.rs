//! Directories that nobody but us and root can change.
//!
//! What is kept in a cache is used again: packages whose code runs in cells, paths of interpreters that are shown to them. Whoever can write there, or put
//! something else in its place, decides what runs. So nothing is used before the whole way to it has been looked at, from the root down, each part
//! by a descriptor of the part before it, links included:
//!
//! ```text
//!  / ──► var ──► cache ──► belljar ──► layers       each owned by root or us, and writable by nobody else;
//!  root   root    root       us          us         on the way a sticky directory such as /tmp will do
//! ```
//!
//! It is the rule by which `sshd` believes a key file. What was looked at stays open, and whoever uses it under its path compares: the path must
//! still lead to the same directory.

mod access_list;
mod check;
mod directory;
mod distrust;
mod group;
#[cfg(test)]
mod tests;
mod way;

pub(crate) use directory::TrustedDirectory;
pub use distrust::Distrust;
