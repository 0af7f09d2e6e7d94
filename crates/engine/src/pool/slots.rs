//! Who gets which cell, and when another one is made. Pure: no lock, no clock, no `await`.
//!
//! A cell is idle, leased or being made, and all three together never exceed the capacity. Cells
//! being made belong to nobody: whichever is ready first goes to whoever has waited longest, or to
//! the stock when nobody waits.
//!
//! ```text
//!            checkout, none idle            made
//!  (waiting) ◄────────────────── caller    ┌────► idle ──checkout──► leased ──given back──► (gone)
//!      └──────────── cell made ────────────┘       └──────died──────────┴──────died───────► (gone)
//! ```
//!
//! Every method changes the state and returns what the driver has to do about it. The rule for
//! making cells is one line, [`Slots::missing`]; it is asked after every change, so a freed slot
//! can never be overlooked. One thing may wait: while the stock is not low, what a checkout took
//! from it is made up for a moment later or when a run ends, so that the run that has just begun
//! has the processor to itself. However many are missing, only so many are made at the same time.
//!
//! Cells that come back after a use count as stock while they are away, and a caller who finds none
//! waits a moment for one of them before another is made.

use std::collections::{BTreeSet, VecDeque};

use belljar_core::CellId;

#[cfg(test)]
mod tests;

/// A caller's place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket(pub(crate) u64);

/// Where a caller stands in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Behind those who wait.
    Last,
    /// Before them: for a caller who gives a cell up for another, and would lose a place otherwise.
    First,
}

/// How many cells are made at the same time. More would not come any faster, and each takes up room
/// before anybody has it.
const AT_ONCE: usize = 64;

/// What the driver has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Begin to make a cell.
    Make,
    /// Call [`Slots::catch_up`] in a moment.
    MakeSoon,
    /// Hand this idle or new cell to this caller.
    Give { to: Ticket, cell: CellId },
    /// Put this cell away.
    Destroy { cell: CellId },
    /// Tell this caller that nothing will come.
    Refuse { whom: Ticket, why: Refusal },
}

/// Why a caller gets nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Making a cell failed; the driver knows how.
    SpawnFailed,
    /// The pool is closed.
    Closed,
}

/// The accounts of one sandbox's cells.
#[derive(Debug)]
pub(crate) struct Slots {
    capacity: usize,
    stock: usize,
    /// Whether cells are used again.
    come_back: bool,
    idle: VecDeque<CellId>,
    leased: BTreeSet<CellId>,
    making: usize,
    waiting: VecDeque<Ticket>,
    /// No cells are made for the stock while the last attempt to make one failed; callers still get
    /// their attempt.
    stock_paused: bool,
    /// Whether the driver has been told to call [`Slots::catch_up`] and has not yet.
    catching_up: bool,
    closed: bool,
}

impl Slots {
    /// Accounts for a stock of `stock` idle cells, and at most `capacity` of any kind.
    #[cfg(test)]
    pub(crate) fn new(stock: usize, capacity: usize) -> Self {
        Self::with_cells_that_come_back(false, stock, capacity)
    }

    /// The same, for cells that are or are not used again.
    pub(crate) fn with_cells_that_come_back(come_back: bool, stock: usize, capacity: usize) -> Self {
        Self {
            come_back,
            capacity: capacity.max(1),
            stock: stock.min(capacity),
            idle: VecDeque::new(),
            leased: BTreeSet::new(),
            making: 0,
            waiting: VecDeque::new(),
            stock_paused: false,
            catching_up: false,
            closed: false,
        }
    }

    /// Makes a new account begin to fill its stock.
    pub(crate) fn open(&mut self) -> Vec<Action> {
        self.make_missing()
    }

    /// A caller wants a cell, in turn or before all others.
    pub(crate) fn checkout(&mut self, who: Ticket, turn: Turn) -> Vec<Action> {
        if self.closed {
            return vec![Action::Refuse { whom: who, why: Refusal::Closed }];
        }
        let Some(cell) = self.idle.pop_front() else {
            match turn {
                Turn::Last => self.waiting.push_back(who),
                Turn::First => self.waiting.push_front(who),
            }
            return match self.come_back && !self.leased.is_empty() {
                true => self.make_soon(),
                false => self.make_missing(),
            };
        };
        self.leased.insert(cell);
        let mut actions = vec![Action::Give { to: who, cell }];
        if self.idle.len() < self.stock.div_ceil(2) {
            actions.extend(self.make_missing());
        } else {
            actions.extend(self.make_soon());
        }
        actions
    }

    fn make_soon(&mut self) -> Vec<Action> {
        if self.missing() == 0 || self.catching_up {
            return Vec::new();
        }
        self.catching_up = true;
        vec![Action::MakeSoon]
    }

