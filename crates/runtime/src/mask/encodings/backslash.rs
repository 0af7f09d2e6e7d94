//! Escapes with a backslash, as JSON and most languages have them.
//!
//! Which characters are escaped is up to the encoder: PHP writes `\/`, Go `\u003c`, .NET `\u002B`.
//! The forms that Python writes most are searched for as they are. Here is whatever else they stand
//! for.

use super::super::search::Search;
use super::escapes::Escapes;
use super::{Span, digit, longer};

/// Whether a byte means something else in such a text than it does in the text as it is.
#[inline]
pub(super) fn is_needed(escapes: &Escapes, byte: u8) -> bool {
    escapes.is_awake() || byte == b'\\'
}

/// Reads one byte.
pub(super) fn read(escapes: &mut Escapes, search: &Search, byte: u8, end: usize) -> Option<Span> {
    let is_digit = byte.is_ascii_hexdigit();
    match escapes.begun() {
        [_] => {
            if let Some(meant) = letter(byte) {
                return escapes.end(search, &[meant], end);
            }
            if matches!(byte, b'u' | b'x') {
                escapes.go_on(byte);
                return None;
            }
        }
        [_, b'x', first] if is_digit => {
            let meant = digit(*first) << 4 | digit(byte);
            return escapes.end(search, &[meant], end);
        }
        [_, b'u', rest @ ..] if is_digit && rest.len() == 3 => {
            let digits = rest.iter().chain([&byte]);
            let code = digits.fold(0, |code, one| code << 4 | u32::from(digit(*one)));
            // Half a character is none.
            if let Some(meant) = char::from_u32(code) {
                return escapes.end(search, meant.encode_utf8(&mut [0; 4]).as_bytes(), end);
            }
        }
        [_, _, ..] if is_digit => {
            escapes.go_on(byte);
            return None;
        }
        _ => {}
    }
    let found = escapes.give_up(search, end);
    if byte == b'\\' {
        escapes.go_on(byte);
        return found;
    }
    longer(found, escapes.decoded(search, byte, end))
}

/// What a letter behind a backslash stands for.
fn letter(byte: u8) -> Option<u8> {
    Some(match byte {
        b'/' | b'"' | b'\'' | b'\\' => byte,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        _ => return None,
    })
}
