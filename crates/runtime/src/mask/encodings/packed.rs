//! Encodings that put the bits of bytes into characters: base64 and hexadecimal.
//!
//! A byte begins in one character and ends in the next one, in both. So two characters and the
//! alignment say what a byte is. No alignment is known, because nobody knows where an encoded text
//! begins: all are read at the same time.

use std::marker::PhantomData;

use super::super::search::{START, Search, State};
use super::skipped::Skipped;
use super::{SHORTEST_ENCODED, Span, step};

/// No character of the alphabet.
const NONE: u8 = 0xff;
/// A line break: nothing, or the end of the text.
const BREAK: u8 = 0xfe;
/// What begins a line break in a text that was escaped: `\n`, as `repr` writes it.
const BACKSLASH: u8 = 0xfd;
/// How much line break there may be within a text. `\r\n` has 4, as it is and escaped.
const MOST_BREAK: usize = 4;

/// How an encoding puts bytes into `GROUP` characters.
pub(super) trait Packing<const GROUP: usize> {
    /// What each character stands for.
    const VALUES: [u8; 256];

    /// The bytes that begin in one character and end in the next one, by the place of that in its
    /// group. None ends in the first of a group.
    fn bytes(before: u8, now: u8) -> [u8; GROUP];

    /// How many characters so many bytes are in, the last of which ends at a place of its group.
    fn characters(place: usize, bytes: usize) -> usize;
}

/// Four characters for three bytes. Both alphabets are one here.
#[derive(Debug, Default)]
pub(super) struct Base64;

impl Packing<4> for Base64 {
    const VALUES: [u8; 256] = values(
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        &[(b'-', 62), (b'_', 63)],
    );

    #[inline]
    fn bytes(before: u8, now: u8) -> [u8; 4] {
        [0, before << 2 | now >> 4, before << 4 | now >> 2, before << 6 | now]
    }

    fn characters(place: usize, bytes: usize) -> usize {
        // Bytes are counted from one that begins a group.
        let last = place - 1 + 3 * bytes;
        let character = |byte: usize| 4 * (byte / 3) + byte % 3;
        character(last) - character(last + 1 - bytes) + 2
    }
}

/// Two characters for a byte.
#[derive(Debug, Default)]
pub(super) struct Hexadecimal;

impl Packing<2> for Hexadecimal {
    const VALUES: [u8; 256] = values(
        b"0123456789abcdef",
        &[(b'A', 10), (b'B', 11), (b'C', 12), (b'D', 13), (b'E', 14), (b'F', 15)],
    );

    #[inline]
    fn bytes(before: u8, now: u8) -> [u8; 2] {
        [0, before << 4 | now]
    }

    fn characters(_: usize, bytes: usize) -> usize {
        2 * bytes
    }
}

const fn values(alphabet: &[u8], more: &[(u8, u8)]) -> [u8; 256] {
    let mut values = [NONE; 256];
    values[b'\n' as usize] = BREAK;
    values[b'\r' as usize] = BREAK;
    values[b'\\' as usize] = BACKSLASH;
    let mut index = 0;
    while index < alphabet.len() {
        values[alphabet[index] as usize] = index as u8;
        index += 1;
    }
    let mut index = 0;
    while index < more.len() {
        values[more[index].0 as usize] = more[index].1;
        index += 1;
    }
    values
}

/// How far a text of that encoding is read.
#[derive(Debug)]
pub(super) struct Packed<P, const GROUP: usize> {
    /// What was found in each alignment.
    states: [State; GROUP],
    /// Whether nothing was, in any.
    is_idle: bool,
    /// How many characters there are without another between them.
    length: usize,
    before: u8,
    /// How much of a line break came last: 2 for each character of it, in one byte or in two.
    breaks: usize,
    skipped: Skipped,
    packing: PhantomData<P>,
}

impl<P, const GROUP: usize> Default for Packed<P, GROUP> {
    fn default() -> Self {
        Self {
            states: [START; GROUP],
            is_idle: true,
            length: 0,
            before: 0,
            breaks: 0,
            skipped: Skipped::default(),
            packing: PhantomData,
        }
    }
}

impl<P: Packing<GROUP>, const GROUP: usize> Packed<P, GROUP> {
    #[inline]
    pub(super) fn read(&mut self, search: &Search, byte: u8, end: usize) -> Option<Span> {
        let value = P::VALUES[usize::from(byte)];
        // Most texts are read here, for most encodings.
        if self.length == 0 && value >= BACKSLASH {
            return None;
        }
        if self.breaks % 2 == 1 {
            // Behind a backslash.
            if matches!(byte, b'n' | b'r') {
                self.line_break(1, end);
                return None;
            }
            self.reset();
        }
        match value {
            BREAK => self.line_break(2, end),
            BACKSLASH => self.line_break(1, end),
            NONE => self.reset(),
            value => return self.character(search, value, end),
        }
        None
    }

    /// Goes on after a part of a line break, if there has not been too much of it.
    fn line_break(&mut self, amount: usize, end: usize) {
        self.breaks += amount;
        self.skipped.add(end - 1);
        if self.breaks > MOST_BREAK || self.length == 0 {
            self.reset();
        }
    }

    #[inline]
    fn character(&mut self, search: &Search, now: u8, end: usize) -> Option<Span> {
        let before = std::mem::replace(&mut self.before, now);
        let index = self.length;
        self.length += 1;
        self.breaks = 0;
        let bytes = P::bytes(before, now);
        // Of most texts nothing begins a value.
        if index == 0 || (self.is_idle && !bytes[1..].iter().any(|byte| search.begins_with(*byte))) {
            self.skipped.clear();
            return None;
        }
        let mut found = 0;
        for (alignment, state) in self.states.iter_mut().enumerate() {
            let place = (index + GROUP - alignment) % GROUP;
            if place == 0 {
                continue;
            }
            if let Some(bytes) = step(search, state, bytes[place], SHORTEST_ENCODED) {
                found = found.max(P::characters(place, bytes));
            }
        }
        self.is_idle = self.states.iter().all(|state| *state == START);
        if !self.skipped.is_empty() {
            let open = self.open(search, 1).map_or(end, |characters| self.skipped.back(end, characters));
            let needed = if found == 0 { open } else { open.min(self.skipped.back(end, found)) };
            self.skipped.forget_before(needed);
        }
        (found > 0).then(|| Span { start: self.skipped.back(end, found), end })
    }

    /// The place from which on the text may become a value. The first character of one is not
    /// waited for: it tells next to nothing, and is the last of many a text. At the end of a line
    /// only those are waited for that are mostly there.
    pub(super) fn open_from(&self, search: &Search, end: usize) -> Option<usize> {
        let least = if self.breaks > 0 { SHORTEST_ENCODED } else { 1 };
        let characters = self.open(search, least)?;
        Some(self.skipped.back(end, characters))
    }

    /// How many of the last characters may become a value of which so many bytes are there.
    fn open(&self, search: &Search, least: usize) -> Option<usize> {
        let last = self.length.checked_sub(1)?;
        let one = |(alignment, state): (usize, &State)| {
            let bytes = search.pending(*state);
            if bytes < least {
                return None;
            }
            let place = (last + GROUP - alignment) % GROUP;
            // No byte ends in the first character of a group.
            Some(match place {
                0 => 1 + P::characters(GROUP - 1, bytes),
                place => P::characters(place, bytes),
            })
        };
        self.states.iter().enumerate().filter_map(one).max()
    }

    fn reset(&mut self) {
        self.states = [START; GROUP];
        self.is_idle = true;
        self.length = 0;
        self.breaks = 0;
        self.skipped.clear();
    }
}
