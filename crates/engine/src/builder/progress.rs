//! What a caller can show while a layer is made.

use super::installer::Installer;

/// One thing that happened on the way to a layer. A layer that is already there reports nothing.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// Another thread or process is at the same layer; its result will be used.
    Waiting,
    /// The installer starts.
    Started {
        /// Which one.
        installer: Installer,
        /// What it is asked for.
        requirements: Vec<String>,
    },
    /// A line of its output.
    Line(String),
    /// The layer is in place.
    Done {
        /// Time since `Started`.
        seconds: f64,
    },
}
