//! What can be observed of a cell from outside.

use belljar_core::Decision;

use crate::engine::BoxFuture;

/// What the kernel and the proxy know about a cell. An engine that cannot observe something answers
/// with an absent figure, `false`, or an empty list.
pub trait CellView {
    /// What it has used so far.
    fn usage(&self) -> CellUsage;

    /// Whether a place it may write to has no room left, by the kernel's word.
    fn scratch_is_full(&self) -> bool;

    /// Hosts that were refused since the last call, as soon as they are.
    fn take_denials(&mut self) -> Vec<Decision>;

    /// The hosts it has asked for since the last call, and the answers.
    fn take_decisions(&mut self, until: Until) -> BoxFuture<'_, Vec<Decision>>;
}

/// Up to which moment network decisions are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Now. A session goes on with the cell.
    Now,
    /// The end. The cell's egress is closed first, unless the cell may be used again.
    TheEnd,
}

/// What a cell has used. A figure that cannot be measured is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CellUsage {
    /// Processor time of all its processes, in microseconds.
    pub cpu_micros: Option<u64>,
    /// Its largest memory charge, in bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Processes the kernel killed for memory.
    pub oom_kills: Option<u64>,
    /// Processes and threads the kernel refused to make at the limit.
    pub forks_refused: Option<u64>,
}

impl CellUsage {
    /// What was used after `before` was. The peak is of the whole time: the kernel keeps one.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let more = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before.unwrap_or(0)));
        Self {
            cpu_micros: more(self.cpu_micros, before.cpu_micros),
            peak_memory_bytes: self.peak_memory_bytes,
            oom_kills: more(self.oom_kills, before.oom_kills),
            forks_refused: more(self.forks_refused, before.forks_refused),
        }
    }
}
