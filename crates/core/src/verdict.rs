//! How a run ended, in one word that the host chooses.

use std::fmt;

/// The one verdict every run ends with.
///
/// The host decides it from what the kernel says (wait status, cgroup counters, its own clock) and
/// from the frames it authenticated. Nothing a script writes can choose a verdict. A verdict is
/// data about the *user's* code. When Belljar itself fails, the caller gets an error instead. The
/// exception is [`Verdict::Infra`]: the cell was lost in the middle of a run that had already
/// begun.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The script did what it was asked to do.
    Ok,
    /// The script raised, or called `sys.exit`.
    Exception,
    /// The script ended without calling `emit_result`.
    NoResult,
    /// The process ended by itself, without the harness.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended the process, and Belljar did not send it.
    Signaled {
        /// Its number.
        signal: i32,
    },
    /// It ran longer than `execution_timeout_sec`.
    TimeoutWall,
    /// It used more processor time than its limit.
    TimeoutCpu,
    /// The kernel killed it because memory ran out.
    Oom,
    /// It failed after it could make no more processes or threads.
    Pids,
    /// It filled its scratch space.
    Disk,
    /// It wrote more than `max_output_bytes`.
    Output,
    /// The caller gave up.
    Cancelled,
    /// The cell was lost, and the script was not the reason.
    Infra,
}

impl Verdict {
    /// The names of all verdicts.
    pub const NAMES: [&'static str; 13] = [
        "ok",
        "exception",
        "no_result",
        "exited",
        "signaled",
        "timeout_wall",
        "timeout_cpu",
        "oom",
        "pids",
        "disk",
        "output",
        "cancelled",
        "infra",
    ];

    /// The verdict's name in JSON.
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
            Self::Cancelled => "cancelled",
            Self::Infra => "infra",
        }
    }

    /// Reads a verdict from JSON: its name, and the exit code or signal beside it.
    pub(crate) fn from_parts(name: &str, code: Option<i32>, signal: Option<i32>) -> Result<Self, String> {
        let missing = |field: &str| format!("the verdict {name:?} needs the field {field:?}");
        Ok(match name {
            "ok" => Self::Ok,
            "exception" => Self::Exception,
            "no_result" => Self::NoResult,
            "exited" => Self::Exited { code: code.ok_or_else(|| missing("exit_code"))? },
            "signaled" => Self::Signaled { signal: signal.ok_or_else(|| missing("signal"))? },
            "timeout_wall" => Self::TimeoutWall,
            "timeout_cpu" => Self::TimeoutCpu,
            "oom" => Self::Oom,
            "pids" => Self::Pids,
            "disk" => Self::Disk,
            "output" => Self::Output,
            "cancelled" => Self::Cancelled,
            "infra" => Self::Infra,
            _ => return Err(format!("{name:?} is not a verdict that this version knows")),
        })
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
            other => f.write_str(other.name()),
        }
    }
}

#[cfg(test)]
impl Verdict {
    /// One of each.
    pub(crate) fn examples() -> [Self; 13] {
        [
            Self::Ok,
            Self::Exception,
            Self::NoResult,
            Self::Exited { code: 3 },
            Self::Signaled { signal: 9 },
            Self::TimeoutWall,
            Self::TimeoutCpu,
            Self::Oom,
            Self::Pids,
            Self::Disk,
            Self::Output,
            Self::Cancelled,
            Self::Infra,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_listed() {
        assert_eq!(Verdict::examples().map(|verdict| verdict.name()), Verdict::NAMES);
    }

    #[test]
    fn a_verdict_is_read_back_from_its_parts() {
        for verdict in Verdict::examples() {
            let (code, signal) = match verdict {
                Verdict::Exited { code } => (Some(code), None),
                Verdict::Signaled { signal } => (None, Some(signal)),
                _ => (None, None),
            };
            assert_eq!(Verdict::from_parts(verdict.name(), code, signal).as_ref(), Ok(&verdict));
        }
        assert!(Verdict::from_parts("exited", None, None).unwrap_err().contains("\"exit_code\""));
        assert!(Verdict::from_parts("denied", None, None).unwrap_err().contains("not a verdict"));
    }
}
