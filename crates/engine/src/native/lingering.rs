//! Dead cells whose memory is not free yet.
//!
//! When the last process of a cell is gone, so is everything it had, with one exception. A
//! descriptor can be in the queue of a Unix socket, that socket in the queue of another, and so on
//! in a circle that no process holds any more. The kernel finds such circles and takes them apart
//! one link at a time, a few milliseconds each. With a thousand links, a file in memory outlives
//! its cell by seconds.
//!
//! Cells made one after another must not hold more memory than their limits allow. So a template
//! makes no further cell while several of its dead cells still hold memory. Other templates do not
//! wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// How many cells of one template may linger at the same time.
const MOST: usize = 4;

/// The lingering cells of one template.
#[derive(Clone, Default)]
pub(super) struct Lingering(Arc<State>);

#[derive(Default)]
struct State {
    count: AtomicUsize,
    one_less: Notify,
}

/// One lingering cell. It stops counting when this is dropped.
pub(super) struct Lingers(Lingering);

impl Lingering {
    pub(super) fn one_more(&self) -> Lingers {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        Lingers(self.clone())
    }

    /// Returns when few enough are left.
    pub(super) async fn wait_for_room(&self) {
        loop {
            let one_less = self.0.one_less.notified();
            if self.0.count.load(Ordering::SeqCst) < MOST {
                return;
            }
            one_less.await;
        }
    }
}

impl Drop for Lingers {
    fn drop(&mut self) {
        self.0.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.0.one_less.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_comes_while_many_linger_waits_for_the_first_to_go() {
        let lingering = Lingering::default();
        lingering.wait_for_room().await;
        let mut those: Vec<_> = (0..MOST).map(|_| lingering.one_more()).collect();
        let waiting = tokio::spawn({
            let lingering = lingering.clone();
            async move { lingering.wait_for_room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        those.pop();
        waiting.await.unwrap();
    }
}
