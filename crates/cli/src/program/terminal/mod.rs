//! The user's own terminal, handed over to a program.
//!
//! * `keeper` is a process that makes it what it was, also if this one is killed.
//! * `modes` is what a program has switched on in it.

pub(crate) mod keeper;
mod modes;

use std::io;
use std::os::fd::AsFd;

use belljar::program::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

pub(crate) use self::keeper::Keeper;
use self::modes::Modes;

/// A terminal in raw mode: every key goes to the program. Dropping this makes it what it was.
pub(crate) struct RawTerminal {
    raw: Termios,
    _keeper: Keeper,
}

impl RawTerminal {
    /// Takes the terminal on stdin.
    pub(crate) fn take(keeper: Keeper) -> io::Result<Self> {
        let mut raw = tcgetattr(io::stdin())?;
        raw.make_raw();
        let terminal = Self { raw, _keeper: keeper };
        terminal.take_again()?;
        Ok(terminal)
    }

    /// The same, after somebody else has had it: a shell, while this process was stopped.
    pub(crate) fn take_again(&self) -> io::Result<()> {
        Ok(tcsetattr(io::stdin(), OptionalActions::Drain, &self.raw)?)
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
