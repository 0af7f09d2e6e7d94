//! Writes JSON on a line of its own that is safe to show anywhere.

use std::fmt::Write as _;

use serde::Serialize;

use crate::is_printable;

/// `value` as JSON on one line, without the line break.
///
/// Every parser reads the same JSON. Characters that a terminal acts on, or that are invisible to a
/// reader, are escaped: the JSON has text from a guest in it, and somebody may look at it. Write
/// events and results with this function.
pub fn json_line<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    serde_json::to_string(value).map(escaped)
}

/// JSON has these characters only in strings, so each of them can become an escape.
fn escaped(json: String) -> String {
    let is_plain = |c: char| c < '\u{7f}' || is_printable(c);
    if json.bytes().all(|byte| byte < 0x7f) || json.chars().all(is_plain) {
        return json;
    }
    let mut line = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_plain(c) {
            line.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(line, "\\u{unit:04x}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_escaped_and_means_the_same() {
        let text = "\u{9b}2J \u{7f} \u{202e}abc \u{2028} \u{e0041} é 日本 😀";
        let line = json_line(text).unwrap();
        assert_eq!(line, r#""\u009b2J \u007f \u202eabc \u2028 \udb40\udc41 é 日本 😀""#);
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }

    proptest! {
        #[test]
        fn any_text_comes_back_and_is_one_printable_line(text: String) {
            let line = json_line(&text).unwrap();
            prop_assert!(line.chars().all(is_printable), "{line:?}");
            prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        }
    }
}
