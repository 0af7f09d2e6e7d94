//! Masks bytes that arrive in pieces.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::encodings::{Reading, Span};
use super::search::Search;
use super::{HIDDEN, Mask};

/// Masks a stream. What may be the beginning of a value is held back until that is known.
#[derive(Debug)]
pub(crate) struct MaskedStream {
    mask: Mask,
    masking: Masking,
}

impl MaskedStream {
    pub(super) fn new(mask: Mask) -> Self {
        Self { mask, masking: Masking::default() }
    }

    /// What can be handed on now.
    pub(crate) fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match self.mask.search() {
            None => Cow::Borrowed(bytes),
            Some(search) => Cow::Owned(self.masking.push(search, bytes)),
        }
    }

    /// What was held back, at the end of the stream.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.masking).finish()
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.masking.held.len()
    }
}

/// Masks a whole text. `seen` is the text as the search should see it, byte for byte.
pub(super) fn replace(search: &Search, seen: &[u8], text: &str) -> String {
    let mut masking = Masking::default();
    masking.look(search, seen);
    masking.held = text.as_bytes().to_vec();
    // A value is UTF-8, so it begins and ends where a character does.
    String::from_utf8(masking.finish()).expect("whole characters in place of whole characters")
}

/// How far a text is masked. Places are counted from its beginning.
///
/// Values that overlap become one `***`. Otherwise the rest of the second would be left.
#[derive(Debug, Default)]
struct Masking {
    reading: Reading,
    /// How many bytes were handed on.
    released: usize,
    /// Those that came and were not.
    held: Vec<u8>,
    /// What is to be hidden, in order, without overlaps.
    spans: VecDeque<Hidden>,
}

#[derive(Debug, Clone, Copy)]
struct Hidden {
    start: usize,
    end: usize,
    /// Whether its `***` has been handed on.
    is_told: bool,
}

impl Masking {
    /// Takes bytes, and returns what is certain now.
    fn push(&mut self, search: &Search, bytes: &[u8]) -> Vec<u8> {
        self.look(search, bytes);
        self.held.extend_from_slice(bytes);
        // What is open may have been handed on already: see `Reading::open_from`.
        self.release(self.reading.open_from(search).max(self.released))
    }

    /// What was held back. Nothing more will come.
    fn finish(mut self) -> Vec<u8> {
        self.release(self.reading.end())
    }

    /// Looks for values in the next bytes.
    fn look(&mut self, search: &Search, bytes: &[u8]) {
        for byte in bytes {
            if let Some(found) = self.reading.read(search, *byte) {
                self.hide(found);
            }
        }
    }

    /// Hides a part of the text, as far as it has not been handed on.
    fn hide(&mut self, found: Span) {
        let mut span = Hidden { start: found.start.max(self.released), end: found.end, is_told: false };
        while let Some(last) = self.spans.back().filter(|last| last.end > span.start) {
            span.start = span.start.min(last.start);
            span.end = span.end.max(last.end);
            span.is_told |= last.is_told;
            self.spans.pop_back();
        }
        self.spans.push_back(span);
    }

    /// Hands on what is before a place. No value that is still to be found begins before it.
    fn release(&mut self, until: usize) -> Vec<u8> {
        let held_from = self.released;
        let mut released = Vec::with_capacity(until - held_from);
        let mut at = held_from;
        while let Some(span) = self.spans.front_mut().filter(|span| span.start < until) {
            released.extend_from_slice(&self.held[at - held_from..span.start.max(at) - held_from]);
            if !span.is_told {
                released.extend_from_slice(HIDDEN.as_bytes());
            }
            at = span.end.min(until);
            if span.end > until {
                span.is_told = true;
                break;
            }
            self.spans.pop_front();
        }
        released.extend_from_slice(&self.held[at - held_from..until - held_from]);
        self.held.drain(..until - held_from);
        self.released = until;
        released
    }
}
