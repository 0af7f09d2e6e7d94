//! The corpus of a fuzz target, and what comes of changing it at random.
//!
//! A fuzzer looks further. The tests that [`replay_targets!`](crate::replay_targets) makes run on a
//! stable toolchain, and keep what it found from coming back.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

/// The seeds of a target, in order.
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    let mut seeds: Vec<_> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    seeds.sort();
    assert!(seeds.len() >= 8, "{directory:?} holds {} seeds", seeds.len());
    seeds
}

/// One change to some bytes.
#[derive(Debug, Clone)]
pub enum Change {
    /// These bytes are put in at a place.
    Put(Index, Vec<u8>),
    /// What is between two places is cut out.
    Cut(Index, Index),
    /// These bits of one byte are flipped.
    Flip(Index, u8),
    /// What is behind a place is replaced by a seed.
    Splice(Index, Index),
    /// What is between two places is put at the end, so many times.
    Repeat(Index, Index, u8),
}

/// Any change. Some put in one of the words that the formats are made of.
pub fn change(words: &[&'static [u8]]) -> impl Strategy<Value = Change> + use<> {
    let at = any::<Index>;
    let words = prop::sample::select(words.to_vec()).prop_map(<[u8]>::to_vec);
    prop_oneof![
        (at(), prop_oneof![words, prop::collection::vec(any::<u8>(), 0..9)])
            .prop_map(|(at, put)| Change::Put(at, put)),
        (at(), at()).prop_map(|(from, to)| Change::Cut(from, to)),
        (at(), any::<u8>()).prop_map(|(at, bits)| Change::Flip(at, bits)),
        (at(), at()).prop_map(|(seed, at)| Change::Splice(seed, at)),
        (at(), at(), any::<u8>()).prop_map(|(from, to, times)| Change::Repeat(from, to, times)),
    ]
}

/// A seed after some changes, of 64 KiB at most.
pub fn changed(seeds: &[Vec<u8>], first: &Index, changes: &[Change]) -> Vec<u8> {
    const LARGEST: usize = 64 << 10;
    let mut bytes = first.get(seeds).clone();
    for change in changes {
        let place = |index: &Index| index.index(bytes.len() + 1);
        let span = |from: &Index, to: &Index| place(from).min(place(to))..place(from).max(place(to));
        match change {
            Change::Put(at, put) => drop(bytes.splice(place(at)..place(at), put.iter().copied())),
            Change::Cut(from, to) => drop(bytes.drain(span(from, to))),
            Change::Flip(at, bits) => {
                let at = place(at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Change::Splice(seed, at) => {
                bytes.truncate(place(at));
                bytes.extend_from_slice(&seeds[seed.index(seeds.len())]);
            }
            Change::Repeat(from, to, times) => {
                let part = bytes[span(from, to)].repeat(usize::from(*times));
                bytes.extend_from_slice(&part);
            }
        }
        bytes.truncate(LARGEST);
    }
    bytes
}

/// Three tests for each target. Whoever invokes it has `entries`, the `WORDS` that its formats are
/// made of, and proptest.
#[macro_export]
macro_rules! replay_targets {
    ($($name:ident: $entry:ident, $target:literal;)*) => {$(
        mod $name {
            use super::entries;
            use $crate::replay::{change, changed, corpus};
            use super::WORDS;
            use proptest::prelude::*;
            use proptest::sample::Index;

            #[test]
            fn holds_for_the_corpus() {
                corpus($target).iter().for_each(|seed| entries::$entry(seed));
            }

            #[test]
            fn holds_for_what_comes_of_changing_the_corpus() {
                let seeds = corpus($target);
                let changes = prop::collection::vec(change(WORDS), 0..6);
                let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) };
                proptest!(cases, |(first in any::<Index>(), changes in changes)| {
                    entries::$entry(&changed(&seeds, &first, &changes));
                });
            }

            #[test]
            fn holds_for_any_bytes() {
                let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) };
                proptest!(cases, |(bytes in prop::collection::vec(any::<u8>(), 0..2048), text in any::<String>())| {
                    entries::$entry(&bytes);
                    entries::$entry(text.as_bytes());
                });
            }
        }
    )*};
}
