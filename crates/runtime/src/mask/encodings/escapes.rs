//! What readers of escapes have in common.
//!
//! As long as nothing is escaped, the text is what it is, and nothing is done here. The first
//! escape begins where the plain search is. When both are at the same place again, this one rests.

use super::super::search::{START, Search, State};
use super::skipped::Skipped;
use super::{Span, longer, step};

/// The longest escape, without its last character: `\u004`.
const LONGEST: usize = 5;

/// How far a text is read as one that escapes bytes.
#[derive(Debug, Default)]
pub(super) struct Escapes {
    is_awake: bool,
    state: State,
    /// The beginning of what may be an escape: `%`, or `%4`.
    begun: [u8; LONGEST],
    length: usize,
    skipped: Skipped,
}

impl Escapes {
    /// Whether an escape was read that the plain search did not.
    #[inline]
    pub(super) fn is_awake(&self) -> bool {
        self.is_awake
    }

    /// Begins where the plain search was before the byte.
    pub(super) fn begin(&mut self, plain: State) {
        if !self.is_awake {
            *self = Self { is_awake: true, state: plain, ..Self::default() };
        }
    }

    /// Ends where the plain search is, if nothing of what both found is escaped.
    pub(super) fn rest(&mut self, plain: State) {
        self.is_awake = self.length > 0 || self.state != plain || !self.skipped.is_empty();
    }

    /// What has begun.
    pub(super) fn begun(&self) -> &[u8] {
        &self.begun[..self.length]
    }

    /// One byte more of what has begun.
    pub(super) fn go_on(&mut self, byte: u8) {
        self.begun[self.length] = byte;
        self.length += 1;
    }

    /// What had begun was no escape. All that is left of a value found here ends a few bytes back.
    pub(super) fn give_up(&mut self, search: &Search, end: usize) -> Option<Span> {
        let (begun, length) = (self.begun, std::mem::take(&mut self.length));
        let mut found = None;
        for (back, literal) in (0..length).rev().zip(begun) {
            found = longer(found, self.decoded(search, literal, end - 1 - back));
        }
        found
    }

    /// What had begun ends here, and stands for these bytes.
    pub(super) fn end(&mut self, search: &Search, bytes: &[u8], end: usize) -> Option<Span> {
        let begin = end - 1 - std::mem::take(&mut self.length);
        let (last, before) = bytes.split_last()?;
        let mut found = None;
        for (place, byte) in (begin..).zip(before) {
            found = longer(found, self.decoded(search, *byte, place + 1));
        }
        (begin + bytes.len()..end).for_each(|place| self.skipped.add(place));
        longer(found, self.decoded(search, *last, end))
    }

    pub(super) fn decoded(&mut self, search: &Search, byte: u8, end: usize) -> Option<Span> {
        // A short value too: see `SHORTEST_ENCODED`.
        let found = step(search, &mut self.state, byte, 1);
        let found = found.map(|length| Span { start: self.skipped.back(end, length), end });
        let open = self.skipped.back(end, search.pending(self.state));
        self.skipped.forget_before(open);
        found
    }

    /// The place from which on the text may become a value. The sign of an escape alone is not
    /// waited for.
    pub(super) fn open_from(&self, search: &Search, end: usize) -> Option<usize> {
        let bytes = search.pending(self.state);
        (self.is_awake && self.state != START && bytes > 0)
            .then(|| self.skipped.back(end - self.length, bytes))
    }
}
