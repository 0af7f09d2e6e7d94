//! How a run ended, in one word that the host chose.

use std::fmt;

/// The one verdict every run ends with.
///
/// Decided by the host from what the kernel says (wait status, cgroup counters, its own clock) and from the frames it
/// authenticated; nothing a script writes can choose one. A verdict is data about the *user's* code: when Belljar itself
/// fails the caller gets an error instead, except for [`Verdict::Infra`], where the cell was lost in the middle
/// of a run that had already begun.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The script did what was asked of it.
    Ok,
    /// The script raised, or called `sys.exit`.
    Exception,
    /// The script ended without calling `emit_result`.
    NoResult,
    /// The process ended by itself, behind the harness's back.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended the process, and not one of ours.
    Signaled {
        /// Its number.
        signal: i32,
    },
    /// It ran longer than `execution_timeout_sec`.
    TimeoutWall,
    /// It used more processor time than it may.
    TimeoutCpu,
    /// The kernel killed it for memory.
    Oom,
    /// It failed after it could make no more processes or threads.
    Pids,
    /// It filled its scratch space.
    Disk,
    /// It wrote more than `max_output_bytes`.
    Output,
    /// It was refused something it cannot go on without.
    Denied {
        /// What was refused.
        what: String,
    },
    /// The caller gave up.
    Cancelled,
    /// The cell was lost for a reason that is not the script's.
    Infra,
}

impl Verdict {
    /// The verdict's name, as it stands in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Exception => "exception",
            Self::NoResult => "no_result",
            Self::Exited { .. } => "exited",
            Self::Signaled { .. } => "signaled",
            Self::TimeoutWall => "timeout_wall",
            Self::TimeoutCpu => "timeout_cpu",
            Self::Oom => "oom",
            Self::Pids => "pids",
            Self::Disk => "disk",
            Self::Output => "output",
            Self::Denied { .. } => "denied",
            Self::Cancelled => "cancelled",
            Self::Infra => "infra",
        }
    }

    /// Whether the run counts as a success.
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Ok)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exited with {code}"),
            Self::Signaled { signal } => write!(f, "killed by signal {signal}"),
            Self::Denied { what } => write!(f, "denied {what}"),
            other => f.write_str(other.name()),
        }
    }
}
