//! The threads that Belljar has for itself, and the contexts its futures are polled in.
//!
//! A host may have a tokio runtime, several, one whose clock stands still, one that nobody drives,
//! or none. It may drop the one that it opened a sandbox on, or move a run to another halfway. So
//! whatever goes on between two calls (cells are made, reset and watched, hosts are proxied to) is
//! done on two threads in the background, each with its own tokio runtime. They are started when
//! they are first needed, and end with the process.
//!
//! A call itself is polled where its caller polls it, because a thread of its own would cost a run
//! two wake-ups. What it waits for is registered there, each time it is polled
//! ([`Streams::come_here`], [`Alarm`]). Only a caller without a usable runtime borrows their clock
//! and reactor.
//!
//! * `serve` decides where a call is polled.
//! * `doubt` finds out whether anybody drives the runtime that a caller is in.
//! * `relay` wakes callers, whatever their wakers do.
//! * `process` tells a process from those that it was forked from. `per_process` keeps what a fork
//!   must not share, and `in_process` what it must not even drop.
//!
//! [`Streams::come_here`]: crate::Streams::come_here
//! [`Alarm`]: crate::Alarm

mod doubt;
mod in_process;
mod per_process;
mod process;
mod relay;
mod serve;

use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::doubt::{Doubts, drives_itself};
pub use self::in_process::InProcess;
pub(crate) use self::per_process::PerProcess;
pub use self::process::Process;
pub use self::relay::CallersWaker;
use self::serve::{Call, honest_context};
use crate::EngineError;
use crate::blocking::named;

/// Where Belljar's own work is done.
#[derive(Clone)]
pub struct Background {
    threads: Arc<[Thread]>,
    /// Whose turn it is.
    turn: Arc<AtomicUsize>,
    doubts: Arc<Doubts>,
    /// The process that it belongs to. Threads do not follow a fork.
    process: Process,
    /// Its number, for people.
    process_id: u32,
}

/// A thread with a tokio runtime of its own. It ends when this is dropped.
struct Thread {
    handle: Handle,
    _until: oneshot::Sender<()>,
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

static BACKGROUND: PerProcess<Background> = PerProcess::new();

impl Background {
    /// That of this process. Starts it if it is not there yet.
    pub fn of_this_process() -> Result<Self, EngineError> {
        BACKGROUND.get_or_try_make(Self::start).cloned()
    }

    fn start() -> Result<Self, EngineError> {
        let mut threads = vec![start().map_err(EngineError::io("start a thread of its own"))?];
        // More would be better, but one is enough.
        threads.extend(start());
        let (threads, doubts) = (Arc::<[Thread]>::from(threads), Arc::<Doubts>::default());
        threads[0].handle.spawn(Arc::clone(&doubts).resolve());
        Ok(Self {
            threads,
            turn: Arc::default(),
            doubts,
            process: Process::this(),
            process_id: std::process::id(),
        })
    }

    /// Where to do the next thing. They take turns.
    pub(crate) fn handle(&self) -> &Handle {
        &self.threads[self.turn.fetch_add(1, Ordering::Relaxed) % self.threads.len()].handle
    }

    /// Whether this is still the process that it was started in, and no fork of it.
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_this()
    }

    /// Refuses a fork of the process that it was started in.
    pub fn check(&self) -> Result<(), Forked> {
        if self.is_here() { Ok(()) } else { Err(Forked { made_in: self.process_id }) }
    }