    /// The moment has passed.
    pub(crate) fn catch_up(&mut self) -> Vec<Action> {
        self.catching_up = false;
        self.make_missing()
    }

    /// A caller no longer wants one.
    pub(crate) fn cancel(&mut self, who: Ticket) -> Vec<Action> {
        self.waiting.retain(|waiting| *waiting != who);
        Vec::new()
    }

    /// A cell is ready.
    pub(crate) fn made(&mut self, cell: CellId) -> Vec<Action> {
        self.making -= 1;
        self.stock_paused = false;
        let mut actions = self.place(cell);
        actions.extend(self.make_missing());
        actions
    }

    /// A cell could not be made. One caller is told, so that a broken template fails every caller
    /// once and spins for none.
    pub(crate) fn making_failed(&mut self) -> Vec<Action> {
        self.making -= 1;
        self.stock_paused = true;
        let mut actions = Vec::new();
        if let Some(whom) = self.waiting.pop_front() {
            actions.push(Action::Refuse { whom, why: Refusal::SpawnFailed });
        }
        actions.extend(self.make_missing());
        actions
    }

    /// Time to try again to fill the stock.
    pub(crate) fn resume_stock(&mut self) -> Vec<Action> {
        self.stock_paused = false;
        self.make_missing()
    }

    /// Holds another number of idle cells from now on; those there are stay.
    pub(crate) fn set_stock(&mut self, stock: usize) -> Vec<Action> {
        self.stock = stock.min(self.capacity);
        self.make_missing()
    }

    /// The first cell has told how many idle cells to hold. A larger stock that somebody asked for
    /// meanwhile stays until it is set again.
    pub(crate) fn learn_stock(&mut self, stock: usize) -> Vec<Action> {
        if self.stock > 1 { Vec::new() } else { self.set_stock(stock) }
    }

    /// A leased cell is done with and fit for nobody else.
    pub(crate) fn spent(&mut self, cell: CellId) -> Vec<Action> {
        let held = self.leased.remove(&cell);
        debug_assert!(held, "{cell} was not leased");
        self.make_missing()
    }

    /// A leased cell came back as good as new.
    pub(crate) fn returned(&mut self, cell: CellId) -> Vec<Action> {
        let held = self.leased.remove(&cell);
        debug_assert!(held, "{cell} was not leased");
        let mut actions = self.place(cell);
        actions.extend(self.make_missing());
        actions
    }

    /// An idle cell died.
    pub(crate) fn died(&mut self, cell: CellId) -> Vec<Action> {
        self.idle.retain(|idle| *idle != cell);
        self.make_missing()
    }

    /// Nothing is given out from now on.
    pub(crate) fn close(&mut self) -> Vec<Action> {
        self.closed = true;
        let refused = self.waiting.drain(..).map(|whom| Action::Refuse { whom, why: Refusal::Closed });
        let destroyed = self.idle.drain(..).map(|cell| Action::Destroy { cell });
        refused.chain(destroyed).collect()
    }

    /// A cell nobody holds: to the first in the queue, to the stock, or away.
    fn place(&mut self, cell: CellId) -> Vec<Action> {
        if self.closed {
            return vec![Action::Destroy { cell }];
        }
        match self.waiting.pop_front() {
            Some(to) => {
                self.leased.insert(cell);
                vec![Action::Give { to, cell }]
            }
            None => {
                self.idle.push_back(cell);
                Vec::new()
            }
        }
    }

    fn make_missing(&mut self) -> Vec<Action> {
        let missing = self.missing();
        self.making += missing;
        vec![Action::Make; missing]
    }

    /// How many more cells should be on their way.
    fn missing(&self) -> usize {
        if self.closed {
            return 0;
        }
        let for_stock = if self.stock_paused { 0 } else { self.stock.saturating_sub(self.present()) };
        // A cell that comes back serves a caller first and is stock afterwards.
        let wanted = match self.come_back {
            true => self.waiting.len().max(for_stock),
            false => self.waiting.len().saturating_add(for_stock),
        };
        let room = self.capacity.saturating_sub(self.idle.len() + self.leased.len() + self.making);
        wanted.saturating_sub(self.making).min(room).min(AT_ONCE.saturating_sub(self.making))
    }

    /// Cells that count as stock.
    pub(crate) fn present(&self) -> usize {
        self.idle.len() + if self.come_back { self.leased.len() } else { 0 }
    }

    pub(crate) fn idle(&self) -> usize {
        self.idle.len()
    }

    pub(crate) fn leased(&self) -> usize {
        self.leased.len()
    }

    pub(crate) fn making(&self) -> usize {
        self.making
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }
}
