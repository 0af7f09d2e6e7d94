//! What a listing of an artifact's records means. It is pure: no clock, no store.
//!
//! ```text
//!  sequence   0  1  2  3  4  5  6
//!             v  v  v  D  v  v          D: a deletion. Everything up to it is gone, whether its
//!  version             │  0  1  ▲       objects are removed already or not.
//!                      base     next: whoever creates number 6 has version 2, or deletes
//! ```
//!
//! Numbers are never used twice while a deletion is kept, and the last one always is. So saves and
//! deletions of any number of processes happen one after another, in the order of their numbers.

use std::collections::BTreeMap;

use object_store::ObjectMeta;

use super::keys;
use super::record::DELETED;

/// The records of one artifact, by number: is it a deletion?
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    records: BTreeMap<u64, bool>,
}

impl History {
    /// Adds an object of a listing. One that is no record is not looked at.
    pub(super) fn add(&mut self, object: &ObjectMeta) {
        if let Some(sequence) = keys::sequence(&object.location) {
            self.records.insert(sequence, object.size == DELETED.len() as u64);
        }
    }

    /// The number of the last deletion.
    pub(super) fn deletion(&self) -> Option<u64> {
        self.records.iter().rev().find(|(_, is_deletion)| **is_deletion).map(|(sequence, _)| *sequence)
    }

    /// The number that version 0 has.
    fn base(&self) -> u64 {
        self.deletion().map_or(0, |deletion| deletion.saturating_add(1))
    }

    /// The number of the next record, and the version it would be.
    pub(super) fn next(&self) -> (u64, u64) {
        let next = self.records.keys().next_back().map_or(0, |last| last.saturating_add(1));
        (next, next - self.base())
    }

    /// The versions that exist, with their numbers.
    pub(super) fn versions(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        let base = self.base();
        self.records.range(base..).map(move |(sequence, _)| (sequence - base, *sequence))
    }

    /// The number of a version.
    pub(super) fn find(&self, version: u64) -> Option<u64> {
        let sequence = self.base().checked_add(version)?;
        self.records.contains_key(&sequence).then_some(sequence)
    }

    /// The version and number of the latest.
    pub(super) fn latest(&self) -> Option<(u64, u64)> {
        self.versions().next_back()
    }

    /// Records that a deletion left behind: their numbers, and whether they are deletions too.
    pub(super) fn deleted(&self) -> Vec<(u64, bool)> {
        self.records
            .range(..self.deletion().unwrap_or(0))
            .map(|(sequence, is_deletion)| (*sequence, *is_deletion))
            .collect()
    }

    /// Whether a record is missing. A listing that was made while others wrote may not show all of
    /// them, and then versions would be counted from the wrong number.
    pub(super) fn has_a_gap(&self) -> bool {
        let base = self.base();
        !self.versions().map(|(_, sequence)| sequence).eq(base..self.next().0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn history(records: &[(u64, bool)]) -> History {
        History { records: records.iter().copied().collect() }
    }

    #[test]
    fn versions_count_from_the_last_deletion() {
        let nothing = history(&[]);
        assert_eq!((nothing.next(), nothing.latest(), nothing.has_a_gap()), ((0, 0), None, false));
        let three = history(&[(0, false), (1, false), (2, false)]);
        assert_eq!((three.next(), three.latest(), three.find(1)), ((3, 3), Some((2, 2)), Some(1)));
        let again = history(&[(1, false), (3, true), (4, false), (5, false)]);
        assert_eq!((again.next(), again.latest(), again.find(0)), ((6, 2), Some((1, 5)), Some(4)));
        assert_eq!((again.deleted(), again.has_a_gap()), (vec![(1, false)], false));
        let gone = history(&[(3, true)]);
        assert_eq!((gone.next(), gone.latest(), gone.deleted()), ((4, 0), None, vec![]));
    }

    #[test]
    fn a_listing_that_missed_a_record_is_noticed() {
        assert!(history(&[(0, false), (2, false)]).has_a_gap());
        assert!(history(&[(7, false)]).has_a_gap(), "the deletion with number 6 is missing");
        assert!(!history(&[(6, true), (7, false)]).has_a_gap());
    }

    #[test]
    fn a_number_that_cannot_grow_is_no_panic() {
        let full = history(&[(u64::MAX, true)]);
        assert_eq!((full.next(), full.latest()), ((u64::MAX, 0), Some((0, u64::MAX))));
        assert_eq!(full.find(u64::MAX), None);
    }

    proptest! {
        /// Against a model that remembers everything: saves and deletions, one after another, with
        /// some or all of what is deleted removed.
        #[test]
        fn it_is_a_list_that_is_emptied_and_filled(steps in proptest::collection::vec(0u8..5, 0..40)) {
            let mut history = History::default();
            let mut model: Vec<u64> = Vec::new();
            for step in steps {
                let (next, version) = history.next();
                match step {
                    0 => {
                        history.records.insert(next, true);
                        model.clear();
                    }
                    1 => {
                        if let Some((sequence, _)) = history.deleted().first() {
                            history.records.remove(sequence);
                        }
                    }
                    _ => {
                        prop_assert_eq!(version, model.len() as u64);
                        history.records.insert(next, false);
                        model.push(next);
                    }
                }
                let found: Vec<u64> = history.versions().map(|(_, sequence)| sequence).collect();
                prop_assert_eq!(&found, &model);
                prop_assert!(!history.has_a_gap());
            }
        }
    }
}
