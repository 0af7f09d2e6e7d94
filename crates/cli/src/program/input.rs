//! What a program reads.

use std::io::{self, IsTerminal};
use std::thread;

use belljar::files::{Stdin, stdin_from_reader};
use tokio::sync::oneshot;

use crate::args::InputArgs;
use crate::files::{is_in_the_background, is_nothing};

/// This process's own stdin, unless a person could type into it who was not asked to.
pub(crate) fn stdin(options: &InputArgs) -> Stdin {
    let is_typed = io::stdin().is_terminal() && !options.stdin;
    match options.no_stdin || is_typed || is_nothing() || is_in_the_background() {
        true => Stdin::Empty,
        false => stdin_from_reader(io::stdin()),
    }
}

/// Reads all of stdin, or does other work that may wait for somebody, on a thread. Whoever waits
/// for it can be interrupted.
pub(crate) async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (done, outcome) = oneshot::channel();
    thread::Builder::new().name("reader".into()).spawn(move || {
        // The task that waits for this may be gone.
        let _ = done.send(work());
    })?;
    outcome.await.unwrap_or_else(|_| Err(io::Error::other("the thread that reads is gone")))
}
