//! Makes text from others safe to show on a terminal. Every printer uses it.
//!
//! A terminal obeys what is printed on it. Text can move the cursor over other text, change the
//! title, write to the clipboard, or make the terminal type an answer. And text that looks like
//! this command's own is taken for it. So:
//!
//! ```text
//!  a line of ours    = MARK, our text, and quoted(…) for text from others in it: always one line
//!  a line of theirs  = THEIRS and quoted(…): a log line, an intermediate result, installer output
//!  a script's text   = ScriptText: printable characters, line breaks, tabs, colours;
//!                      everything else is made visible
//! ```
//!
//! "Ours" is what the command itself says. "Theirs" is text from a script, an installer or another
//! program.
//!
//! [`MARK`] begins every line of ours and is never shown as part of anything else. Other characters
//! look like it, and no list of them is complete. So at the beginning of a line, a script's text
//! has only characters that are known to look different, or a space before it.
//!
//! Text for a pipe or a file is not changed. But a line of ours or theirs stays one line there too.

use std::borrow::Cow;
use std::fmt::Write as _;

use belljar::text::{is_combining, is_printable};

/// Begins each line of ours on a terminal. Nothing else can show it.
pub(crate) const MARK: char = '⌂';

/// Begins each line that quotes somebody else, on a terminal and elsewhere.
pub(crate) const THEIRS: char = '·';

/// Ends all colours.
const RESET: &str = "\x1b[0m";

/// Somebody else's text, as a part of a line of ours.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c == '\t' || (is_printable(c) && c != MARK);
    let begins_well = !text.starts_with(is_combining);
    if begins_well && text.chars().all(is_plain) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (place, c) in text.chars().enumerate() {
        // A combining character at the beginning would sit on a character of ours.
        if is_plain(c) && (place > 0 || begins_well) { shown.push(c) } else { make_visible(c, &mut shown) }
    }
    shown.into()
}

/// Shows a character that must not take effect.
fn make_visible(c: char, shown: &mut String) {
    const PICTURES: u32 = 0x2400;
    let picture = match c {
        '\0'..='\x1f' => char::from_u32(PICTURES + u32::from(c)),
        '\x7f' => Some('␡'),
        _ => None,
    };
    match picture {
        Some(picture) => shown.push(picture),
        None => drop(write!(shown, "{}", c.escape_unicode())),
    }
}

/// What a script prints on one of its streams, on the way to a terminal. It comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct ScriptText {
    /// The beginning of an escape sequence. Its end has not come yet.
    held: String,
    /// Whether the last character was a carriage return. It was shown as a line break.
    has_returned: bool,
    /// Whether colours are on.
    is_coloured: bool,
    /// Whether the next character begins a line.
    begins_line: bool,
}

impl ScriptText {
    pub(crate) const fn new() -> Self {
        Self { held: String::new(), has_returned: false, is_coloured: false, begins_line: true }
    }

    /// The text to show for a piece. `begins_line` says whether the cursor is at the beginning of a
    /// line.
    pub(crate) fn push(&mut self, text: &str, begins_line: bool) -> String {
        self.begins_line = begins_line;
        let mut shown = String::with_capacity(text.len());
        for c in text.chars() {
            self.take(c, &mut shown);
        }
        shown
    }

    /// The text that was held back, and the end of all colours. Call it before other text follows.
    pub(crate) fn pause(&mut self) -> String {
        let mut shown = String::new();
        self.show_held(&mut shown);
        if std::mem::take(&mut self.is_coloured) {
            shown.push_str(RESET);
        }
        shown
    }

