//! What the command's exit code means.

use belljar::{Fault, Verdict};

use crate::error::CliError;
use crate::interrupt::Interrupt;

/// The script did what was asked of it.
pub(crate) const OK: u8 = 0;
/// The script failed: it raised, ended without a result, died, or went over a limit that has no code of its own.
pub(crate) const SCRIPT_FAILED: u8 = 1;
/// The command was asked for something that cannot be: bad options, a bad file, a policy that cannot be enforced here.
pub(crate) const USAGE: u8 = 2;
/// The machine or Belljar itself did not do its part; nothing is known about the script.
pub(crate) const INFRA: u8 = 3;
/// The script ran out of time, by the clock or by the processor; the same code as `timeout(1)`.
pub(crate) const TIMEOUT: u8 = 124;
/// Ctrl-C ended it: 128 + SIGINT, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;
/// The script ran out of memory: 128 + SIGKILL, as for any program that the kernel kills for memory.
pub(crate) const OOM: u8 = 137;
/// Nobody reads stdout any more: 128 + SIGPIPE, as shells have it.
pub(crate) const CLOSED_PIPE: u8 = 141;
/// Somebody asked the command to end: 128 + SIGTERM, as shells have it.
pub(crate) const TERMINATED: u8 = 143;

/// How a command that did its job ended.
#[derive(Debug)]
pub(crate) enum End {
    /// Well.
    Done,
    /// A script was run, and this is what became of it.
    Ran(Verdict),
    /// `doctor` found that no cell can be made here.
    Unfit,
    /// The user ended it.
    Interrupted(Interrupt),
}

/// The exit code for everything that can happen.
pub(crate) fn code(outcome: &Result<End, CliError>) -> u8 {
    match outcome {
        Ok(End::Done | End::Ran(Verdict::Ok)) => OK,
        Ok(End::Ran(Verdict::TimeoutWall | Verdict::TimeoutCpu)) => TIMEOUT,
        Ok(End::Ran(Verdict::Oom)) => OOM,
        Ok(End::Ran(Verdict::Infra) | End::Unfit) => INFRA,
        Ok(End::Ran(Verdict::Cancelled) | End::Interrupted(Interrupt::Keyboard)) => INTERRUPTED,
        Ok(End::Interrupted(Interrupt::Terminate)) => TERMINATED,
        Ok(End::Ran(_)) => SCRIPT_FAILED,
        Err(CliError::Input(_)) => USAGE,
        Err(CliError::Runtime(error)) => match error.fault() {
            Fault::Caller => USAGE,
            _ => INFRA,
        },
        Err(error) if error.is_closed_pipe() => CLOSED_PIPE,
        Err(CliError::Output(_) | CliError::System { .. }) => INFRA,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_has_the_code_that_the_manual_promises() {
        let table = [
            (Verdict::Ok, 0),
            (Verdict::Exception, 1),
            (Verdict::NoResult, 1),
            (Verdict::Exited { code: 3 }, 1),
            (Verdict::Signaled { signal: 9 }, 1),
            (Verdict::Output, 1),
            (Verdict::Infra, 3),
            (Verdict::TimeoutWall, 124),
            (Verdict::TimeoutCpu, 124),
            (Verdict::Cancelled, 130),
            (Verdict::Oom, 137),
        ];
        for (verdict, expected) in table {
            let name = verdict.name();
            assert_eq!(code(&Ok(End::Ran(verdict))), expected, "{name}");
        }
    }

    #[test]
    fn a_reader_that_left_is_not_a_failure_of_ours() {
        let error = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(code(&Err(CliError::Output(error))), CLOSED_PIPE);
        assert_eq!(code(&Err(CliError::Input(anyhow::anyhow!("x")))), USAGE);
    }
}
