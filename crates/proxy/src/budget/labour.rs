//! Processor time that the proxy spends on one cell.
//!
//! A cell's own processor time is limited by the kernel. What it makes the proxy do is done outside of it: without a limit
//! here, a guest could have others work for it. Everything the proxy does for a cell runs in tasks of that cell, and each is
//! [`Paced`]: its time is measured whenever it runs, and it rests while its cell is in debt. It does not matter what the
//! time was spent on, so there is no list of expensive things that could be too short.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Sleep, sleep};

use super::savings::Savings;

/// The time one cell has left, in seconds.
#[derive(Debug)]
pub(crate) struct Labour(Savings);

impl Labour {
    /// So many cores, and as much saved up.
    pub(crate) fn new(cores: f64, most: Duration) -> Self {
        Self(Savings::new(cores, most.as_secs_f64()))
    }

    fn charge(&self, spent: Duration) {
        self.0.balance().take(spent.as_secs_f64());
    }

    /// How long to rest; nothing for a cell that is not in debt.
    fn debt(&self) -> Option<Duration> {
        Some(self.0.balance().wait_for(0.0)).filter(|debt| !debt.is_zero())
    }
}

/// Work that is done at its cell's expense. A task of its own, so that it is not woken, and charged, for what concerns another.
pub(crate) struct Paced<F> {
    labour: Arc<Labour>,
    work: Pin<Box<F>>,
    rest: Option<Pin<Box<Sleep>>>,
}

impl<F: Future> Paced<F> {
    pub(crate) fn new(labour: Arc<Labour>, work: F) -> Self {
        Self { labour, work: Box::pin(work), rest: None }
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
            let Some(debt) = self.labour.debt() else { break };
            self.rest = Some(Box::pin(sleep(debt)));
        }
        let before = thread_time();
        let polled = self.work.as_mut().poll(cx);
        self.labour.charge(thread_time().saturating_sub(before));
        polled
    }
}

/// What this thread has used. By the clock a busy machine would look like a busy cell.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_cell_in_debt_rests_until_it_is_paid() {
        let labour = Labour::new(0.5, Duration::from_secs(1));
        labour.charge(Duration::from_secs(1));
        assert_eq!(labour.debt(), None, "what was saved up is spent, and nothing is owed");
        labour.charge(Duration::from_secs(2));
        assert_eq!(labour.debt(), Some(Duration::from_secs(4)));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(labour.debt(), None);
        tokio::time::advance(Duration::from_secs(100)).await;
        assert_eq!(labour.debt(), None);
        labour.charge(Duration::from_secs(2));
        assert_eq!(labour.debt(), Some(Duration::from_secs(2)), "one second is the most that is saved");
    }

    #[tokio::test]
    async fn work_is_charged_and_paused() {
        // In debt at once, and for ever as far as this test is concerned.
        let labour = Arc::new(Labour::new(0.01, Duration::ZERO));
        let work = std::future::poll_fn(|cx| {
            let began = thread_time();
            while thread_time() - began < Duration::from_millis(5) {}
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        let paced = Paced::new(labour.clone(), work);
        assert!(tokio::time::timeout(Duration::from_millis(50), paced).await.is_err());
        assert!(labour.debt().is_some_and(|debt| debt > Duration::from_millis(100)), "{:?}", labour.debt());
    }
}
