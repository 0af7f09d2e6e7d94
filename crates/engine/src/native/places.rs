//! Numbers of network places in a zygote, each with at most one cell in it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The numbers not in use. The lowest is given out first, so that few places do for a zygote that is rarely busy.
#[derive(Clone, Default)]
pub(super) struct PlaceNumbers(Arc<Mutex<Numbers>>);

#[derive(Default)]
struct Numbers {
    free: BinaryHeap<Reverse<u32>>,
    given_out: u32,
}

/// A number in use. To be dropped once every process of its cell is gone, and not before.
pub(super) struct LeasedPlace {
    number: u32,
    numbers: PlaceNumbers,
}

impl PlaceNumbers {
    pub(super) fn lease(&self) -> LeasedPlace {
        let mut numbers = self.numbers();
        let number = match numbers.free.pop() {
            Some(Reverse(number)) => number,
            None => {
                numbers.given_out += 1;
                numbers.given_out - 1
            }
        };
        LeasedPlace { number, numbers: self.clone() }
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl LeasedPlace {
    pub(super) fn get(&self) -> u32 {
        self.number
    }
}

impl Drop for LeasedPlace {
    fn drop(&mut self) {
        self.numbers.numbers().free.push(Reverse(self.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_comes_first_and_none_twice() {
        let numbers = PlaceNumbers::default();
        let (first, second, third) = (numbers.lease(), numbers.lease(), numbers.lease());
        assert_eq!([first.get(), second.get(), third.get()], [0, 1, 2]);
        drop((third, first));
        assert_eq!(numbers.lease().get(), 0);
    }
}
