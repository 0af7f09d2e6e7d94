//! Percent-encoding.

use super::super::search::Search;
use super::escapes::Escapes;
use super::{Span, digit, longer};

/// Whether a byte means something else in a URL than it does in the text as it is.
#[inline]
pub(super) fn is_needed(url: &Escapes, byte: u8, plus_is_space: bool) -> bool {
    url.is_awake() || byte == b'%' || (byte == b'+' && plus_is_space)
}

/// Reads one byte of a URL.
pub(super) fn read(
    url: &mut Escapes,
    search: &Search,
    byte: u8,
    end: usize,
    plus_is_space: bool,
) -> Option<Span> {
    match (url.begun(), byte.is_ascii_hexdigit()) {
        ([_, first], true) => {
            let byte = digit(*first) << 4 | digit(byte);
            return url.end(search, &[byte], end);
        }
        ([_], true) => {
            url.go_on(byte);
            return None;
        }
        _ => {}
    }
    let found = url.give_up(search, end);
    if byte == b'%' {
        url.go_on(byte);
        return found;
    }
    let is_space = byte == b'+' && plus_is_space;
    longer(found, url.decoded(search, if is_space { b' ' } else { byte }, end))
}