    fn take(&mut self, c: char, shown: &mut String) {
        /// The longest sequence that sets a colour.
        const LONGEST: usize = 48;
        let goes_on = match (self.held.len(), c) {
            (0, '\x1b') | (1, '[') => true,
            (2..LONGEST, '0'..='9' | ';' | ':') => true,
            (2.., 'm') if is_colour(&self.held[2..]) => {
                self.is_coloured = !matches!(&self.held[2..], "" | "0");
                shown.push_str(&std::mem::take(&mut self.held));
                shown.push('m');
                return;
            }
            _ => false,
        };
        if goes_on {
            self.has_returned = false;
            return self.held.push(c);
        }
        if !self.held.is_empty() {
            self.show_held(shown);
            // It may begin another sequence.
            return self.take(c, shown);
        }
        let has_returned = std::mem::replace(&mut self.has_returned, c == '\r');
        if c == '\n' && has_returned {
            return;
        }
        let begins_line = std::mem::replace(&mut self.begins_line, matches!(c, '\n' | '\r'));
        match c {
            // A return to the start of a line would overwrite what is there, which may be from
            // somebody else.
            '\n' | '\r' => shown.push('\n'),
            '\t' => shown.push('\t'),
            c if is_printable(c) && c != MARK => {
                if begins_line && !may_begin_a_line(c) {
                    shown.push(' ');
                }
                shown.push(c);
            }
            c => make_visible(c, shown),
        }
    }

    fn show_held(&mut self, shown: &mut String) {
        self.begins_line &= self.held.is_empty();
        for c in std::mem::take(&mut self.held).chars() {
            if is_printable(c) { shown.push(c) } else { make_visible(c, shown) }
        }
    }
}

/// Whether a character cannot be taken for [`MARK`]: letters, digits, ASCII, the frames of tables.
fn may_begin_a_line(c: char) -> bool {
    c.is_ascii() || c.is_alphanumeric() || matches!(c, '\u{2500}'..='\u{259f}')
}

/// A text without the colours at its end. They take no space on the screen.
pub(crate) fn without_last_colours(text: &str) -> &str {
    let is_colour = |tail: &str| {
        tail.strip_prefix("\x1b[").and_then(|tail| tail.strip_suffix('m')).is_some_and(|parameters| {
            parameters.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
        })
    };
    let mut rest = text;
    while let Some(place) = rest.rfind('\x1b').filter(|place| is_colour(&rest[*place..])) {
        rest = &rest[..place];
    }
    rest
}

/// Whether the parameters of a "select graphic rendition" set only colours and weights. Hidden text
/// and other fonts are refused.
fn is_colour(parameters: &str) -> bool {
    let mut numbers = parameters.split(';');
    while let Some(parameter) = numbers.next() {
        // What follows a colon belongs to its parameter: the kind of an underline, the parts of a
        // colour.
        let number = parameter.split(':').next().unwrap_or_default();
        match number.parse::<u32>() {
            Err(_) if number.is_empty() => {}
            Ok(38 | 48 | 58) if !parameter.contains(':') => {
                let parts = match numbers.next() {
                    Some("5") => 1,
                    Some("2") => 3,
                    _ => return false,
                };
                if (0..parts).any(|_| numbers.next().is_none()) {
                    return false;
                }
            }
            Ok(0..=5 | 7 | 9 | 21..=25 | 27 | 29..=49 | 53 | 55 | 58 | 59 | 90..=97 | 100..=107) => {}
            _ => return false,
        }
    }
    true
}

