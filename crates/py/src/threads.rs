//! Threads for what may block: functions of Python's, and the end of runtimes.
//!
//! A thread that has nothing to do waits for a while, because making one costs more than most
//! functions do. A machine that has no thread left is an error, and no panic.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread waits for more to do.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Threads that wait, by their numbers, and the number of the next.
#[derive(Default)]
struct Idle {
    waiting: Vec<(u64, Sender<Job>)>,
    next: u64,
}

/// As many threads as are needed at a time.
#[derive(Clone, Default)]
pub(crate) struct Threads(Arc<Mutex<Idle>>);

impl Threads {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something on a thread of its own.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut job: Job = Box::new(job);
        loop {
            let Some((_, thread)) = self.idle().waiting.pop() else { break };
            match thread.send(job) {
                Ok(()) => return Ok(()),
                Err(unsent) => job = unsent.0,
            }
        }
        let all = self.clone();
        std::thread::Builder::new().name("belljar-tool".to_owned()).spawn(move || all.serve(job))?;
        Ok(())
    }

    fn serve(&self, first: Job) {
        first();
        let (sender, jobs) = channel();
        let number = {
            let mut idle = self.idle();
            idle.next += 1;
            idle.next
        };
        loop {
            self.idle().waiting.push((number, sender.clone()));
            let Some(job) = self.next_job(number, &jobs) else { return };
            job();
        }
    }

    /// What to do next. `None` if there was nothing for a while.
    fn next_job(&self, number: u64, jobs: &Receiver<Job>) -> Option<Job> {
        if let Ok(job) = jobs.recv_timeout(IDLE) {
            return Some(job);
        }
        let was_waiting = {
            let mut idle = self.idle();
            let before = idle.waiting.len();
            idle.waiting.retain(|(other, _)| *other != number);
            idle.waiting.len() < before
        };
        // Whoever took it off the list is about to send.
        if was_waiting { None } else { jobs.recv().ok() }
    }
}
