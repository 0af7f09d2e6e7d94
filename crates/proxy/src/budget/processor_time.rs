//! Limits the processor time that the proxy spends on one cell.
//!
//! The kernel limits a cell's own processor time, but not the work the proxy does for it. Without a
//! limit here, a guest could make others work for it. So everything the proxy does for a cell runs
//! in tasks of that cell, and each is [`Paced`]. Its time is measured whenever it runs, and it
//! rests while its cell is in debt. It does not matter what the time was spent on, so no list of
//! expensive operations can be incomplete.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Sleep, sleep};

use super::token_bucket::TokenBucket;

/// The time one cell has left, in seconds.
#[derive(Debug)]
pub(crate) struct ProcessorTime(TokenBucket);

impl ProcessorTime {
    /// Earns `cores` seconds per second, and starts with `most`, which is also the maximum.
    pub(crate) fn new(cores: f64, most: Duration) -> Self {
        Self(TokenBucket::new(cores, most.as_secs_f64()))
    }

    fn charge(&self, spent: Duration) {
        self.0.balance().take(spent.as_secs_f64());
    }

    /// How long to rest. `None` if the cell is not in debt.
    fn debt(&self) -> Option<Duration> {
        Some(self.0.balance().wait_for(0.0)).filter(|debt| !debt.is_zero())
    }
}

/// Work that is charged to its cell. Each is a task of its own, so that nothing else wakes it and
/// is charged to it.
pub(crate) struct Paced<F> {
    processor_time: Arc<ProcessorTime>,
    work: Pin<Box<F>>,
    rest: Option<Pin<Box<Sleep>>>,
}

impl<F: Future> Paced<F> {
    pub(crate) fn new(processor_time: Arc<ProcessorTime>, work: F) -> Self {
        Self { processor_time, work: Box::pin(work), rest: None }
    }
}

impl<F: Future> Future for Paced<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        loop {
            if let Some(rest) = &mut self.rest {
                ready!(rest.as_mut().poll(cx));
                self.rest = None;
            }
            let Some(debt) = self.processor_time.debt() else { break };
            self.rest = Some(Box::pin(sleep(debt)));
        }
        let before = thread_time();
        let polled = self.work.as_mut().poll(cx);
        self.processor_time.charge(thread_time().saturating_sub(before));
        polled
    }
}

/// The processor time of this thread. By the wall clock, a busy machine would look like a busy
/// cell.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_cell_in_debt_rests_until_it_is_paid() {
        let processor_time = ProcessorTime::new(0.5, Duration::from_secs(1));
        processor_time.charge(Duration::from_secs(1));
        assert_eq!(processor_time.debt(), None, "what was saved up is spent, and nothing is owed");
        processor_time.charge(Duration::from_secs(2));
        assert_eq!(processor_time.debt(), Some(Duration::from_secs(4)));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(processor_time.debt(), None);
        tokio::time::advance(Duration::from_secs(100)).await;
        assert_eq!(processor_time.debt(), None);
        processor_time.charge(Duration::from_secs(2));
        assert_eq!(
            processor_time.debt(),
            Some(Duration::from_secs(2)),
            "one second is the most that is saved"
        );
    }

    #[tokio::test]
    async fn work_is_charged_and_paused() {
        // In debt at once, and for longer than this test.
        let processor_time = Arc::new(ProcessorTime::new(0.01, Duration::ZERO));
        let work = std::future::poll_fn(|cx| {
            let began = thread_time();
            while thread_time() - began < Duration::from_millis(5) {}
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        let paced = Paced::new(processor_time.clone(), work);
        assert!(tokio::time::timeout(Duration::from_millis(50), paced).await.is_err());
        assert!(
            processor_time.debt().is_some_and(|debt| debt > Duration::from_millis(100)),
            "{:?}",
            processor_time.debt()
        );
    }
}
