//! What can go wrong with a gateway or a kernel. Code that fails is not an error: it is a
//! [`KernelStatus`](crate::KernelStatus).

use std::path::PathBuf;
use std::time::Duration;

/// Why a gateway or a kernel cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JupyterError {
    /// Nobody answers there.
    #[error("no Jupyter gateway answers at {place}: {source}")]
    Unreachable {
        /// Where it was looked for.
        place: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The path is not a socket. A link to one is not followed.
    #[error("{} is not a socket; links are not followed", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The token is not the gateway's.
    #[error("the Jupyter gateway refuses the token")]
    Token,
    /// There is no kernel of this name.
    #[error("the Jupyter gateway has no kernel called {name:?}; it has: {}", known.join(", "))]
    NoSuchKernel {
        /// The name.
        name: String,
        /// Those it has.
        known: Vec<String>,
    },
    /// It answers something else than it should.
    #[error("the Jupyter gateway does not do {what}: {reason}")]
    Answer {
        /// The request.
        what: String,
        /// The answer, shortened, or what is wrong with it.
        reason: String,
    },
    /// It takes too long.
    #[error("the Jupyter gateway did not do {what} within {} s", within.as_secs())]
    Silent {
        /// The request.
        what: String,
        /// How long it was waited for.
        within: Duration,
    },
    /// The connection broke during a run. Nothing is known of how the run ended.
    #[error("the connection to the Jupyter kernel broke during the run: {reason}")]
    Lost {
        /// What broke it.
        reason: String,
    },
    /// The code is longer than a gateway reads.
    #[error("the code has {bytes} bytes, and a Jupyter gateway reads at most {most}")]
    CodeTooLong {
        /// Its length.
        bytes: usize,
        /// The most that is possible.
        most: usize,
    },
    /// The kernel was shut down.
    #[error("the Jupyter kernel was shut down")]
    Closed,
    /// The gateway's program cannot be started.
    #[error("the Jupyter gateway cannot be started: {}: {source}", program.display())]
    Start {
        /// The Python that should run it, or a file that it needs.
        program: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The gateway's program gave up.
    #[error(
        "the Jupyter gateway did not start: {reason}{said}. It needs jupyter-kernel-gateway and ipykernel in its Python"
    )]
    Gateway {
        /// What happened.
        reason: String,
        /// The last lines of what it printed: empty, or a sentence.
        said: String,
    },
}

/// The beginning of a stranger's text, without any character that a terminal would act upon.
pub(crate) fn printable(text: &str, most: usize) -> String {
    let mut shown: String =
        text.chars().take(most).map(|c| if belljar_core::is_printable(c) { c } else { ' ' }).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}
