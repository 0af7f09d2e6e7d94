//! The threads that Belljar has for itself, and the contexts its futures are polled in.
//!
//! A host may have a tokio runtime, several, one whose clock stands still, or none. It may drop the
//! one that it opened a sandbox on. So whatever goes on between two calls (cells are made, reset
//! and watched, hosts are proxied to) is done on two threads in the background, each with its
//! own tokio runtime. They are started when they are first needed, and end with the process.
//!
//! A call itself is polled where its caller polls it, because a thread of its own would cost a run
//! two wake-ups. What it waits for is registered there ([`Streams::come_here`]). Only a caller
//! without a usable runtime borrows their clock and reactor.
//!
//! [`Streams::come_here`]: crate::Streams::come_here

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;
use tokio_util::context::TokioContext;

use crate::EngineError;

/// Where Belljar's own work is done.
#[derive(Debug, Clone)]
pub struct Background {
    /// Threads, each with its own tokio runtime.
    threads: Arc<[Handle]>,
    /// Whose turn it is.
    turn: Arc<AtomicUsize>,
    /// The process that it belongs to. Threads do not follow a fork.
    process: u32,
}

/// Something is used in a fork of the process that has it. Cells and threads do not follow a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a runtime cannot be used in a fork of its process: it was made in process {made_in}. Build another runtime after the fork"
)]
#[non_exhaustive]
pub struct Forked {
    /// The process that has it.
    pub made_in: u32,
}

/// That of this process, and of those that it was forked from.
static ALL: Mutex<Vec<Background>> = Mutex::new(Vec::new());

impl Background {
    /// That of this process. Starts it if it is not there yet.
    pub fn of_this_process() -> Result<Self, EngineError> {
        let process = std::process::id();
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(present) = all.iter().find(|one| one.process == process) {
            return Ok(present.clone());
        }
        let mut threads = vec![start().map_err(EngineError::io("start a thread of its own"))?];
        // More would be better, but one is enough.
        threads.extend(start());
        let started = Self { threads: threads.into(), turn: Arc::default(), process };
        all.push(started.clone());
        Ok(started)
    }

    /// Where to do the next thing. They take turns.
    pub(crate) fn handle(&self) -> &Handle {
        &self.threads[self.turn.fetch_add(1, Ordering::Relaxed) % self.threads.len()]
    }

    /// Whether this is still the process that it was started in, and no fork of it.
    pub(crate) fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// Refuses a fork of the process that it was started in.
    pub fn check(&self) -> Result<(), Forked> {
        if self.is_here() { Ok(()) } else { Err(Forked { made_in: self.process }) }
    }

    /// Does work here, from beginning to end, whoever waits for it. Dropping the future ends it.
    pub async fn run<F>(&self, work: F) -> F::Output
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let mut task = AbortOnDrop(self.handle().spawn(work));
        match (&mut task.0).await {
            Ok(output) => output,
            // Nobody else can abort it, and the thread does not end before the process does.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Does work for a caller, in a context that has a clock and a reactor: the caller's own if it
    /// is fit for it, otherwise this one.
    pub async fn serve<F: Future>(&self, work: F) -> F::Output {
        match own_context() {
            Some(_) => work.await,
            None => TokioContext::new(work, self.handle().clone()).await,
        }
    }

    /// Where to spawn work that a caller begins and then leaves to itself for a while. In a fork
    /// nobody would do it.
    pub fn nearby(&self) -> Result<Handle, Forked> {
        self.check()?;
        Ok(own_context().unwrap_or_else(|| self.handle().clone()))
    }
}

/// The caller's own tokio runtime, unless its clock stands still. Tests pause clocks: then a limit
/// of 30 seconds would be over as soon as nobody has anything to do.
fn own_context() -> Option<Handle> {
    let handle = Handle::try_current().ok()?;
    let before = std::time::Instant::now();
    let now = tokio::time::Instant::now().into_std();
    (before <= now && now <= std::time::Instant::now()).then_some(handle)
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts a thread with a tokio runtime of its own, for ever. Tokio's own threads will not do:
/// where a machine has no more, tokio panics.
fn start() -> io::Result<Handle> {
    let (built, handle) = mpsc::channel();
    let work = move || match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let _ = built.send(Ok(runtime.handle().clone()));
            runtime.block_on(std::future::pending::<()>());
        }
        Err(error) => drop(built.send(Err(error))),
    };
    thread::Builder::new().name("belljar".into()).spawn(work)?;
    handle.recv().map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use super::*;

    #[test]
    fn there_is_one_in_a_process() {
        let (one, two) = (Background::of_this_process().unwrap(), Background::of_this_process().unwrap());
        assert!(Arc::ptr_eq(&one.threads, &two.threads));
        assert!(one.is_here());
    }

    #[tokio::test]
    async fn a_caller_with_a_runtime_is_served_on_it() {
        let background = Background::of_this_process().unwrap();
        let here = Handle::current().id();
        assert_eq!(background.serve(async { Handle::current().id() }).await, here);
        assert_eq!(background.nearby().unwrap().id(), here);
    }

    #[test]
    fn a_caller_without_one_is_served_in_the_background() {
        let background = Background::of_this_process().unwrap();
        let work = background.serve(async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Handle::current().id()
        });
        // Polled by hand: this thread has no runtime.
        let mut work = std::pin::pin!(work);
        let served = loop {
            match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(served) => break served,
                Poll::Pending => std::thread::yield_now(),
            }
        };
        for served in [served, background.nearby().unwrap().id()] {
            assert!(background.threads.iter().any(|thread| thread.id() == served));
        }
    }
}
