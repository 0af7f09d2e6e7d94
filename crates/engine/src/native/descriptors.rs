//! How many descriptors cells may take from the program they are part of.
//!
//! The kernel limits the open files of a process (`RLIMIT_NOFILE`). Cells share that limit with the
//! host's own files and connections. A pool that took all of them would not only run out of cells:
//! the host could open no file any more. So the last part of the numbers is left to the host.
//!
//! ```text
//!  0 ─────────────── what the host and cells have open ────────────┬─ only the host ─┐ limit
//!                                                              ceiling
//! ```
//!
//! * When a sandbox is opened, its stock has to fit below the ceiling.
//! * Whenever a cell is made, its descriptors have to be below the ceiling. The kernel gives out
//!   the lowest free number, so a number tells how many are open at least. Nothing has to be
//!   counted.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use belljar_core::config::SandboxConfig;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::NAME;
use crate::EngineError;

/// What a warm cell takes: three streams, its channel, a handle on its process, three on its
/// scratch directories, and up to four on counters of its control groups.
const PER_CELL: u64 = 12;

/// How much is left to the host at most.
const MOST_LEFT_TO_HOST: u64 = 512;

/// The proxy's listener.
const FOR_EGRESS: u64 = 1;

/// The limit, and what of it cells may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptors {
    limit: u64,
    left_to_host: u64,
}

impl Descriptors {
    /// Those of this process.
    pub(super) fn of_this_process() -> Self {
        Self::with_limit(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }

    fn with_limit(limit: u64) -> Self {
        /// With fewer, one cell is all that can be had, and needs every one of them.
        const FEW: u64 = 256;
        let left_to_host = if limit < FEW { 0 } else { (limit / 8).min(MOST_LEFT_TO_HOST) };
        Self { limit, left_to_host }
    }

    fn ceiling(self) -> u64 {
        self.limit - self.left_to_host
    }

    /// Refuses a stock of warm cells that does not fit beside what the host has open.
    pub(super) fn check_stock(self, config: &SandboxConfig, open: u64) -> Result<(), EngineError> {
        let each = PER_CELL + if config.network_policy.is_isolated() { 0 } else { FOR_EGRESS };
        let stock = u64::try_from(config.pool_size).unwrap_or(u64::MAX);
        let fit = self.ceiling().saturating_sub(open) / each;
        if stock <= fit {
            return Ok(());
        }
        let Self { limit, left_to_host } = self;
        Err(EngineError::Exceeds {
            engine: NAME,
            what: format!("pool_size = {stock}"),
            reason: format!(
                "a warm cell takes {each} file descriptors; this program may have {limit}, of which {open} are open and {left_to_host} stay \
                 its own, so {fit} cells fit"
            ),
            remedy: format!(
                "Lower pool_size, or raise the limit (ulimit -n) to {}",
                self.enough_for(stock, each, open)
            ),
        })
    }

    /// A limit under which a stock fits.
    fn enough_for(self, stock: u64, each: u64, open: u64) -> u64 {
        let needed = stock.saturating_mul(each).saturating_add(open);
        // An eighth is left to the host, up to a point, unless there are few.
        let candidates = [needed, needed.saturating_mul(8) / 7 + 1, needed.saturating_add(MOST_LEFT_TO_HOST)];
        let fits = |limit: &u64| Self::with_limit(*limit).ceiling() >= needed;
        candidates.into_iter().filter(fits).min().unwrap_or(u64::MAX)
    }

    /// Refuses a cell whose descriptors are among those that are left to the host.
    pub(super) fn check_cell(self, newest: &OwnedFd) -> Result<(), String> {
        let number = u64::try_from(newest.as_raw_fd()).unwrap_or(0);
        if number < self.ceiling() {
            return Ok(());
        }
        let Self { limit, left_to_host } = self;
        Err(format!(
            "this program has at least {number} files open of the {limit} it may have, and the last {left_to_host} are left to it; \
             a cell takes {PER_CELL}. Run fewer at the same time, lower pool_size, or raise the limit (ulimit -n)"
        ))
    }
}

/// Lets this process have as many descriptors as it may. A thousand cells exceed the usual soft
/// limit.
pub(super) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// How many descriptors the host has open. Those of cells are not counted: a template that takes
/// the place of another gets a stock of the same size.
pub(super) fn open_beside_cells() -> u64 {
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    open.saturating_sub(CELLS.load(Ordering::Relaxed).saturating_mul(PER_CELL))
}

/// How many cells this process has.
static CELLS: AtomicU64 = AtomicU64::new(0);

/// Stands for the descriptors of one cell, as long as it has them.
#[derive(Debug)]
pub(super) struct OfOneCell(());

impl OfOneCell {
    pub(super) fn new() -> Self {
        CELLS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for OfOneCell {
    fn drop(&mut self) {
        CELLS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stock(pool_size: usize) -> SandboxConfig {
        SandboxConfig { pool_size, ..SandboxConfig::default() }
    }

    #[test]
    fn a_stock_that_does_not_fit_is_refused_with_the_numbers() {
        let here = Descriptors::with_limit(20_000);
        let text = here.check_stock(&stock(10_000), 488).unwrap_err().to_string();
        assert_eq!(
            text,
            "pool_size = 10000 is more than this machine has for the native engine: a warm cell takes 12 file descriptors; this \
             program may have 20000, of which 488 are open and 512 stay its own, so 1583 cells fit. Lower pool_size, or raise the limit (ulimit -n) to 121000"
        );
        assert!(here.check_stock(&stock(1583), 488).is_ok());
        assert!(here.check_stock(&stock(1584), 488).is_err());
    }

    #[test]
    fn few_descriptors_are_all_for_the_cell() {
        let here = Descriptors::with_limit(64);
        assert!(here.check_stock(&stock(2), 30).is_ok());
        assert!(here.check_stock(&stock(0), 64).is_ok());
    }

    proptest! {
        #[test]
        fn the_limit_that_is_named_is_enough(
            limit in 0u64..300_000,
            pool_size in 0usize..20_000,
            open in 0u64..100_000,
        ) {
            let here = Descriptors::with_limit(limit);
            if here.check_stock(&stock(pool_size), open).is_err() {
                let named = here.enough_for(pool_size as u64, PER_CELL, open);
                prop_assert!(named > limit);
                prop_assert!(Descriptors::with_limit(named).check_stock(&stock(pool_size), open).is_ok());
            }
        }
    }
}
