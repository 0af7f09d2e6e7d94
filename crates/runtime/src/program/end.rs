//! How a program ended.

use belljar_core::{ExecutionResult, Verdict};
use belljar_engine::{CellUsage, End};

use crate::transcript::{Ending, cause_of_death};

/// How a program ended. What it wrote is not here: the sink has it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProgramEnd {
    /// Verdict, usage, warnings, network.
    pub result: ExecutionResult,
    /// Its exit code. As in a shell it is 128 and the number of a signal for a program that a
    /// signal ended. -1 for one that was not started, or that we ended.
    pub exit_code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub not_started: Option<String>,
}

impl ProgramEnd {
    /// Whether its time was up.
    pub fn timed_out(&self) -> bool {
        matches!(self.result.verdict, Verdict::TimeoutWall | Verdict::TimeoutCpu)
    }
}

/// What is known once a program is over.
pub(super) struct Facts<'a> {
    pub(super) ending: Ending,
    pub(super) used: &'a CellUsage,
    pub(super) not_started: Option<&'a (String, i32)>,
    pub(super) is_full: bool,
    pub(super) seconds: f64,
}

/// The verdict, what is said about it, the exit code and the signal.
pub(super) fn judge(facts: &Facts<'_>) -> (Verdict, Option<String>, i32, Option<i32>) {
    const SIGXFSZ: i32 = 25;
    const SIGKILL: i32 = 9;
    let Facts { ending, used, not_started, is_full, seconds } = facts;
    if let Some((why, code)) = not_started {
        return (Verdict::Exited { code: *code }, Some(why.clone()), -1, None);
    }
    let by_us = |verdict, why: String| (verdict, Some(why), -1, None);
    match ending {
        Ending::Died(autopsy) => {
            let (code, signal) = match autopsy.end {
                End::Exited(code) => (code, None),
                End::Signaled(signal) => (128 + signal, Some(signal)),
                End::Killed if used.oom_kills > Some(0) => (128 + SIGKILL, Some(SIGKILL)),
                End::Killed => (-1, None),
            };
            let (verdict, why) = match autopsy.end {
                End::Exited(0) => return (Verdict::Ok, None, 0, None),
                End::Signaled(SIGXFSZ) => {
                    (Verdict::Disk, "it wrote a file that is larger than its limit allows".to_owned())
                }
                End::Exited(_) if used.oom_kills > Some(0) => {
                    (Verdict::Oom, "its processes used more memory than its limit allows".to_owned())
                }
                End::Exited(_) if used.forks_refused > Some(0) => {
                    (Verdict::Pids, "it started more processes than its limit allows".to_owned())
                }
                End::Exited(_) if *is_full => {
                    (Verdict::Disk, "there was no room left to write to".to_owned())
                }
                end => cause_of_death(end, used),
            };
            (verdict, Some(why), code, signal)
        }
        Ending::Deadline => by_us(Verdict::TimeoutWall, format!("it ran past its limit of {seconds}s")),
        Ending::CpuSpent => by_us(Verdict::TimeoutCpu, "it used up its processor time".to_owned()),
        Ending::DiskSpent => by_us(Verdict::Disk, "it wrote more than its workspace may hold".to_owned()),
        _ => by_us(Verdict::Cancelled, "it was ended by its caller".to_owned()),
    }
}
