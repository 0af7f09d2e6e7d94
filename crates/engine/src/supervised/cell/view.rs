//! What is known of a use: usage, disk, network.

use belljar_core::Decision;

use super::SupervisedCell;
use crate::cell::{CellUsage, CellView, Until};
use crate::engine::BoxFuture;
use crate::supervised::{Container, ContainerEgress, SupervisorStream};

impl<C: Container, S: SupervisorStream> CellView for SupervisedCell<C, S> {
    fn usage(&self) -> CellUsage {
        let (before, now) = (&self.before, &self.now);
        let peak = now.peak_memory_bytes.filter(|peak| {
            // Counted since the container began: only a new peak is this use's own.
            self.is_untouched || before.peak_memory_bytes.is_none_or(|before| *peak > before)
        });
        CellUsage {
            // The supervisor counts anew for each use, from its first request on.
            cpu_micros: now.cpu_micros,
            peak_memory_bytes: peak.map(|peak| peak.saturating_sub(self.container.supervisor_bytes())),
            ..now.since(*before)
        }
    }

    fn scratch_is_full(&self) -> bool {
        self.scratch_is_full
    }

    fn take_denials(&mut self) -> Vec<Decision> {
        self.container.egress().map(ContainerEgress::take_denials).unwrap_or_default()
    }

    fn take_decisions(&mut self, until: Until) -> BoxFuture<'_, Vec<Decision>> {
        // A guest that has talked to anybody has made a socket, and its container is not used
        // again.
        let is_last = until == Until::TheEnd && self.uses_left == 0;
        match self.container.egress() {
            Some(egress) => egress.take_decisions(is_last),
            None => Box::pin(std::future::ready(Vec::new())),
        }
    }
}
