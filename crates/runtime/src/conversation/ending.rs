//! How a run is brought to its end, and what is read after that. No listener is waited for here.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use belljar_engine::{Output, timeout};

use super::{Conversation, poll_output};
use crate::transcript::Ending;

/// How long the last words of a killed cell are read. The kernel closes its pipes as it dies, so
/// this is never long.
const LAST_WORDS: Duration = Duration::from_secs(5);

impl Conversation<'_, '_> {
    /// The script has had its time. It may have ended all the same, and its word may lie here
    /// unread: because the machine or the host's own thread was busy or stopped, or because a slow
    /// listener kept it from being read. The ending that is found, or else this one.
    pub(super) async fn last_look(&mut self, otherwise: Ending) -> Ending {
        // A guest that talks without pause would keep us here.
        const ROUNDS: usize = 64;
        for _ in 0..ROUNDS {
            // Lets the event loop see what has arrived.
            tokio::task::yield_now().await;
            let ending = match poll_fn(|cx| Poll::Ready(poll_output(self.cell, cx))).await {
                Poll::Ready(Output::Burst(burst)) => self.take_in(burst),
                Poll::Ready(Output::Closed) => Some(self.death().await),
                Poll::Pending => break,
            };
            if let Some(ending) = ending {
                return ending;
            }
        }
        otherwise
    }

    /// How a cell that says nothing more ends. A guest may close everything and live on, so its
    /// deadlines count as before.
    pub(super) async fn death(&mut self) -> Ending {
        loop {
            let Self { cell, deadlines, listener, .. } = self;
            let call = tokio::select! {
                biased;
                autopsy = cell.autopsy() => return Ending::Died(autopsy),
                call = deadlines.call() => call,
                never = listener.attend() => match never {},
            };
            if let Some(ending) = self.answer(call) {
                return ending;
            }
        }
    }

    /// Kills a cell whose script has not ended by itself, and reads its last words. With
    /// `files_stay` everything else in it ends too, and its files can be read after that.
    pub(super) async fn end(&mut self, ending: Ending, files_stay: bool) {
        match ending {
            Ending::Finished if files_stay => {
                self.cell.still();
                let _ = timeout(LAST_WORDS, self.cell.autopsy()).await;
            }
            Ending::Finished | Ending::Died(_) => {}
            Ending::Deadline
            | Ending::CpuSpent
            | Ending::DiskSpent
            | Ending::Flood
            | Ending::Cancelled
            | Ending::Overstayed => {
                match files_stay {
                    true => self.cell.still(),
                    false => self.cell.kill(),
                }
                if !self.last_words().await {
                    self.cell.kill();
                }
            }
        }
    }

    /// What a killed cell had printed before it died, as far as the limit allows. Comes back when
    /// it is dead, or when that takes too long.
    async fn last_words(&mut self) -> bool {
        let until_dead = async {
            while let Output::Burst(burst) = poll_fn(|cx| poll_output(self.cell, cx)).await {
                if self.take_in(burst).is_some() {
                    break;
                }
            }
            self.cell.autopsy().await;
        };
        timeout(LAST_WORDS, until_dead).await.is_ok()
    }
}
