//! Time limits that hold wherever they are waited for.
//!
//! A timer of tokio belongs to the runtime that it was made in, and to that runtime's clock. A call
//! may be polled on one runtime and then on another, and somebody may stop their clocks. So an
//! alarm keeps a moment of the real clock, and has a timer wherever it was last polled.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, Id};
use tokio::time::Sleep;

/// Goes off at a moment. It must be polled within a tokio runtime.
#[derive(Debug)]
pub struct Alarm {
    due: Instant,
    timer: Option<(Id, Pin<Box<Sleep>>)>,
}

/// It was not done in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

impl Alarm {
    /// Goes off at that moment.
    pub fn at(due: Instant) -> Self {
        Self { due, timer: None }
    }

    /// Goes off after that time.
    pub fn after(time: Duration) -> Self {
        // Nobody waits longer than thirty years.
        const LONGEST: Duration = Duration::from_secs(1_000_000_000);
        Self::at(Instant::now() + time.min(LONGEST))
    }

    /// When it goes off.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Has it go off at another moment.
    pub fn set(&mut self, due: Instant) {
        self.due = due;
        if let Some((_, timer)) = &mut self.timer {
            timer.as_mut().reset(tokio::time::Instant::now() + left_until(due));
        }
    }

    /// Whether it has gone off.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let here = Handle::current().id();
        loop {
            let timer = match &mut self.timer {
                Some((place, timer)) if *place == here => timer,
                // The one before may be nobody's any more.
                place => &mut place.insert((here, Box::pin(tokio::time::sleep(left_until(self.due))))).1,
            };
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if Instant::now() >= self.due {
                return Poll::Ready(());
            }
            // Somebody moved that clock.
            self.timer = None;
        }
    }

    /// Waits until it goes off.
    pub async fn wait(&mut self) {
        std::future::poll_fn(|cx| self.poll(cx)).await;
    }
}

fn left_until(due: Instant) -> Duration {
    due.saturating_duration_since(Instant::now())
}

/// Does something within that time, or gives it up.
pub async fn timeout<F: Future>(within: Duration, work: F) -> Result<F::Output, Elapsed> {
    let (mut alarm, mut work) = (Alarm::after(within), pin!(work));
    std::future::poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Ok(done)),
        Poll::Pending => alarm.poll(cx).map(|()| Err(Elapsed)),
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn it_goes_off_on_a_runtime_other_than_the_one_it_began_on() {
        let mut alarm = Alarm::after(Duration::from_millis(50));
        let runtime = || Builder::new_current_thread().enable_time().build().unwrap();
        let (first, second) = (runtime(), runtime());
        {
            let _entered = first.enter();
            assert!(alarm.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        drop(first);
        let due = alarm.due();
        second.block_on(alarm.wait());
        assert!(Instant::now() >= due);
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_moved_does_not_set_it_off() {
        let mut alarm = Alarm::after(Duration::from_secs(3600));
        let waiting = tokio::time::timeout(Duration::from_secs(7200), alarm.wait());
        assert!(waiting.await.is_err(), "an hour has not passed");
    }

    #[tokio::test]
    async fn what_is_late_is_given_up() {
        assert_eq!(timeout(Duration::from_secs(60), async { 1 }).await, Ok(1));
        assert_eq!(timeout(Duration::from_millis(1), std::future::pending::<()>()).await, Err(Elapsed));
        assert_eq!(timeout(Duration::MAX, async { 1 }).await, Ok(1));
    }
}
