//! Exclusive use of a cell.

use std::sync::Arc;

use belljar_core::CellId;

use super::shelf::Shelf;
use crate::cell::Cell;

/// A cell for the time being. Dropping the lease lets the next caller have its place, and destroys the cell, unless it can be used again and
/// whoever held it vouches for a clean end.
pub struct Lease {
    /// `None` only while being dropped.
    cell: Option<Box<dyn Cell>>,
    id: CellId,
    shelf: Arc<Shelf>,
    ended_cleanly: bool,
}

impl Lease {
    pub(super) fn new(cell: Box<dyn Cell>, shelf: Arc<Shelf>) -> Self {
        Self { id: cell.id(), cell: Some(cell), shelf, ended_cleanly: false }
    }

    /// The cell's name.
    pub fn id(&self) -> CellId {
        self.id
    }

    /// The cell.
    pub fn cell(&mut self) -> &mut dyn Cell {
        self.cell.as_deref_mut().expect("only a dropped lease has no cell")
    }

    /// Says that what ran in it ended in good order. Without this word a cell is never used again.
    pub fn vouch(&mut self) {
        self.ended_cleanly = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(cell) = self.cell.take() else { return };
        if self.ended_cleanly && cell.uses_left() > 0 {
            self.shelf.take_back(cell);
        } else {
            // The cell first: it goes to the reaper, and by the time another is made in its place it is being killed.
            drop(cell);
            self.shelf.spent(self.id);
        }
    }
}
