//! Counts the ports of this machine that wait after a connection has ended.
//!
//! Whoever ends a connection first keeps its port for a minute (`TIME_WAIT`). The proxy avoids that
//! nearly always (see [`HostSocket`](crate::upstream::HostSocket)). It cannot in one case: a guest
//! has ended its side of a plain tunnel, and the host must hear of it before it answers. So all
//! cells of a template together, alive or not, have a limited number of these. No cell may hold
//! more than is left for the others.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a port is assumed to wait. Linux waits one minute, which cannot be changed, and its
/// timers may be late by an eighth of that.
const TIME_WAIT: Duration = Duration::from_secs(70);

/// The ports of one template.
#[derive(Debug)]
pub(crate) struct Ports {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Claimed or waiting.
    held: usize,
    /// When the wait of each ended connection is over, and which cell it belongs to. Ordered by
    /// when they ended.
    waiting: VecDeque<(Instant, u64)>,
    /// How many ports each cell holds. Cells that hold none are left out.
    by_cell: Vec<(u64, usize)>,
    next_cell: u64,
}

impl Ports {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// The share of one cell.
    pub(crate) fn of_a_cell(self: &Arc<Self>) -> CellPorts {
        let mut state = self.lock();
        state.next_cell += 1;
        CellPorts { ports: self.clone(), cell: state.next_cell }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one cell may hold.
pub(crate) struct CellPorts {
    ports: Arc<Ports>,
    cell: u64,
}

impl CellPorts {
    /// Permission to end one connection first. `None` if too many ports wait already.
    pub(crate) fn claim(&self) -> Option<Hold> {
        let claimed = self.ports.lock().claim(self.cell, self.ports.most, Instant::now());
        claimed.then(|| Hold { ports: self.ports.clone(), cell: self.cell })
    }
}

/// A port that may have to wait. Once this is dropped, it is assumed to wait for the full time.
#[derive(Debug)]
pub(crate) struct Hold {
    ports: Arc<Ports>,
    cell: u64,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.ports.lock().waiting.push_back((Instant::now() + TIME_WAIT, self.cell));
    }
}

impl State {
    fn claim(&mut self, cell: u64, most: usize, now: Instant) -> bool {
        while let Some(&(_, whose)) = self.waiting.front().filter(|(until, _)| *until <= now) {
            self.waiting.pop_front();
            self.held -= 1;
            self.by_cell.iter_mut().filter(|(other, _)| *other == whose).for_each(|(_, count)| *count -= 1);
        }
        self.by_cell.retain(|(_, count)| *count > 0);
        let own = self.by_cell.iter().position(|(other, _)| *other == cell);
        let count = own.map_or(0, |at| self.by_cell[at].1);
        if count >= most.saturating_sub(self.held) {
            return false;
        }
        match own {
            Some(at) => self.by_cell[at].1 += 1,
            None => self.by_cell.push((cell, 1)),
        }
        self.held += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greedy(cell: &CellPorts) -> Vec<Hold> {
        std::iter::from_fn(|| cell.claim()).take(1000).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn no_cell_takes_more_than_it_leaves_and_all_come_back() {
        let ports = Arc::new(Ports::new(64));
        let cells: Vec<_> = (0..8).map(|_| ports.of_a_cell()).collect();
        let holds: Vec<_> = cells.iter().map(greedy).collect();
        let counts: Vec<_> = holds.iter().map(Vec::len).collect();
        assert_eq!(counts, [32, 16, 8, 4, 2, 1, 1, 0]);
        drop(holds);
        assert!(cells[7].claim().is_none(), "a connection that has ended still has its port");
        drop(cells);
        tokio::time::advance(TIME_WAIT).await;
        assert_eq!(greedy(&ports.of_a_cell()).len(), 32, "also when its cell is gone");
        assert!(Arc::new(Ports::new(0)).of_a_cell().claim().is_none());
    }
}
