//! Which characters can be shown as they are.
//!
//! A terminal acts on some characters instead of showing them. Others change how their neighbours
//! look: control characters, marks that reverse the direction of text, characters without width. A
//! list of bad characters is never complete, so this is a list of good ones. It has what Unicode
//! calls letters, marks, digits, punctuation and symbols, if they are visible.

/// Whether a character takes up space, shows as itself, and does not change its neighbours. Line
/// breaks and tabs fail this test.
pub fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\0'..='\u{9f}' => false,
        // Most text is here. The table that `escape_debug` uses is slower.
        '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' => true,
        '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        // Spaces in text that is not English. They are as wide as they look.
        '\u{a0}' | '\u{202f}' | '\u{3000}' => true,
        // They choose between two ways to draw an emoji, and do nothing else.
        '\u{fe0e}' | '\u{fe0f}' => true,
        // By name they are letters and marks, but they show nothing ("default ignorable" in
        // Unicode).
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => false,
        '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' => false,
        '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => false,
        // The standard library escapes characters that are unassigned, private, format characters,
        // separators or surrogates.
        c => c.escape_debug().len() == 1 || is_combining(c),
    }
}

/// Whether a character is drawn onto the one before it.
pub fn is_combining(c: char) -> bool {
    // Such a character is escaped by itself, but not behind another one.
    c > '\u{2ff}' && c.escape_debug().len() > 1 && {
        let mut pair = [b'x', 0, 0, 0, 0];
        let length = 1 + c.encode_utf8(&mut pair[1..]).len();
        std::str::from_utf8(&pair[..length]).is_ok_and(|pair| pair.escape_debug().count() == 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_any_language_is_printable() {
        for text in
            ["Zażółć gęślą", "日本語 한국어", "नमस्ते", "עברית العربية", "é e\u{301}", "✔\u{fe0f} 😀 ½ €"]
        {
            assert!(text.chars().all(is_printable), "{text}");
        }
    }

    #[test]
    fn what_acts_on_a_terminal_or_on_its_neighbours_is_not() {
        let controls = (0..0x20).chain(0x7f..0xa0);
        let bidi = [0x61c, 0x200e, 0x200f].into_iter().chain(0x202a..=0x202e).chain(0x2066..=0x2069);
        let invisible = [0xad, 0x34f, 0x115f, 0x180e, 0x3164, 0xfeff, 0xffa0].into_iter();
        let invisible = invisible.chain(0x200b..=0x200d).chain(0x2060..=0x2064).chain(0x206a..=0x206f);
        let tags = (0xe0001..=0xe007f).chain(0xe0100..=0xe01ef);
        let others = [0x2028, 0x2029, 0xfff9, 0xfffa, 0xfffb, 0xe000, 0xfdd0, 0x10ffff].into_iter();
        for code in controls.chain(bidi).chain(invisible).chain(tags).chain(others) {
            let c = char::from_u32(code).unwrap();
            assert!(!is_printable(c), "U+{code:04X} is shown as it is");
        }
    }

    #[test]
    fn a_mark_is_known_to_sit_on_its_neighbour() {
        assert!(is_combining('\u{301}') && is_combining('\u{338}') && is_combining('\u{20dd}'));
        assert!(!is_combining('e') && !is_combining('é') && !is_combining('\u{200b}'));
    }
}
