//! The user's own terminal, handed over to a program.

use std::io;
use std::os::fd::AsFd;

use belljar::program::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// A terminal in raw mode: every key goes to the program. Dropping this makes it what it was.
pub(crate) struct RawTerminal {
    was: Termios,
    raw: Termios,
}

impl RawTerminal {
    /// Takes the terminal on stdin.
    pub(crate) fn take() -> io::Result<Self> {
        let was = tcgetattr(io::stdin())?;
        let mut raw = was.clone();
        raw.make_raw();
        let terminal = Self { was, raw };
        terminal.take_again()?;
        Ok(terminal)
    }

    /// The same, after somebody else has had it: a shell, while this process was stopped.
    pub(crate) fn take_again(&self) -> io::Result<()> {
        Ok(tcsetattr(io::stdin(), OptionalActions::Drain, &self.raw)?)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that was closed meanwhile has no mode.
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.was);
    }
}

/// How large the terminal is.
pub(crate) fn size() -> TerminalSize {
    let asked = tcgetwinsize(io::stdout().as_fd());
    match asked {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
            TerminalSize { rows: size.ws_row, columns: size.ws_col }
        }
        _ => TerminalSize::default(),
    }
}
