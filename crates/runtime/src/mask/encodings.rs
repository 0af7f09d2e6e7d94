//! Reads a text in every common encoding at once.
//!
//! A value may come out in base64, in hexadecimal, percent-encoded or with backslashes: in a
//! header, in a URL, in a dump, in a text as JSON. A list of all such forms would be twenty times
//! as long as the values. So there is no list: the text is decoded as it is read, and each decoded
//! text is searched for the values themselves.
//!
//! ```text
//!                 ┌─ as it is ───────────────────────────┐
//!                 ├─ `%41` is a byte, `+` a space or not ┤
//!                 ├─ `\/` and `\u002f` are a slash ───────┤
//!  byte ─► Reading┼─ hexadecimal, 2 alignments ──────────┼─► one Search each ─► Span, to be hidden
//!                 └─ base64, 4 alignments ───────────────┘
//! ```
//!
//! It does not matter where in a longer text of that encoding a value stands, which alphabet of
//! base64 it is, whether there is padding, which case the digits have, and which characters a URL
//! escapes. Base64 and hexadecimal go on after a line break, because encoders wrap their lines, and
//! after one that is written as `\n`.
//!
//! * `packed` decodes what puts a byte into several characters: base64, hexadecimal.
//! * `url` decodes percent-encoding, `backslash` what JSON and most languages escape. `escapes` is
//!   what the two have in common.
//! * `skipped` turns lengths of decoded text into places in the text.

mod backslash;
mod escapes;
mod packed;
mod skipped;
mod url;

use self::escapes::Escapes;
use self::packed::{Base64, Hexadecimal, Packed};
use super::search::{START, Search, State};

/// The shortest value that is searched for in base64 and in hexadecimal. There, any bytes are as
/// likely as any others, and outputs can be long: with the most secrets there may be, of 4 bytes
/// each, every fourth mebibyte of somebody's data would have one by chance. With 6 it is one of
/// 250,000 mebibytes. A URL escapes few characters, and has what any text has.
pub(crate) const SHORTEST_ENCODED: usize = 6;

/// A part of a text, in bytes from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// How far a text is read, in each encoding.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// How many bytes have come.
    end: usize,
    plain: State,
    urls: [Escapes; 2],
    backslash: Escapes,
    hexadecimal: Packed<Hexadecimal, 2>,
    base64: Packed<Base64, 4>,
}

impl Reading {
    /// How many bytes were read.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Reads one byte. Returns the longest part of the text up to here that is to be hidden.
    #[inline]
    pub(super) fn read(&mut self, search: &Search, byte: u8) -> Option<Span> {
        let before = self.plain;
        self.end += 1;
        self.plain = search.step(before, byte);
        let mut found = None;
        if self.plain != START {
            let length = search.found(self.plain);
            found = (length > 0).then(|| Span { start: self.end - length, end: self.end });
        }
        for (url, plus_is_space) in self.urls.iter_mut().zip([true, false]) {
            if url::is_needed(url, byte, plus_is_space) {
                url.begin(before);
                found = longer(found, url::read(url, search, byte, self.end, plus_is_space));
                url.rest(self.plain);
            }
        }
        if backslash::is_needed(&self.backslash, byte) {
            self.backslash.begin(before);
            found = longer(found, backslash::read(&mut self.backslash, search, byte, self.end));
            self.backslash.rest(self.plain);
        }
        found = longer(found, self.hexadecimal.read(search, byte, self.end));
        longer(found, self.base64.read(search, byte, self.end))
    }

    /// The place from which on the text may become a value with the bytes to come.
    pub(super) fn open_from(&self, search: &Search) -> usize {
        let escapes = self.urls.iter().chain([&self.backslash]);
        let escapes = escapes.filter_map(|one| one.open_from(search, self.end));
        let packed = [self.hexadecimal.open_from(search, self.end), self.base64.open_from(search, self.end)];
        let plain = self.end - search.pending(self.plain);
        escapes.chain(packed.into_iter().flatten()).chain([plain]).min().unwrap_or(plain)
    }
}