    /// Does work here, from beginning to end, whoever waits for it. Dropping the future ends it.
    pub async fn run<F>(&self, work: F) -> Result<F::Output, Forked>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let mut task = InProcess::new(AbortOnDrop(self.handle().spawn(work)));
        match self.serve(&mut task.0).await? {
            Ok(output) => Ok(output),
            // Nobody else can abort it, and the thread does not end before the process does.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Does work for a caller, in a context that has a clock and a reactor: the caller's own while
    /// it is fit for it, otherwise this one. That is decided anew each time it is polled. In a fork
    /// it is not done.
    ///
    /// What the work waits for must be able to move: see [`Alarm`](crate::Alarm) and
    /// [`Streams::come_here`](crate::Streams::come_here).
    pub async fn serve<F: Future>(&self, work: F) -> Result<F::Output, Forked> {
        // In a fork nothing of it may even be dropped.
        let (mut call, mut work) = (Call::new(self), InProcess::new(Box::pin(work)));
        poll_fn(|caller| call.poll(caller, |cx| work.as_mut().poll(cx))).await
    }

    /// Where to spawn work that a caller begins and then leaves to itself for a while. In a fork
    /// nobody would do it.
    pub fn nearby(&self) -> Result<Handle, Forked> {
        self.check()?;
        let own = honest_context().filter(|own| self.owns(own) || drives_itself(own));
        Ok(own.unwrap_or_else(|| self.handle().clone()))
    }

    /// Where to spawn work that may outlive whoever begins it.
    pub fn lasting(&self) -> Result<Handle, Forked> {
        self.check()?;
        Ok(self.handle().clone())
    }

    /// Whether this is the runtime of one of its threads.
    fn owns(&self, runtime: &Handle) -> bool {
        self.threads.iter().any(|thread| thread.handle.id() == runtime.id())
    }
}

impl std::fmt::Debug for Background {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Background").field("process", &self.process_id).finish_non_exhaustive()
    }
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts a thread. Tokio's own will not do: where a machine has no more, tokio panics.
fn start() -> io::Result<Thread> {
    const WITHIN: Duration = Duration::from_secs(10);
    let (until, dropped) = oneshot::channel::<()>();
    let (built, handle) = mpsc::channel();
    let work = move || match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let _ = built.send(Ok(runtime.handle().clone()));
            let _ = runtime.block_on(dropped);
        }
        Err(error) => drop(built.send(Err(error))),
    };
    named("belljar").spawn(work)?;
    let handle = handle.recv_timeout(WITHIN).map_err(|_| {
        io::Error::other(
            "it does not come up. A process that was forked while another thread set up its first tokio runtime cannot set up one",
        )
    })??;
    Ok(Thread { handle, _until: until })
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use std::thread;

    use super::*;
    use crate::Alarm;

    #[test]
    fn there_is_one_in_a_process() {
        let (one, two) = (Background::of_this_process().unwrap(), Background::of_this_process().unwrap());
        assert!(Arc::ptr_eq(&one.threads, &two.threads));
        assert!(one.is_here());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_caller_with_a_runtime_is_served_on_it() {
        let background = Background::of_this_process().unwrap();
        let here = Handle::current().id();
        assert_eq!(background.serve(async { Handle::current().id() }).await, Ok(here));
        assert_eq!(background.nearby().unwrap().id(), here);
    }

    #[tokio::test]
    async fn one_who_drives_a_runtime_alone_is_served_on_it_but_leaves_nothing_to_it() {
        let background = Background::of_this_process().unwrap();
        let here = Handle::current().id();
        assert_eq!(background.serve(async { Handle::current().id() }).await, Ok(here));
        assert!(background.owns(&background.nearby().unwrap()));
    }

    #[test]
    fn nobody_waits_for_a_runtime_that_nobody_drives() {
        let background = Background::of_this_process().unwrap();
        let idle = Builder::new_current_thread().enable_all().build().unwrap();
        let work = background.serve(async {
            Alarm::after(Duration::from_millis(1)).wait().await;
            Handle::current()
        });
        let _entered = idle.enter();
        let served = futures_executor(work).unwrap();
        assert!(background.owns(&served));
    }

    /// Polls when it is woken, and knows nothing of tokio.
    fn futures_executor<F: Future>(work: F) -> F::Output {
        struct Unpark(thread::Thread);
        impl std::task::Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let (waker, mut work) = (Waker::from(Arc::new(Unpark(thread::current()))), pin!(work));
        loop {
            match work.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(done) => return done,
                Poll::Pending => thread::park(),
            }
        }
    }

    #[test]
    fn a_caller_without_one_is_served_in_the_background() {
        let background = Background::of_this_process().unwrap();
        let work = background.serve(async {
            Alarm::after(Duration::from_millis(1)).wait().await;
            Handle::current()
        });
        let served = futures_executor(work).unwrap();
        assert!(background.owns(&served) && background.owns(&background.nearby().unwrap()));
    }
}
