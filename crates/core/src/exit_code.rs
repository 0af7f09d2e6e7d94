//! What the command's exit codes mean. `belljar`, its help and its manual all use this one table.

use crate::Verdict;

/// How the `belljar` command ends. Other programs that run a script for somebody may use the same
/// codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum ExitCode {
    /// The script did what it was asked to do.
    Ok = 0,
    /// The script failed, and this kind of failure has no code of its own.
    ScriptFailed = 1,
    /// The command was asked for something impossible.
    Usage = 2,
    /// The machine or Belljar itself failed.
    Infra = 3,
    /// The script ran out of time. `timeout(1)` uses the same code.
    Timeout = 124,
    /// The terminal was closed: 128 + SIGHUP.
    HungUp = 129,
    /// The user pressed Ctrl-C: 128 + SIGINT.
    Interrupted = 130,
    /// The script ran out of memory: 128 + SIGKILL.
    OutOfMemory = 137,
    /// Nobody reads stdout any longer: 128 + SIGPIPE.
    ClosedPipe = 141,
    /// Somebody asked the command to end: 128 + SIGTERM.
    Terminated = 143,
}

impl ExitCode {
    /// Every code, in order.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::ScriptFailed,
        Self::Usage,
        Self::Infra,
        Self::Timeout,
        Self::HungUp,
        Self::Interrupted,
        Self::OutOfMemory,
        Self::ClosedPipe,
        Self::Terminated,
    ];

    /// The number.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// A few words, for a list on one line.
    pub const fn brief(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ScriptFailed => "the script failed",
            Self::Usage => "bad usage or input",
            Self::Infra => "the machine or Belljar failed",
            Self::Timeout => "out of time",
            Self::HungUp => "the terminal was closed",
            Self::Interrupted => "Ctrl-C",
            Self::OutOfMemory => "out of memory",
            Self::ClosedPipe => "stdout was closed",
            Self::Terminated => "SIGTERM",
        }
    }

    /// What it means, in full sentences.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "The script did what was asked of it.",
            Self::ScriptFailed => {
                "The script failed: it raised, ended without a result, died, or went over a limit that has no code of its own."
            }
            Self::Usage => {
                "The command was asked for something that cannot be: bad options, a bad file, a policy that cannot be \
                 enforced here."
            }
            Self::Infra => {
                "The machine or Belljar itself did not do its part. Nothing is known about the script. `doctor` ends with \
                 it where no sandbox can be made."
            }
            Self::Timeout => {
                "The script ran out of time, by the clock or by the processor. `timeout(1)` uses the same code."
            }
            Self::HungUp => "The terminal was closed, or somebody sent SIGHUP.",
            Self::Interrupted => "Ctrl-C ended it: 128 + SIGINT.",
            Self::OutOfMemory => {
                "The script ran out of memory: 128 + SIGKILL, as for any program that the kernel kills for memory."
            }
            Self::ClosedPipe => "Nobody reads stdout any more: 128 + SIGPIPE.",
            Self::Terminated => "Somebody asked the command to end: 128 + SIGTERM.",
        }
    }
}

impl From<&Verdict> for ExitCode {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Ok => Self::Ok,
            Verdict::TimeoutWall | Verdict::TimeoutCpu => Self::Timeout,
            Verdict::Oom => Self::OutOfMemory,
            Verdict::Infra => Self::Infra,
            Verdict::Cancelled => Self::Interrupted,
            Verdict::Exception
            | Verdict::NoResult
            | Verdict::Exited { .. }
            | Verdict::Signaled { .. }
            | Verdict::Pids
            | Verdict::Disk
            | Verdict::Output => Self::ScriptFailed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_there_once_and_in_order() {
        let numbers = ExitCode::ALL.map(ExitCode::number);
        assert!(numbers.is_sorted_by(|earlier, later| earlier < later), "{numbers:?}");
    }

    #[test]
    fn each_verdict_has_the_code_that_the_manual_promises() {
        let numbers = Verdict::examples().map(|verdict| (verdict.name(), ExitCode::from(&verdict).number()));
        let promised = [
            ("ok", 0),
            ("exception", 1),
            ("no_result", 1),
            ("exited", 1),
            ("signaled", 1),
            ("timeout_wall", 124),
            ("timeout_cpu", 124),
            ("oom", 137),
            ("pids", 1),
            ("disk", 1),
            ("output", 1),
            ("cancelled", 130),
            ("infra", 3),
        ];
        assert_eq!(numbers, promised);
    }
}
