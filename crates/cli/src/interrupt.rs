//! Signals that a user sends to end the command.

use std::future::pending;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CliError;

/// Which signal it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Ctrl-C.
    Keyboard,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal was closed.
    HangUp,
}

/// Catches signals from the moment it is made. Until then a signal ends the process at once.
pub(crate) struct Interrupts {
    keyboard: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Interrupts {
    /// Starts to catch signals, except those that whoever started this process has it ignore:
    /// `nohup`, or a shell in whose background it runs.
    pub(crate) fn listen() -> Result<Self, CliError> {
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let catch = |kind: SignalKind| match ignored >> (kind.as_raw_value() - 1) & 1 {
            0 => signal(kind).map(Some).map_err(CliError::system("listen for signals")),
            _ => Ok(None),
        };
        Ok(Self {
            keyboard: catch(SignalKind::interrupt())?,
            terminate: catch(SignalKind::terminate())?,
            hang_up: catch(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            () = caught(&mut self.keyboard) => Interrupt::Keyboard,
            () = caught(&mut self.terminate) => Interrupt::Terminate,
            () = caught(&mut self.hang_up) => Interrupt::HangUp,
        }
    }
}

async fn caught(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => pending().await,
    }
}

/// The signals that a process ignores, a bit for each, from what the kernel says about it.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_what_is_ignored() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000001003\nSigCgt:\tff\n"), 0x1003);
        assert_eq!(ignored("Name:\tx\n"), 0);
    }
}
