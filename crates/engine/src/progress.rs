//! What a caller can show while a sandbox is made ready.

/// One step of the work. A sandbox whose packages or image are already there reports nothing.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// Another thread or process does the same work. Its outcome will be used.
    Waiting,
    /// An installer of packages starts.
    Started {
        /// The installer's name, such as `uv` or `pip`.
        installer: String,
        /// What it is asked to install.
        requirements: Vec<String>,
    },
    /// A line of output.
    Line(String),
    /// The packages are in place.
    Done {
        /// How many there are, with those that the requirements need in turn.
        packages: usize,
        /// Time since `Started`.
        seconds: f64,
    },
}
