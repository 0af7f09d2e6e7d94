//! Numbers and strings as they are written in JSON.

use std::borrow::Cow;

use super::{LONGEST_INTEGER, LONGEST_NUMBER};

/// Whether every parser can hold a number. Most numbers are short, and their length is enough to
/// know.
pub(super) fn is_readable(number: &str) -> bool {
    let is_plain = !number.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    if is_plain && number.len() <= LONGEST_INTEGER {
        return true;
    }
    let digits = number.bytes().skip_while(|byte| *byte == b'-').take_while(u8::is_ascii_digit).count();
    number.len() <= LONGEST_NUMBER
        && digits <= LONGEST_INTEGER
        && number.parse::<f64>().is_ok_and(f64::is_finite)
        // serde_json has its own arithmetic, and rounds differently at the edge of the range.
        && serde_json::from_str::<f64>(number).is_ok()
}

/// The code unit of an escape at `at`. 0 if there is no escape, or it is not a `\u`.
pub(super) fn unit(bytes: &[u8], at: usize) -> u16 {
    let escape = bytes.get(at..at + 6).and_then(|escape| std::str::from_utf8(escape).ok());
    let digits = escape.and_then(|escape| escape.strip_prefix("\\u"));
    digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

pub(super) fn is_low(unit: u16) -> bool {
    (0xdc00..=0xdfff).contains(&unit)
}

/// The text that a string stands for. Halves of surrogate pairs are repaired.
pub(super) fn unescaped(written: &str) -> Cow<'_, str> {
    let Some(first) = written.find('\\') else { return Cow::Borrowed(written) };
    let mut text = String::with_capacity(written.len());
    text.push_str(&written[..first]);
    let mut rest = &written[first..];
    while let Some(c) = rest.chars().next() {
        let bytes = rest.as_bytes();
        let length = match (c, bytes.get(1)) {
            ('\\', Some(b'u')) => {
                let (high, low) = (unit(bytes, 0), unit(bytes, 6));
                let (units, length) = if is_low(low) && (0xd800..=0xdbff).contains(&high) {
                    (&[high, low][..], 12)
                } else {
                    (&[high][..], 6)
                };
                text.push_str(&String::from_utf16_lossy(units));
                length
            }
            ('\\', Some(escape)) => {
                text.push(match escape {
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    other => char::from(*other),
                });
                2
            }
            _ => {
                text.push(c);
                c.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or("");
    }
    Cow::Owned(text)
}
