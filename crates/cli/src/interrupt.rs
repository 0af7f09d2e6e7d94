//! Signals that a user sends to end the command.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CliError;

/// Which signal it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Ctrl-C.
    Keyboard,
    /// SIGTERM.
    Terminate,
}

/// Catches signals from the moment it is made. Until then a signal ends the process at once.
pub(crate) struct Interrupts {
    keyboard: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Starts to catch signals.
    pub(crate) fn listen() -> Result<Self, CliError> {
        let catch = |kind| signal(kind).map_err(CliError::system("listen for signals"));
        Ok(Self { keyboard: catch(SignalKind::interrupt())?, terminate: catch(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.keyboard.recv() => Interrupt::Keyboard,
            _ = self.terminate.recv() => Interrupt::Terminate,
        }
    }
}
