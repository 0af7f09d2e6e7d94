//! A program in progress, as its caller holds it.

use std::time::Duration;

use belljar_core::wire::TerminalSize;
use belljar_engine::{Background, Signal, timeout};
use tokio::sync::{mpsc, watch};

use super::ProgramEnd;

/// Why a program is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// Its caller wants it to.
    Cancelled,
    /// Its time is up.
    TimedOut,
    /// It has written too much.
    DiskSpent,
}

/// What a driver is told.
pub(super) enum Order {
    Signal(Signal),
    Resize(TerminalSize),
    Stop(Stop),
}

/// The program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("session is not running")]
pub struct NotRunning;

/// A program in progress. Dropping it kills the program and everything it started.
#[derive(Debug)]
pub struct RunningProgram {
    orders: mpsc::UnboundedSender<Order>,
    end: watch::Receiver<Option<ProgramEnd>>,
    background: Option<Background>,
}

impl std::fmt::Debug for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Signal(_) => "Signal",
            Self::Resize(_) => "Resize",
            Self::Stop(_) => "Stop",
        })
    }
}

impl RunningProgram {
    pub(super) fn new(
        orders: mpsc::UnboundedSender<Order>,
        end: watch::Receiver<Option<ProgramEnd>>,
    ) -> Self {
        Self { orders, end, background: None }
    }

    pub(super) fn watched_by(mut self, background: Background) -> Self {
        self.background = Some(background);
        self
    }

    /// How it ended, if it has.
    pub fn end(&self) -> Option<ProgramEnd> {
        self.end.borrow().clone()
    }

    /// Whether nobody can tell any more how it ended, because the runtime was shut down.
    pub fn is_lost(&self) -> bool {
        self.end.has_changed().is_err() && self.end.borrow().is_none()
    }

    /// Waits until it has ended, and everything it wrote has been taken. `None` if nobody can tell
    /// any more, because the runtime was shut down.
    pub async fn wait(&self) -> Option<ProgramEnd> {
        let mut end = self.end.clone();
        let waiting = async move { end.wait_for(Option::is_some).await.ok().and_then(|end| end.clone()) };
        match &self.background {
            Some(background) => background.serve(waiting).await.ok().flatten(),
            None => waiting.await,
        }
    }

    /// The same, for a while.
    pub async fn wait_for(&self, within: Duration) -> Option<ProgramEnd> {
        let waiting = timeout(within, self.wait());
        waiting.await.ok().flatten()
    }

    /// Interrupts it, as Ctrl-C would. In a terminal whoever is in its foreground gets that.
    pub fn interrupt(&self) -> Result<(), NotRunning> {
        self.order(Order::Signal(Signal::InterruptAll))
    }

    /// Asks it to end.
    pub fn terminate(&self) -> Result<(), NotRunning> {
        self.order(Order::Signal(Signal::Terminate))
    }

    /// Gives its terminal another size.
    pub fn resize(&self, size: TerminalSize) -> Result<(), NotRunning> {
        self.order(Order::Resize(size))
    }

    /// Kills it and everything it started. Its end says why.
    pub fn stop(&self, why: Stop) -> Result<(), NotRunning> {
        self.order(Order::Stop(why))
    }

    fn order(&self, order: Order) -> Result<(), NotRunning> {
        match self.end.borrow().is_some() {
            true => Err(NotRunning),
            false => self.orders.send(order).map_err(|_| NotRunning),
        }
    }
}
