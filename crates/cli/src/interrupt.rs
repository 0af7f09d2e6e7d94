//! Signals by which a user ends what is going on.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CliError;

/// How the user said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Ctrl-C.
    Keyboard,
    /// SIGTERM.
    Terminate,
}

/// Hears signals from the moment it is made; until then they end the process at once.
pub(crate) struct Interrupts {
    keyboard: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Starts to listen.
    pub(crate) fn listen() -> Result<Self, CliError> {
        let hear = |kind| signal(kind).map_err(CliError::system("listen for signals"));
        Ok(Self { keyboard: hear(SignalKind::interrupt())?, terminate: hear(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.keyboard.recv() => Interrupt::Keyboard,
            _ = self.terminate.recv() => Interrupt::Terminate,
        }
    }
}