/// A complete text from a script, for a terminal.
pub(crate) fn script_text(text: &str) -> String {
    let mut script = ScriptText::new();
    let shown = script.push(text, true);
    shown + &script.pause()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_cannot_talk_to_the_terminal() {
        for (text, shown) in [
            ("a\x1b]52;c;eA==\x07\n", "a␛]52;c;eA==␇\n"),
            ("\x1b]0;title\x1b\\", "␛]0;title␛\\"),
            ("\u{9b}2J\x1b[2J\x1b[1;1H", "\\u{9b}2J␛[2J␛[1;1H"),
            ("\x1b[?1049h\x1b[>4;2m\x1b[6n\x05\x1bc\x1b7", "␛[?1049h␛[>4;2m␛[6n␅␛c␛7"),
            ("one\rtwo\r\nthree\r", "one\ntwo\nthree\n"),
            ("a\x08b\x0bc\x0c", "a␈b␋c␌"),
            ("tabs\tand é 日本 😀 lines\n", "tabs\tand é 日本 😀 lines\n"),
            (
                "\u{202e}fdp\u{2066}\u{200b}\u{e0041}\u{2028}",
                "\\u{202e}fdp\\u{2066}\\u{200b}\\u{e0041}\\u{2028}",
            ),
            ("⌂ error: forged", "\\u{2302} error: forged"),
            ("\x1b\x1b[31mred", "␛\x1b[31mred\x1b[0m"),
            ("\x1b[", "␛["),
        ] {
            assert_eq!(script_text(text), shown);
        }
    }

    #[test]
    fn colours_pass_and_end_when_somebody_else_speaks() {
        let mut script = ScriptText::new();
        for text in [
            "\x1b[1;31m",
            "\x1b[38;5;200;4m",
            "\x1b[48;2;1;2;8m",
            "\x1b[4:3m",
            "\x1b[38:2::1:2:3m",
            "\x1b[97m",
        ] {
            assert_eq!(script.push(text, true), text);
            assert_eq!(script.pause(), RESET, "{text:?}");
            assert_eq!(script.pause(), "");
        }
        assert_eq!(script.push("\x1b[31mred\x1b[m", true), "\x1b[31mred\x1b[m");
        assert_eq!(script.pause(), "");
        for text in ["\x1b[8m", "\x1b[1;8m", "\x1b[11m", "\x1b[38;5m", "\x1b[38;2;1;2m", "\x1b[999999999999m"]
        {
            assert_eq!(script.push(text, true), text.replace('\x1b', "␛"));
        }
    }

    #[test]
    fn a_sequence_in_pieces_is_one() {
        let mut script = ScriptText::new();
        let pieces = ["a\x1b", "[3", "1mred\x1b[", "2J"].map(|piece| script.push(piece, false));
        assert_eq!(pieces.concat(), "a\x1b[31mred␛[2J");
        assert_eq!(script.push("\r", false) + &script.push("\nx", true), "\nx");
        let endless = format!("\x1b[{}", "1;".repeat(1000));
        assert_eq!(script.push(&endless, true), endless.replace('\x1b', "␛"));
    }

    #[test]
    fn what_looks_like_our_mark_does_not_stand_where_ours_does() {
        for (text, shown) in [
            ("☖ error: x\n🏠\u{fe0e} error\n△ a ☖", None),
            ("\x1b[31m☖ error", Some("\x1b[31m ☖ error\x1b[0m")),
            ("plain\r➤ note", Some("plain\n ➤ note")),
            ("│ table │\n日本\n\t☖", Some("│ table │\n日本\n\t☖")),
        ] {
            let shifted = || text.lines().map(|line| format!(" {line}")).collect::<Vec<_>>().join("\n");
            let shown = shown.map_or_else(shifted, str::to_owned);
            assert_eq!(script_text(text).replace("\\u{fe0e}", "\u{fe0e}"), shown);
        }
        let mut script = ScriptText::new();
        let pieces = [("a", true), ("☖", false), ("\x1b[1m", false), ("☖", true)];
        assert_eq!(pieces.map(|(text, begins)| script.push(text, begins)).concat(), "a☖\x1b[1m ☖");
        for (text, rest) in [("a\n\x1b[31m\x1b[0m", "a\n"), ("\x1b[31m", ""), ("m\x1b[3x", "m\x1b[3x")] {
            assert_eq!(without_last_colours(text), rest);
        }
    }

    #[test]
    fn what_is_quoted_stays_on_its_line_and_touches_nothing_of_ours() {
        assert_eq!(quoted("a\nerror: forged\r\x1b[2K"), "a␊error: forged␍␛[2K");
        assert_eq!(quoted("\u{338}over ours"), "\\u{338}over ours");
        assert_eq!(quoted("e\u{301} and ⌂\u{85}"), "e\u{301} and \\u{2302}\\u{85}");
        assert_eq!(quoted("plain é"), "plain é");
    }
}
