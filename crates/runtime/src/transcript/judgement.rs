//! The verdict on a run, and what is said about it.

use belljar_core::Verdict;
use belljar_core::config::ExecutionMode;
use belljar_engine::{Autopsy, CellUsage, End};

use super::{Ending, Facts, Transcript};

impl Transcript {
    /// The verdict. What the host knows counts first, and what the guest said second.
    pub(super) fn judge(&self, facts: &Facts<'_>) -> (Verdict, Option<String>) {
        let seconds = facts.conditions.timeout.as_secs_f64();
        if let Ending::Flood = facts.ending {
            let limit = with_separators(facts.conditions.limits.max_output_bytes);
            return (Verdict::Output, Some(format!("Script output exceeded {limit} byte limit")));
        }
        if self.result.is_some() && self.mode != ExecutionMode::Script {
            return (Verdict::Ok, None);
        }
        if let Some(failure) = &self.failure {
            let message = Some(failure.message.clone());
            if failure.timed_out {
                return (Verdict::TimeoutWall, message);
            }
            // What the kernel says about a limit counts more than what the script made of it.
            let verdict = match facts {
                Facts { used, .. } if used.oom_kills > Some(0) => Verdict::Oom,
                // Nobody counts here, so the interpreter's own word is all there is.
                Facts { used, .. } if used.oom_kills.is_none() && failure.is_of_memory() => Verdict::Oom,
                Facts { used, .. } if used.forks_refused > Some(0) => Verdict::Pids,
                Facts { scratch_was_full: true, .. } => Verdict::Disk,
                Facts { was_interrupted: true, .. } => Verdict::Cancelled,
                _ => failure.exit_code.map_or(Verdict::Exception, |code| Verdict::Exited { code }),
            };
            return (verdict, message);
        }
        match facts.ending {
            Ending::Deadline => {
                let message = format!(
                    "Timed out waiting for container response: the script ran past its limit of {seconds}s, did not stop \
                     by itself, and was killed"
                );
                (Verdict::TimeoutWall, Some(message))
            }
            Ending::CpuSpent => {
                let limit = facts.conditions.limits.cpu_time().unwrap_or_default().as_secs_f64();
                let message = format!("The script used its {limit}s of processor time and was killed");
                (Verdict::TimeoutCpu, Some(message))
            }
            Ending::Cancelled => (Verdict::Cancelled, Some("The run was cancelled by its caller".to_owned())),
            // `os._exit(0)` is a program's own way to succeed.
            Ending::Died(Autopsy { end: End::Exited(0), .. }) if self.mode == ExecutionMode::Script => {
                (Verdict::Ok, None)
            }
            Ending::Died(autopsy) => died(autopsy.end, &facts.used),
            _ if self.mode != ExecutionMode::Plan => (Verdict::Ok, None),
            _ => {
                let message = "Script finished without calling emit_result".to_owned();
                (Verdict::NoResult, Some(message))
            }
        }
    }
}

fn died(end: End, used: &CellUsage) -> (Verdict, Option<String>) {
    let (verdict, cause) = cause_of_death(end, used);
    (verdict, Some(format!("Container stdout closed unexpectedly: {cause}")))
}

/// How a cell died that nobody killed, as a verdict and in words. Only what this run used counts,
/// because an earlier step may have had processes killed.
pub(crate) fn cause_of_death(end: End, used: &CellUsage) -> (Verdict, String) {
    const SIGKILL: i32 = 9;
    match end {
        End::Signaled(SIGKILL) | End::Killed if used.oom_kills > Some(0) => {
            (Verdict::Oom, "it used more memory than its limit allows and the kernel killed it".to_owned())
        }
        End::Signaled(signal) => {
            (Verdict::Signaled { signal }, format!("the process was killed by signal {signal}"))
        }
        End::Exited(code) => (Verdict::Exited { code }, format!("the process exited with code {code}")),
        End::Killed => (Verdict::Infra, "the cell was lost, and not by the script's doing".to_owned()),
    }
}

fn with_separators(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
