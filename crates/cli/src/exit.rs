//! Which exit code the command ends with. [`ExitCode`] says what each one means.

use belljar::{ExitCode, Fault, Verdict};

use crate::error::CliError;
use crate::interrupt::Interrupt;

/// How a command ended that did its job.
#[derive(Debug)]
pub(crate) enum End {
    /// It succeeded.
    Done,
    /// It ran a script, which ended with this verdict.
    Ran(Verdict),
    /// The same, for one that ran as a program: its exit code is handed on.
    RanProgram(Verdict),
    /// It did a task, or did not, with this code.
    Tasked(ExitCode),
    /// `doctor` found that this machine cannot make cells.
    Unfit,
    /// The user ended it.
    Interrupted(Interrupt),
}

/// The exit code for every outcome. A program that ends by itself chooses its own, and one that a
/// signal ends has the code that a shell shows.
pub(crate) fn code(outcome: &Result<End, CliError>) -> u8 {
    match outcome {
        // As the kernel has it.
        Ok(End::RanProgram(Verdict::Exited { code })) => code.rem_euclid(256) as u8,
        Ok(End::RanProgram(Verdict::Signaled { signal })) => 128u8.wrapping_add(signal.rem_euclid(128) as u8),
        other => meaning(other).number(),
    }
}

fn meaning(outcome: &Result<End, CliError>) -> ExitCode {
    match outcome {
        Ok(End::Done) => ExitCode::Ok,
        Ok(End::Ran(verdict) | End::RanProgram(verdict)) => ExitCode::from(verdict),
        Ok(End::Tasked(code)) => *code,
        Ok(End::Unfit) => ExitCode::Infra,
        Ok(End::Interrupted(Interrupt::Keyboard)) => ExitCode::Interrupted,
        Ok(End::Interrupted(Interrupt::Terminate)) => ExitCode::Terminated,
        Ok(End::Interrupted(Interrupt::HangUp)) => ExitCode::HungUp,
        Err(error) if error.is_closed_pipe() => ExitCode::ClosedPipe,
        Err(error) => match error.fault() {
            Fault::Caller => ExitCode::Usage,
            _ => ExitCode::Infra,
        },
    }
}

/// All codes on one line, for the help.
pub(crate) fn in_help() -> String {
    let codes = ExitCode::ALL.map(|code| format!("{} {}", code.number(), code.brief()));
    format!("Exit codes: {}\nLogs: BELLJAR_LOG=debug, or RUST_LOG, on stderr", codes.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_run_ends_is_the_verdicts_own_code() {
        assert_eq!(code(&Ok(End::Ran(Verdict::TimeoutCpu))), 124);
        assert_eq!(code(&Ok(End::Ran(Verdict::NoResult))), 1);
        assert_eq!(code(&Ok(End::Ran(Verdict::Exited { code: 3 }))), 1);
        assert_eq!(code(&Ok(End::RanProgram(Verdict::Exited { code: 3 }))), 3);
        assert_eq!(code(&Ok(End::RanProgram(Verdict::Exception))), 1);
        assert_eq!(code(&Ok(End::RanProgram(Verdict::Signaled { signal: 15 }))), 143);
        assert_eq!(code(&Ok(End::Ran(Verdict::Signaled { signal: 15 }))), 1);
        assert_eq!(code(&Ok(End::Unfit)), 3);
        assert_eq!(code(&Ok(End::Interrupted(Interrupt::Terminate))), 143);
    }

    #[test]
    fn the_help_has_every_code() {
        let help = in_help();
        for code in ExitCode::ALL {
            assert!(help.contains(&format!(" {} {}", code.number(), code.brief())), "{help}");
        }
    }

    #[test]
    fn a_reader_that_left_is_not_a_failure_of_ours() {
        let error = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(code(&Err(CliError::Output(error))), ExitCode::ClosedPipe.number());
        assert_eq!(code(&Err(CliError::Input(anyhow::anyhow!("x")))), ExitCode::Usage.number());
    }
}
