//! Places of a text that decoding leaves out.

use std::collections::VecDeque;

/// Where bytes are that no decoded byte stands for, in order: line breaks, or all but one byte of
/// each escape.
#[derive(Debug, Default)]
pub(super) struct Skipped(VecDeque<usize>);

impl Skipped {
    pub(super) fn add(&mut self, place: usize) {
        self.0.push_back(place);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where the last `length` bytes before `end` begin, if those that were left out do not count.
    pub(super) fn back(&self, end: usize, length: usize) -> usize {
        let mut start = end.saturating_sub(length);
        for place in self.0.iter().rev() {
            if *place < start {
                break;
            }
            start = start.saturating_sub(1);
        }
        start
    }

    /// Forgets what is before a place.
    pub(super) fn forget_before(&mut self, place: usize) {
        while self.0.front().is_some_and(|first| *first < place) {
            self.0.pop_front();
        }
    }
}
