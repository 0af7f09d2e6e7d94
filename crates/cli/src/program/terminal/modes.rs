//! What a program has switched on or off in a terminal, by the escape sequences that it writes.
//!
//! Screens, the mouse and pasting have modes of their own, of which only those are undone that were
//! changed: leaving a screen that nobody has entered moves the cursor. Whatever else there is is
//! made usual, if the program has written any sequence at all.

/// The modes that are undone, and whether each is on in a terminal that nobody has changed: keys of
/// the cursor, colours, wrapping, the cursor, other screens, reports of the mouse, the focus and
/// colours, brackets around what is pasted.
const KNOWN: [(u16, bool); 24] = [
    (1, false),
    (5, false),
    (6, false),
    (7, true),
    (9, false),
    (25, true),
    (45, false),
    (47, false),
    (69, false),
    (1000, false),
    (1002, false),
    (1003, false),
    (1004, false),
    (1005, false),
    (1006, false),
    (1007, false),
    (1015, false),
    (1016, false),
    (1047, false),
    (1049, false),
    (2004, false),
    (2026, false),
    (2031, false),
    (2048, false),
];

/// Replaces and does not insert; scrolls as a whole, with the cursor where it was; has the usual
/// characters, keys and colours. There is one sequence for all that, which tmux does not know.
const USUAL: &[u8] = b"\x1b[4l\x1b7\x1b[r\x1b8\x1b(B\x0f\x1b>\x1b[m";

/// Reads what is written to a terminal.
#[derive(Debug)]
pub(crate) struct Modes {
    are_on: [bool; KNOWN.len()],
    state: State,
    /// The numbers of the sequence so far.
    numbers: Vec<u16>,
    /// Whether the program has written any other sequence.
    is_changed: bool,
    /// Whether it has asked for other reports of keys.
    has_other_keys: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    Escape,
    Sequence,
    /// `ESC [ ?`, with numbers.
    Private,
    /// `ESC [ >`, with numbers.
    Keys,
}

impl Default for Modes {
    fn default() -> Self {
        let are_on = KNOWN.map(|(_, usual)| usual);
        Self { are_on, state: State::Text, numbers: Vec::new(), is_changed: false, has_other_keys: false }
    }
}

impl Modes {
    /// Takes what is written next. Returns the sequences that have the same effect on the modes.
    pub(crate) fn note(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut changes = Vec::new();
        for &byte in bytes {
            self.state = self.after(byte, &mut changes);
        }
        changes
    }

    fn after(&mut self, byte: u8, changes: &mut Vec<u8>) -> State {
        /// A sequence has no more numbers than that.
        const MOST: usize = 16;
        match (self.state, byte) {
            (_, 0x1b) => State::Escape,
            (State::Escape, b'[') => State::Sequence,
            (State::Escape, b'c') => {
                *self = Self::default();
                changes.extend_from_slice(b"\x1bc");
                State::Text
            }
            (State::Sequence, b'?') => {
                self.numbers.clear();
                self.numbers.push(0);
                State::Private
            }
            (State::Sequence, b'>') => State::Keys,
            (State::Keys, b'u') => {
                if !self.has_other_keys {
                    self.has_other_keys = true;
                    changes.extend_from_slice(b"\x1b[>1u");
                }
                State::Text
            }
            (State::Sequence | State::Keys, b'0'..=b'9' | b';' | b':') => self.state,
            (State::Sequence | State::Escape, _) => {
                if !self.is_changed {
                    self.is_changed = true;
                    // Any of them has this effect.
                    changes.extend_from_slice(b"\x1b[m");
                }
                State::Text
            }
            (State::Private, digit @ b'0'..=b'9') => {
                if let Some(number) = self.numbers.last_mut() {
                    *number = number.saturating_mul(10).saturating_add(u16::from(digit - b'0'));
                }
                State::Private
            }
            (State::Private, b';') if self.numbers.len() < MOST => {
                self.numbers.push(0);
                State::Private
            }
            (State::Private, b'h' | b'l') => {
                self.switch(byte == b'h', changes);
                State::Text
            }
            _ => State::Text,
        }
    }

    fn switch(&mut self, is_on: bool, changes: &mut Vec<u8>) {
        for (&(mode, _), now) in KNOWN.iter().zip(&mut self.are_on) {
            if self.numbers.contains(&mode) && *now != is_on {
                *now = is_on;
                changes.extend_from_slice(&sequence(mode, is_on));
            }
        }
    }

    /// What makes a terminal usual again.
    pub(crate) fn undo(&self) -> Vec<u8> {
        let mut undone = if self.is_changed { USUAL.to_vec() } else { Vec::new() };
        if self.has_other_keys {
            undone.extend_from_slice(b"\x1b[<99u");
        }
        let changed = KNOWN.iter().zip(self.are_on).filter(|((_, usual), is_on)| usual != is_on);
        undone.extend(changed.flat_map(|(&(mode, usual), _)| sequence(mode, usual)));
        undone
    }
}

fn sequence(mode: u16, is_on: bool) -> Vec<u8> {
    format!("\x1b[?{mode}{}", if is_on { 'h' } else { 'l' }).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL_TEXT: &str = "\x1b[4l\x1b7\x1b[r\x1b8\x1b(B\x0f\x1b>\x1b[m";

    /// What is left to undo after a text, however it is cut into pieces.
    fn undone(text: &str) -> String {
        let mut whole = Modes::default();
        let told = whole.note(text.as_bytes());
        let mut pieces = Modes::default();
        text.as_bytes().iter().for_each(|byte| drop(pieces.note(&[*byte])));
        assert_eq!(whole.undo(), pieces.undo(), "{text:?}");
        // Whoever is told only of the changes knows as much.
        let mut other = Modes::default();
        other.note(&told);
        assert_eq!(whole.undo(), other.undo(), "{text:?}");
        String::from_utf8(whole.undo()).unwrap()
    }

    #[test]
    fn what_is_switched_on_is_undone_and_nothing_else() {
        for (text, expected) in [
            ("plain text", ""),
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?1049h\x1b[?1049l", ""),
            ("\x1b[?25l", "\x1b[?25h"),
            ("\x1b[?1000;1006h", "\x1b[?1000l\x1b[?1006l"),
            // Not known, not private, not finished, too large.
            ("\x1b[?12h\x1b[?1049", ""),
            ("\x1b[4h", USUAL_TEXT),
            ("\x1b[1;5r", USUAL_TEXT),
            ("\x1b(0", USUAL_TEXT),
            ("\x1b[>1u", "\x1b[<99u"),
            ("\x1b[?99999999991049h", ""),
            ("\x1b[?1049x\x1b[?\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[1;31mred", USUAL_TEXT),
            ("\x1b[31m\x1b[?1049h\x1bc", ""),
        ] {
            assert_eq!(undone(text), expected, "{text:?}");
        }
    }
}
