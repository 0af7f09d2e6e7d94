//! What all cells of an engine share, and what must be tidied up after the last of them.

use belljar_jail::cgroup::Cgroups;

use super::ids::IdPool;
use super::reaper::Reaper;
use crate::InProcess;

/// Shared by an engine and its templates. Dropped when all of them are gone.
pub(super) struct Resources {
    /// A fork must neither remove groups nor end who holds them.
    pub(super) cgroups: InProcess<Cgroups>,
    /// `None` when the host is not root. Then there is only one id.
    pub(super) ids: Option<IdPool>,
    pub(super) reaper: Reaper,
}

impl Drop for Resources {
    /// A control group can be removed only when it is empty. This is the last chance to wait for
    /// that.
    fn drop(&mut self) {
        self.reaper.wait_until_idle();
    }
}
