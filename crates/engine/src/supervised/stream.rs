//! What the supervisor's protocol needs of a connection.

use std::io;
use std::task::{Context, Poll};

use bytes::BytesMut;

/// A connection to a supervisor's stdin, stdout and stderr. Both directions work at once.
pub(crate) trait SupervisorStream: Send + 'static {
    /// Writes some bytes to its stdin.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Sees to it that what was written is on its way.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Waits until [`Self::stdout`] holds more than it did.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamEnd>>;

    /// What the supervisor wrote to stdout and nobody has taken yet.
    fn stdout(&mut self) -> &mut BytesMut;

    /// The last lines it wrote to stderr.
    fn last_words(&self) -> Vec<String>;
}

/// Why nothing more can be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamEnd {
    #[error("its stream ended")]
    Ended,
    #[error("its stream ended in the middle of a frame")]
    Torn,
    #[error("its stream cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("its stream cannot be understood: {0}")]
    Garbled(String),
}
