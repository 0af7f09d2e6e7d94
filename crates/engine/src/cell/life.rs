//! How a cell is interrupted, ends, and is made as good as new.

use super::CellUsage;
use crate::engine::BoxFuture;

/// Ends a cell, or gets it ready for another use.
pub trait CellLife {
    /// Sends the guest's main process a signal, or all of its process group. What they make of it
    /// is their own affair. Does nothing to a guest that is gone.
    fn signal(&mut self, signal: Signal);

    /// Kills every process in it, at once. What it had written can still be read.
    fn kill(&mut self);

    /// Waits until it is dead, however long that takes, and tells how it died. [`Self::kill`]
    /// hastens it.
    fn autopsy(&mut self) -> BoxFuture<'_, Autopsy>;

    /// How often it may be used after this use: 0 for a cell that is used once.
    fn uses_left(&self) -> u32;

    /// Makes it as good as new for another use; `false` when there is any doubt that it is.
    fn reset(&mut self) -> BoxFuture<'_, bool>;
}

/// What a guest can be told from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT to the main process, which runs a script.
    Interrupt,
    /// SIGINT to the group of a program, as Ctrl-C would.
    InterruptAll,
    /// SIGTERM to the group of a program: please end.
    Terminate,
}

/// How a cell died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Autopsy {
    /// How its main process ended.
    pub end: End,
    /// What it had used.
    pub usage: CellUsage,
}

/// How a cell's main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code.
    Exited(i32),
    /// By a signal from inside.
    Signaled(i32),
    /// By us, or with the whole cell; nobody was left to tell.
    Killed,
}

impl End {
    /// Reads a status as `wait` gives it.
    pub fn of_wait_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Exited((status >> 8) & 0xff),
            signal => Self::Signaled(signal),
        }
    }
}
