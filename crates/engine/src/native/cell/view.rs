//! What the kernel and the proxy know about a cell.

use std::os::fd::OwnedFd;

use belljar_core::Decision;

use super::super::egress::CellProxy;
use super::NativeCell;
use crate::cell::{CellUsage, CellView, Until};
use crate::engine::BoxFuture;

impl CellView for NativeCell {
    fn usage(&self) -> CellUsage {
        let counted = self.parts().share.cgroup.usage();
        CellUsage {
            cpu_micros: counted.cpu_micros.map(|micros| micros.saturating_sub(self.spent_before_ready)),
            peak_memory_bytes: counted.peak_memory_bytes,
            oom_kills: counted.oom_kills,
            forks_refused: counted.forks_refused,
        }
    }

    fn scratch_is_full(&self) -> bool {
        let full = |place: &OwnedFd| {
            rustix::fs::fstatvfs(place).is_ok_and(|space| space.f_bavail == 0 || space.f_ffree == 0)
        };
        self.parts().scratch.iter().any(full)
    }

    fn take_denials(&mut self) -> Vec<Decision> {
        self.parts().egress.as_ref().map(CellProxy::take_denials).unwrap_or_default()
    }

    fn take_decisions(&mut self, until: Until) -> BoxFuture<'_, Vec<Decision>> {
        match (&mut self.parts_mut().egress, until) {
            (None, _) => Box::pin(std::future::ready(Vec::new())),
            (Some(egress), Until::Now) => Box::pin(std::future::ready(egress.take_decisions())),
            (Some(egress), Until::TheEnd) => Box::pin(egress.close()),
        }
    }
}