impl Search {
    /// Whether one of the values is in these bytes, in any encoding.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        let mut reading = Reading::default();
        !self.is_empty() && bytes.iter().any(|byte| reading.read(self, *byte).is_some())
    }
}

/// The worth of a hexadecimal digit.
fn digit(hexadecimal: u8) -> u8 {
    match hexadecimal {
        b'0'..=b'9' => hexadecimal - b'0',
        letter => (letter | 0x20) - b'a' + 10,
    }
}

/// Both parts as one. They end within a few bytes of each other.
fn longer(one: Option<Span>, other: Option<Span>) -> Option<Span> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some(Span { start: one.start.min(other.start), end: one.end.max(other.end) })
        }
        (one, other) => one.or(other),
    }
}

/// The state after one more decoded byte, and the length of the value that ends with it, if it has
/// at least so many bytes.
#[inline]
fn step(search: &Search, state: &mut State, byte: u8, least: usize) -> Option<usize> {
    *state = search.step(*state, byte);
    if *state == START {
        return None;
    }
    Some(search.found(*state)).filter(|length| *length >= least)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    use super::super::tests::mask;

    fn hidden(value: &str, text: &str) -> String {
        mask(&[value]).text(text.into()).into_owned()
    }

    /// As Python's `quote` does it, but for the characters that it leaves alone.
    fn quote(text: &str, safe: &str, is_upper: bool, space: &str) -> String {
        let one = |byte: u8| match byte {
            b' ' => space.to_owned(),
            byte if byte.is_ascii_alphanumeric() || safe.as_bytes().contains(&byte) => {
                char::from(byte).to_string()
            }
            byte if is_upper => format!("%{byte:02X}"),
            byte => format!("%{byte:02x}"),
        };
        text.bytes().map(one).collect()
    }

    fn hexadecimal(bytes: &[u8], is_upper: bool) -> String {
        let one = |byte: &u8| if is_upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
        bytes.iter().map(one).collect()
    }

    #[test]
    fn a_value_is_hidden_in_each_encoding() {
        let value = "hunter2/é +?";
        for (text, expected) in [
            ("key=aHVudGVyMi/DqSArPw==", "key=***=="),
            ("key=aHVudGVyMi_DqSArPw", "key=***"),
            ("68756e746572322fc3a9202b3f", "***"),
            ("0x68756E746572322FC3A9202B3F00", "0x***00"),
            ("?q=hunter2%2F%C3%A9%20%2B%3F&", "?q=***&"),
            ("?q=hunter2/%c3%a9+%2b%3f&", "?q=***&"),
            ("?q=hunter2/%C3%A9%20+?&", "?q=***&"),
            ("/hunter2/é%20+%3F/", "/***/"),
        ] {
            assert_eq!(hidden(value, text), expected, "{text}");
        }
    }

    #[test]
    fn a_value_is_hidden_however_an_encoder_escapes_it() {
        let value = "abc/<é>+&'x\"\\";
        for text in [
            r#"abc\/<é>+&'x\"\\"#,
            r#"abc\/<\u00e9>+&'x\"\\"#,
            r#"abc/\u003cé\u003e+\u0026'x\"\\"#,
            r#"abc/\u003C\u00E9\u003E\u002B\u0026\u0027x\u0022\\"#,
            r#"\u0061\u0062c/<é>+&'x"\u005c"#,
            r#"abc/<\xc3\xa9>+&\'x\"\\"#,
        ] {
            assert_eq!(hidden(value, &format!(r#"{{"k": "{text}"}}"#)), r#"{"k": "***"}"#, "{text}");
        }
        for (value, text, expected) in [
            ("a\\u00zb", r"-a\u00zb-", "-***-"),
            ("abc\\", r"abc\", "***"),
            ("abc\\", r"abc\\", "***"),
            ("ab/cd", r"ab\\/cd", r"ab\\/cd"),
            ("ab\u{1f600}", r"ab\ud83d\ude00", "***"),
            ("line\nline", r"line\nline", "***"),
            ("abcd", r"\q\uabcd\uabc abcd \", r"\q\u***\uabc *** \"),
        ] {
            assert_eq!(hidden(value, text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_encoded_as_a_whole_hides_only_the_value() {
        for before in ["", "u", "us", "user:", "user:x"] {
            for after in ["", "!", "@h", "@host", "@hosts and more"] {
                let text = STANDARD.encode(format!("{before}hunter2-hunter2{after}"));
                let masked = hidden("hunter2-hunter2", &text);
                assert!(masked.contains("***"), "{text}");
                assert!(masked.len() + 15 <= text.len(), "{text} became {masked}");
            }
        }
    }

    #[test]
    fn lines_that_an_encoder_wraps_are_one_text() {
        let value = "a-long-value-that-takes-more-than-one-line-in-every-encoding";
        for text in [STANDARD.encode(value), hexadecimal(value.as_bytes(), false)] {
            for line_break in ["\n", "\r\n", "\\n", "\\r\\n"] {
                for width in [10, 17, 76] {
                    let lines: Vec<_> = text.as_bytes().chunks(width).map(String::from_utf8_lossy).collect();
                    let masked = hidden(value, &format!("<{}>", lines.join(line_break)));
                    assert!(["<***>", "<***=>", "<***==>"].contains(&masked.as_str()), "{masked}");
                }
            }
        }
        // As `print(base64.encodebytes(…))` has it.
        let printed = format!("{:?}", STANDARD.encode(value).replace("aG", "aG\n"));
        assert_eq!(hidden(value, &printed).trim_matches('"').trim_end_matches('='), "***", "{printed}");
        // Two texts are not one.
        let text = STANDARD.encode(value);
        let apart = format!("{}\n\n\n{}", &text[..20], &text[20..]);
        assert_eq!(hidden(value, &apart), apart);
    }

    #[test]
    fn a_value_that_chance_would_find_is_not_searched_for_in_dumps() {
        assert_eq!(hidden("12345", "MTIzNDU= 3132333435"), "MTIzNDU= 3132333435");
        assert_eq!(hidden("123456", "MTIzNDU2 313233343536"), "*** ***");
        assert_eq!(hidden("1 é", "1+%C3%A9"), "***");
    }

    #[test]
    fn a_percent_sign_need_not_be_an_escape() {
        let value = "100%25sure";
        for (text, expected) in [
            ("100%25sure", "***"),
            ("100%2525sure", "***"),
            ("100%sure", "100%sure"),
            ("%%%100%25sure%", "%%%***%"),
            ("100%2", "100%2"),
        ] {
            assert_eq!(hidden(value, text), expected);
        }
        // What comes late was held: an escape may follow, or not.
        assert_eq!(hidden("ab%c", "x %61b%c y"), "x *** y");
        assert_eq!(hidden("ab%4", "x %61b%4z"), "x ***z");
        assert_eq!(hidden("ab%z", "%41ab%z%z"), "%41***%z");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        let text = "The quick brown fox, 50% of 1+1; deadbeef cafe 0123456789abcdef\n".repeat(50);
        assert_eq!(mask(&["hunter2", "swordfish", "0000", "a b c d"]).text(text.as_str().into()), text);
    }

    #[test]
    fn a_line_is_not_held_back_for_what_may_follow() {
        let mut stream = mask(&["hunter2-hunter2"]).stream();
        // `aH` begins the value in base64, and `68` in hexadecimal.
        for line in ["aH\n", "68\n", "50%\n", "aHV\r\n"] {
            assert_eq!(String::from_utf8_lossy(&stream.push(line.as_bytes())), line);
        }
        // But for most of a value.
        assert_eq!(&*stream.push(b"aHVudGVyMi1o\n"), b"");
        assert_eq!(&*stream.push(b"dW50ZXIy!"), b"***!");
        // One character by itself tells next to nothing.
        assert_eq!(&*stream.push(b"Loading a"), b"Loading a");
        assert_eq!(&*stream.push(b"HVudGVyMi1odW50ZXIy."), b"***.");
    }

    fn value() -> impl Strategy<Value = String> {
        "[ -~éß😀]{6,40}".prop_filter("white space alone is no secret", |text| text.trim().len() >= 6)
    }

    proptest! {
        #[test]
        fn base64_hides_a_value_at_every_place(
            value in value(),
            before in prop::collection::vec(any::<u8>(), 0..7),
            after in prop::collection::vec(any::<u8>(), 0..7),
            cuts in prop::collection::vec(1usize..9, 1..6),
        ) {
            let whole = [&before, value.as_bytes(), &after].concat();
            for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
                let text = engine.encode(&whole);
                // Every character that has only bits of the value.
                let (from, to) = ((before.len() * 8).div_ceil(6), (before.len() + value.len()) * 8 / 6);
                no_part_is_left(&value, &text, from..to, &cuts)?;
            }
        }

        #[test]
        fn hexadecimal_hides_a_value_at_every_place(
            value in value(),
            before in "[0-9a-f]{0,5}",
            is_upper in any::<bool>(),
            cuts in prop::collection::vec(1usize..9, 1..6),
        ) {
            let text = before.clone() + &hexadecimal(value.as_bytes(), is_upper) + "0f";
            no_part_is_left(&value, &text, before.len()..before.len() + 2 * value.len(), &cuts)?;
        }

        #[test]
        fn a_url_hides_a_value_whatever_it_escapes(
            value in value(),
            safe in prop::sample::select(vec!["", "/", "-_.~", "/-_.~!*'()", ";,/?:@&=+$-_.!~*'()#"]),
            space in prop::sample::select(vec!["%20", "+"]),
            is_upper in any::<bool>(),
            cuts in prop::collection::vec(1usize..9, 1..6),
        ) {
            prop_assume!(!(space == "+" && safe.contains('+')));
            let text = quote(&value, safe, is_upper, space);
            no_part_is_left(&value, &text, 0..text.len(), &cuts)?;
        }
    }

    /// Masks a text whole and in pieces. Of the part that is the value, at most its first character
    /// may be seen, or what begins the escape that it is.
    fn no_part_is_left(
        value: &str,
        text: &str,
        part: std::ops::Range<usize>,
        cuts: &[usize],
    ) -> Result<(), TestCaseError> {
        let mask = mask(&[value]);
        let whole = mask.text(text.into()).into_owned();
        let (from, to) = (&text[..part.start], &text[part.end..]);
        prop_assert!(whole.contains("***"), "{} is left", text);
        prop_assert!(from.starts_with(whole.split("***").next().unwrap_or("")), "{} in {}", whole, text);
        prop_assert!(to.ends_with(whole.rsplit("***").next().unwrap_or("")), "{} in {}", whole, text);
        let (mut stream, mut said) = (mask.stream(), Vec::new());
        let (mut rest, mut cuts) = (text.as_bytes(), cuts.iter().cycle());
        while !rest.is_empty() {
            let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            said.extend_from_slice(&stream.push(now));
            rest = later;
        }
        said.extend_from_slice(&stream.finish());
        let said = String::from_utf8(said).unwrap();
        let begun = said.split("***").next().unwrap_or("");
        prop_assert!(begun.len() <= part.start + 2 && text.starts_with(begun), "{} in {}", said, text);
        prop_assert!(to.ends_with(said.rsplit("***").next().unwrap_or("")), "{} in {}", said, text);
        Ok(())
    }
}
