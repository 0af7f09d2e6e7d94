//! Runs blocking work off the async threads.
//!
//! This does not use `tokio::task::spawn_blocking`, which panics if the machine cannot start
//! another thread. A host at its limits gets an error that says so.

use std::io;
use std::thread;

use tokio::sync::oneshot;

/// Runs blocking work on a thread of its own. An error if no thread can be started, or if the work
/// panicked.
pub async fn on_a_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (done, outcome) = oneshot::channel();
    named(name).spawn(move || {
        // The waiting caller may have given up.
        let _ = done.send(work());
    })?;
    outcome.await.map_err(|_| io::Error::other(format!("the thread {name} panicked")))
}

/// A thread to be started. The host's environment has no say in its stack (`RUST_MIN_STACK`).
pub(crate) fn named(name: &str) -> thread::Builder {
    const STACK: usize = 2 << 20;
    thread::Builder::new().name(name.to_owned()).stack_size(STACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_and_nothing_more() {
        assert_eq!(on_a_thread("test", || 6 * 7).await.unwrap(), 42);
        let error = on_a_thread("test", || panic!("as it is meant to")).await.unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
    }
}
