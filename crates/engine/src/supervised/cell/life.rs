//! How a use ends, and how the container is made ready for the next.

use bytes::Bytes;

use super::{RESET_WITHIN, State, SupervisedCell};
use crate::cell::{Autopsy, CellLife, CellView, End, Signal};
use crate::engine::BoxFuture;
use crate::supervised::{Container, SupervisorStream, message};
use crate::timeout;

impl<C: Container, S: SupervisorStream> CellLife for SupervisedCell<C, S> {
    fn signal(&mut self, signal: Signal) {
        self.outbox.push(Bytes::from_static(match signal {
            Signal::Interrupt => message::INTERRUPT,
            Signal::InterruptAll => message::INTERRUPT_ALL,
            Signal::Terminate => message::TERMINATE,
        }));
    }

    fn kill(&mut self) {
        self.container.kill();
    }

    fn autopsy(&mut self) -> BoxFuture<'_, Autopsy> {
        Box::pin(async move {
            let end = loop {
                match self.state {
                    State::Ended(end) => break end,
                    State::Lost => {
                        if self.container.was_killed_for_memory().await
                            && self.now.oom_kills == self.before.oom_kills
                        {
                            self.now.oom_kills = Some(self.now.oom_kills.unwrap_or(0) + 1);
                        }
                        break End::Killed;
                    }
                    State::Alive | State::Mute => {
                        std::future::poll_fn(|cx| self.poll_next(cx)).await;
                    }
                }
            };
            Autopsy { end, usage: self.usage() }
        })
    }

    fn uses_left(&self) -> u32 {
        self.uses_left
    }

    fn reset(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let is_there = match self.state {
                State::Alive => true,
                State::Ended(_) => self.is_still,
                State::Mute | State::Lost => false,
            };
            if !is_there {
                return false;
            }
            let outcome = timeout(RESET_WITHIN, self.wait_for_reset()).await;
            let failure = match outcome {
                Ok(Ok(counted)) => {
                    self.note(counted);
                    self.before = self.now;
                    self.scratch_is_full = false;
                    (self.state, self.is_still) = (State::Alive, false);
                    self.kept.clear();
                    self.uses_left -= 1;
                    return true;
                }
                Ok(Err(reason)) => reason,
                Err(_) => format!("no answer within {} s", RESET_WITHIN.as_secs()),
            };
            let container = self.container.name();
            tracing::info!(%container, reason = %failure, "a container in doubt is retired");
            self.state = State::Lost;
            false
        })
    }
}
