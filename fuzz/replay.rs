//! The corpus of a target, and what comes of changing it at random. Included by the replay tests, which run on a stable toolchain.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

pub(crate) fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    let mut seeds: Vec<_> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    seeds.sort();
    assert!(seeds.len() >= 8, "{directory:?} holds {} seeds", seeds.len());
    seeds
}

/// One change to some bytes.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Put(Index, Vec<u8>),
    Cut(Index, Index),
    Flip(Index, u8),
    Splice(Index, Index),
    Repeat(Index, Index, u8),
}

pub(crate) fn change(words: &[&'static [u8]]) -> impl Strategy<Value = Change> + use<> {
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

pub(crate) fn changed(seeds: &[Vec<u8>], first: &Index, changes: &[Change]) -> Vec<u8> {
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

/// Three tests for each target; whoever invokes it has `entries` and the `WORDS` its formats are made of.
macro_rules! targets {
    ($($name:ident: $entry:ident, $target:literal;)*) => {$(
        mod $name {
            use super::entries;
            use super::replay::{change, changed, corpus};
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

pub(crate) use targets;
