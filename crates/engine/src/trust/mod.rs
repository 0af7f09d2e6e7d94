//! Directories that only this process's user and root can change.
//!
//! What is in a cache is used again: packages whose code runs in cells, paths of interpreters that
//! cells see. A user who can write there, or replace it, decides what runs. So nothing is used
//! before the whole path to it was checked, from the root down, links included. Each part is opened
//! by a descriptor of the part before it:
//!
//! ```text
//!  / ──► var ──► cache ──► belljar ──► layers       each owned by root or this user, and
//!  root   root    root       user        user       writable by nobody else; on the way a
//!                                                   sticky directory such as /tmp is allowed
//! ```
//!
//! `sshd` trusts a key file by the same rule. What was checked stays open. Code that uses it by its
//! path compares: the path must still lead to the same directory.

mod access_list;
mod check;
mod directory;
mod distrust;
mod group;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use directory::TrustedDirectory;
pub use distrust::Distrust;
