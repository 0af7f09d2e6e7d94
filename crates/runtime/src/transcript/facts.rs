//! What the host knows of a run: before it begins, and once it is over.

use std::time::Duration;

use belljar_core::Decision;
use belljar_core::config::ResourceLimits;
use belljar_engine::{Autopsy, CellUsage};

use crate::files::Collection;

/// Why the host stopped listening.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending {
    /// The script is over.
    Finished,
    /// Its outcome is known, it went on for too long after that, and the cell was killed.
    Overstayed,
    /// The time limit passed, and the cell was killed.
    Deadline,
    /// The processor time was used up, and the cell was killed.
    CpuSpent,
    /// It wrote too much, and the cell was killed.
    Flood,
    /// Its workspace holds more than it may, and the cell was killed. Only of programs.
    DiskSpent,
    /// The caller gave up, and the cell was killed.
    Cancelled,
    /// The cell ended by itself.
    Died(Autopsy),
}

/// What is known of a run before it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conditions<'a> {
    pub(crate) timeout: Duration,
    pub(crate) limits: &'a ResourceLimits,
    pub(crate) engine: &'a str,
    /// What every result of this sandbox warns of.
    pub(crate) warnings: &'a [String],
}

/// What the host knows of a run once it is over.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) conditions: Conditions<'a>,
    pub(crate) ending: Ending,
    pub(crate) elapsed: Duration,
    pub(crate) used: CellUsage,
    /// Whether a place the script may write to was full when the script failed.
    pub(crate) scratch_was_full: bool,
    /// Whether the caller interrupted the script.
    pub(crate) was_interrupted: bool,
    /// The hosts it reached, or wanted to.
    pub(crate) network: Vec<Decision>,
    /// What the engine itself calls the place it ran in.
    pub(crate) place: Option<String>,
    /// What was collected of its files.
    pub(crate) files: Collection,
    /// Why its input ended early.
    pub(crate) stdin_failure: Option<String>,
}
