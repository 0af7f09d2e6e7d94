//! Percent-encoding.
//!
//! As long as nothing is escaped, the text is what it is, and nothing is done here. The first
//! escape begins where the plain search is. When both are at the same place again, this one rests.

use super::super::search::{START, Search, State};
use super::skipped::Skipped;
use super::{Span, step};

/// How far a text is read as one that escapes bytes.
#[derive(Debug, Default)]
pub(super) struct Url {
    is_awake: bool,
    state: State,
    /// The beginning of what may be an escape: `%`, or `%4`.
    begun: [u8; 2],
    length: usize,
    skipped: Skipped,
}

impl Url {
    /// Whether a byte means something else here than it does in the text as it is.
    #[inline]
    pub(super) fn is_needed(&self, byte: u8, plus_is_space: bool) -> bool {
        self.is_awake || byte == b'%' || (byte == b'+' && plus_is_space)
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

    pub(super) fn read(
        &mut self,
        search: &Search,
        byte: u8,
        end: usize,
        plus_is_space: bool,
    ) -> Option<Span> {
        let (begun, length) = (self.begun, std::mem::take(&mut self.length));
        if length > 0 && byte.is_ascii_hexdigit() {
            if length == 2 {
                self.skipped.add(end - 2);
                self.skipped.add(end - 1);
                return self.decoded(search, digit(begun[1]) << 4 | digit(byte), end);
            }
            (self.begun, self.length) = ([b'%', byte], 2);
            return None;
        }
        // It was none. All that is left of a value found here ends at most two bytes back.
        let mut found = None;
        for (back, literal) in (0..length).rev().zip(begun) {
            found = self.decoded(search, literal, end - 1 - back).or(found);
        }
        if byte == b'%' {
            (self.begun, self.length) = ([b'%', 0], 1);
            return found;
        }
        let is_space = byte == b'+' && plus_is_space;
        let last = self.decoded(search, if is_space { b' ' } else { byte }, end);
        super::longer(found, last)
    }

    fn decoded(&mut self, search: &Search, byte: u8, end: usize) -> Option<Span> {
        // A short value too: see `SHORTEST_ENCODED`.
        let found = step(search, &mut self.state, byte, 1);
        let found = found.map(|length| Span { start: self.skipped.back(end, length), end });
        let open = self.skipped.back(end, search.pending(self.state));
        self.skipped.forget_before(open);
        found
    }

    /// The place from which on the text may become a value. A percent sign alone is not waited for.
    pub(super) fn open_from(&self, search: &Search, end: usize) -> Option<usize> {
        let bytes = search.pending(self.state);
        (self.is_awake && self.state != START && bytes > 0)
            .then(|| self.skipped.back(end - self.length, bytes))
    }
}

fn digit(hexadecimal: u8) -> u8 {
    match hexadecimal {
        b'0'..=b'9' => hexadecimal - b'0',
        letter => (letter | 0x20) - b'a' + 10,
    }
}
