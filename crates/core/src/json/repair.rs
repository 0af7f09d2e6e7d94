//! Makes JSON readable for every parser, and counts the changes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// How deep a value may be nested. .NET reads 64 levels. With what the host puts around the value,
/// one of them is left.
pub const DEEPEST: usize = 60;
/// The most digits before a number's point. A double ends at 1.8e308, and many parsers refuse
/// larger numbers.
pub const LONGEST_INTEGER: usize = 308;
/// The most characters in a number.
pub const LONGEST_NUMBER: usize = 1_000;
/// The most bytes in a field's name, as it is written.
pub const LONGEST_NAME: usize = 50_000;

/// What was changed in a value so that every parser can read it, and how often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Lists and objects below [`DEEPEST`] levels. Each one is now `null`.
    pub too_deep: u64,
    /// Numbers outside the range of a double, or longer than [`LONGEST_NUMBER`]. Each one is now
    /// `null`.
    pub numbers: u64,
    /// Halves of surrogate pairs in text. Each one is now U+FFFD.
    pub halves: u64,
    /// Fields with a name that the object had already. The first one stays, and these are removed.
    pub repeated: u64,
    /// Fields with a name longer than [`LONGEST_NAME`]. They are removed.
    pub long_names: u64,
}

impl Repairs {
    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the counts of another value.
    pub fn add(&mut self, other: Self) {
        self.too_deep += other.too_deep;
        self.numbers += other.numbers;
        self.halves += other.halves;
        self.repeated += other.repeated;
        self.long_names += other.long_names;
    }

    /// Each kind of fault, and what was done about it.
    fn each(&self) -> impl Iterator<Item = (String, &'static str)> {
        let all = [
            (self.too_deep, format!("nested deeper than {DEEPEST} levels"), "now null"),
            (self.numbers, "a number that a double cannot hold".to_owned(), "now null"),
            (self.halves, "half of a surrogate pair".to_owned(), "now U+FFFD"),
            (self.repeated, "a field whose name was there already".to_owned(), "left out"),
            (self.long_names, format!("a field with a name of over {LONGEST_NAME} bytes"), "left out"),
        ];
        all.into_iter().filter(|(count, ..)| *count > 0).map(|(count, what, fate)| match count {
            1 => (what, fate),
            _ => (format!("{count} times {what}"), fate),
        })
    }

    /// The faults, as text.
    pub(super) fn faults(&self) -> String {
        self.each().map(|(what, _)| what).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Repairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<_> = self.each().map(|(what, fate)| format!("{what} ({fate})")).collect();
        f.write_str(&each.join(", "))
    }
}

/// The text with all repairs. It must be JSON. `None` if it can stay as it is.
pub(super) fn repair(text: &str) -> (Option<String>, Repairs) {
    let mut walk = Walk {
        text,
        bytes: text.as_bytes(),
        levels: Vec::new(),
        names: Vec::new(),
        is_name_next: false,
        out: String::new(),
        copied: 0,
        repairs: Repairs::default(),
    };
    walk.go();
    if walk.copied == 0 {
        return (None, walk.repairs);
    }
    walk.out.push_str(&text[walk.copied..]);
    (Some(walk.out), walk.repairs)
}

/// One pass over a JSON text.
struct Walk<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// The lists and objects around the current position.
    levels: Vec<Level<'a>>,
    /// Names of the fields seen so far in all objects of `levels`. The innermost object's are last.
    names: Vec<Cow<'a, str>>,
    is_name_next: bool,
    /// The repaired text up to `copied`. The rest is copied when the next repair is made.
    out: String,
    copied: usize,
    repairs: Repairs,
}

enum Level<'a> {
    List,
    Object {
        /// Where its names begin in `Walk::names`.
        names: usize,
        /// The same names as a set, once there are many.
        many: Option<HashSet<Cow<'a, str>>>,
        /// Where the comma before the current field is: in the text, and in the repaired text.
        comma: Option<(usize, usize)>,
    },
}

/// Up to this many names are compared one by one.
const FEW: usize = 16;

impl<'a> Walk<'a> {
    fn go(&mut self) {
        let mut at = 0;
        while let Some(&byte) = self.bytes.get(at) {
            at = match byte {
                b'{' | b'[' if self.levels.len() == DEEPEST => {
                    let end = self.end_of_value(at);
                    self.replace(at..end, "null");
                    self.repairs.too_deep += 1;
                    end
                }
                b'{' => {
                    let names = self.names.len();
                    self.levels.push(Level::Object { names, many: None, comma: None });
                    self.is_name_next = true;
                    at + 1
                }
                b'[' => {
                    self.levels.push(Level::List);
                    self.is_name_next = false;
                    at + 1
                }
                b'}' | b']' => {
                    if let Some(Level::Object { names, .. }) = self.levels.pop() {
                        self.names.truncate(names);
                    }
                    at + 1
                }
                b',' => self.comma(at),
                b'"' if self.is_name_next => self.field(at),
                b'"' => self.string(at),
                b'-' | b'0'..=b'9' => self.number(at),
                // JSON has no bare line break inside a string, so this is white space.
                b'\r' | b'\n' => {
                    self.replace(at..at + 1, " ");
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    fn comma(&mut self, at: usize) -> usize {
        // The position in the repaired text that `at` will have.
        let there = self.out.len() + (at - self.copied);
        self.is_name_next = match self.levels.last_mut() {
            Some(Level::Object { comma, .. }) => {
                *comma = Some((at, there));
                true
            }
            _ => false,
        };
        at + 1
    }

    /// Reads a field's name. Removes the whole field if it cannot stay.
    fn field(&mut self, at: usize) -> usize {
        self.is_name_next = false;
        let end = self.end_of_string(at);
        let written = &self.text[at + 1..end - 1];
        let is_long = written.len() > LONGEST_NAME;
        if !is_long && self.is_new(unescaped(written)) {
            return self.string(at);
        }
        if is_long {
            self.repairs.long_names += 1;
        } else {
            self.repairs.repeated += 1;
        }
        self.drop_field(at, end)
    }

    /// Remembers a name. Returns whether it is new in its object.
    fn is_new(&mut self, name: Cow<'a, str>) -> bool {
        let Some(Level::Object { names, many, .. }) = self.levels.last_mut() else { return true };
        let known = &self.names[*names..];
        if known.len() >= FEW {
            let many = many.get_or_insert_with(|| known.iter().cloned().collect());
            if !many.insert(name.clone()) {
                return false;
            }
        } else if known.contains(&name) {
            return false;
        }
        self.names.push(name);
        true
    }

    /// Removes a field, and one of the commas around it.
    fn drop_field(&mut self, name: usize, name_end: usize) -> usize {
        let value = self.skip_blanks(self.skip_blanks(name_end) + 1);
        let end = self.end_of_value(value);
        let comma = match self.levels.last() {
            Some(Level::Object { comma, .. }) => *comma,
            _ => None,
        };
        if let Some((in_text, in_out)) = comma {
            if in_text < self.copied {
                self.out.truncate(in_out);
                self.copied = end;
            } else {
                self.replace(in_text..end, "");
            }
            return end;
        }
        // It is the first field of its object. The comma behind it goes too, and the next field
        // becomes the first.
        let behind = self.skip_blanks(end);
        let has_next = self.bytes.get(behind) == Some(&b',');
        let end = if has_next { behind + 1 } else { end };
        self.replace(name..end, "");
        self.is_name_next = has_next;
        end
    }

    /// Reads a string. Returns where the text after it begins.
    fn string(&mut self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(special) = self.next_special(at) {
            match (self.bytes[special], self.bytes.get(special + 1)) {
                (b'"', _) => return special + 1,
                (_, Some(b'u')) => match unit(self.bytes, special) {
                    0xd800..=0xdbff if is_low(unit(self.bytes, special + 6)) => at = special + 12,
                    0xd800..=0xdfff => {
                        self.replace(special..special + 6, "\\ufffd");
                        self.repairs.halves += 1;
                        at = special + 6;
                    }
                    _ => at = special + 6,
                },
                _ => at = special + 2,
            }
        }
        self.bytes.len()
    }

    fn number(&mut self, at: usize) -> usize {
        let end = self.end_of_scalar(at);
        if !is_readable(&self.text[at..end]) {
            self.replace(at..end, "null");
            self.repairs.numbers += 1;
        }
        end
    }

    fn replace(&mut self, range: Range<usize>, with: &str) {
        self.out.push_str(&self.text[self.copied..range.start]);
        self.out.push_str(with);
        self.copied = range.end;
    }

    fn next_special(&self, from: usize) -> Option<usize> {
        memchr::memchr2(b'"', b'\\', self.bytes.get(from..)?).map(|found| from + found)
    }

    fn end_of_string(&self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(special) = self.next_special(at) {
            match self.bytes[special] {
                b'"' => return special + 1,
                _ => at = special + 2,
            }
        }
        self.bytes.len()
    }

    fn end_of_scalar(&self, start: usize) -> usize {
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
        self.bytes[start..].iter().position(is_end).map_or(self.bytes.len(), |found| start + found)
    }

    /// Counts brackets and does not call itself, because the guest chooses how deep the value is.
    fn end_of_value(&self, start: usize) -> usize {
        let (mut at, mut depth) = (start, 0_usize);
        while let Some(&byte) = self.bytes.get(at) {
            at = match byte {
                b'"' => self.end_of_string(at),
                b'{' | b'[' => {
                    depth += 1;
                    at + 1
                }
                b'}' | b']' => {
                    depth -= 1;
                    at + 1
                }
                b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => at + 1,
                _ => self.end_of_scalar(at),
            };
            if depth == 0 {
                return at;
            }
        }
        at
    }

    fn skip_blanks(&self, from: usize) -> usize {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let blanks = self.bytes[from..].iter().take_while(|byte| is_blank(byte));
        from + blanks.count()
    }
}

/// Whether every parser can hold a number. Most numbers are short, and their length is enough to
/// know.
fn is_readable(number: &str) -> bool {
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
fn unit(bytes: &[u8], at: usize) -> u16 {
    let escape = bytes.get(at..at + 6).and_then(|escape| std::str::from_utf8(escape).ok());
    let digits = escape.and_then(|escape| escape.strip_prefix("\\u"));
    digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..=0xdfff).contains(&unit)
}

/// The text that a string stands for. Halves of surrogate pairs are repaired.
fn unescaped(written: &str) -> Cow<'_, str> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The repaired text, and the repairs as text.
    fn repaired(text: &str) -> (String, String) {
        let (changed, repairs) = repair(text);
        (changed.unwrap_or_else(|| text.to_owned()), repairs.to_string())
    }

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn what_everybody_can_read_stays_as_it_is() {
        let deepest = nested(DEEPEST);
        let digits = "9".repeat(LONGEST_INTEGER);
        let name = format!("{{\"{}\":1}}", "n".repeat(LONGEST_NAME));
        for text in [
            "null",
            r#"{"a":[1,-2.5e-7,{"a":null,"b":"x"}],"b":{"a":{}},"c":[{},[],""]}"#,
            r#"["\u0000","\ud83d\ude00","\"\\","a\\ud800","é"]"#,
            r#"{"a\u0062":1,"ab ":2, "A\u0062" : 3}"#,
            "1.7976931348623157e+308",
            "1e-999",
            &digits,
            &deepest,
            &name,
        ] {
            assert_eq!(repair(text), (None, Repairs::default()), "{text}");
        }
    }

    #[test]
    fn what_is_too_deep_becomes_null_and_the_rest_stays() {
        let text = format!("{}[],[1,\"]\"],2,{{\"a\":[]}}{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        let expected = format!("{}null,null,2,null{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        let told = "3 times nested deeper than 60 levels (now null)";
        assert_eq!(repaired(&text), (expected, told.to_owned()));
        let (text, told) = repaired(&nested(400_000));
        assert_eq!(text, format!("{}null{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST)));
        assert_eq!(told, "nested deeper than 60 levels (now null)");
    }

    #[test]
    fn a_number_that_some_cannot_hold_becomes_null() {
        let long = "9".repeat(LONGEST_INTEGER + 1);
        let precise = format!("0.{}", "1".repeat(LONGEST_NUMBER));
        for number in ["1e309", "-1E+999999999", "1.8e308", &long, &format!("-{long}.5"), &precise] {
            let told = "a number that a double cannot hold (now null)".to_owned();
            assert_eq!(repaired(&format!("[1, {number} ,2]")), ("[1, null ,2]".to_owned(), told), "{number}");
            assert_eq!(repaired(number).0, "null", "{number}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_becomes_the_replacement_character() {
        for (half, whole) in [
            (r"\ud800", r"\ufffd"),
            (r"\uDFFF!", r"\ufffd!"),
            (r"\udc00\ud800", r"\ufffd\ufffd"),
            (r"\ud800\n", r"\ufffd\n"),
            (r"\ud800\ud800\udc00", r"\ufffd\ud800\udc00"),
            (r"\\\ud83d", r"\\\ufffd"),
        ] {
            let (text, told) = repaired(&format!("{{\"{half}\":\"{half}\"}}"));
            assert_eq!(text, format!("{{\"{whole}\":\"{whole}\"}}"));
            assert!(told.contains("half of a surrogate pair (now U+FFFD)"), "{told}");
        }
    }

    #[test]
    fn of_a_name_given_twice_the_first_stands() {
        for (text, expected) in [
            (r#"{"a":1,"a":2}"#, r#"{"a":1}"#),
            ("{\"a\":1\n,\n\"a\" : [1,{\"a\":2}] , \"b\":3}", "{\"a\":1  , \"b\":3}"),
            (r#"{"a":{"a":1,"\u0061":"}"},"b":2,"a":0}"#, r#"{"a":{"a":1},"b":2}"#),
            (r#"{"\ud800":1,"\ufffd":2,"\udc00":3,"x":4}"#, r#"{"\ufffd":1,"x":4}"#),
        ] {
            assert_eq!(repaired(text).0, expected);
        }
        let many: Vec<_> = (0..100).map(|n| format!("\"n{}\":{n}", n % 50)).collect();
        let (text, told) = repaired(&format!("{{{}}}", many.join(",")));
        assert_eq!(text, format!("{{{}}}", many[..50].join(",")));
        assert_eq!(told, "50 times a field whose name was there already (left out)");
    }

    #[test]
    fn a_field_with_a_name_that_is_too_long_is_left_out() {
        let long = format!("\"{}\"", "n".repeat(LONGEST_NAME + 1));
        for (text, expected) in [
            (format!("{{{long}:1}}"), "{}"),
            (format!("{{{long} : [1] , {long}:2,\"a\":3}}"), "{\"a\":3}"),
            (format!("{{\"a\":1,\n{long}:\"x\"}}"), "{\"a\":1}"),
            (format!("{{\"a\":1,{long}:true,\"b\":2}}"), "{\"a\":1,\"b\":2}"),
        ] {
            let (text, told) = repaired(&text);
            assert_eq!(text.replace(' ', ""), expected);
            assert!(told.contains("a field with a name of over 50000 bytes (left out)"), "{told}");
        }
    }

    /// JSON as a guest might write it. It follows only the rules of the grammar.
    fn hostile() -> impl Strategy<Value = String> {
        let blank = prop::sample::select(vec!["", "", " ", "\n", "\r\t"]);
        let piece = prop_oneof![
            prop::sample::select(vec![
                "a", "b", "\\\"", "\\\\", "\\n", "\\/", "é", "}", "]", ",", "{", "\u{9b}"
            ]),
            prop::sample::select(vec![
                "\\ud800",
                "\\udc00",
                "\\uD83D\\uDE00",
                "\\u0061",
                "\\u0000",
                "\\ufffd"
            ]),
        ];
        let string = prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()));
        let digits = "9".repeat(400);
        let number =
            prop::sample::select(vec!["0", "-1.5", "1e400", "-9E-99", "12e+3", "179e306", "180e306"])
                .prop_map(str::to_owned);
        let long = (0..400_usize).prop_map(move |length| digits[..=length.min(399)].to_owned());
        let word = prop::sample::select(vec!["true", "false", "null"]).prop_map(str::to_owned);
        let leaf = prop_oneof![string.clone(), number, long, word];
        let value = leaf.prop_recursive(6, 60, 5, move |inner| {
            let field = (string.clone(), blank.clone(), inner.clone())
                .prop_map(|(name, blank, value)| format!("{name}{blank}:{blank}{value}"));
            let list = (prop::collection::vec(inner.clone(), 0..5), blank.clone())
                .prop_map(|(items, blank)| format!("[{blank}{}]", items.join(&format!("{blank},"))));
            let object = (prop::collection::vec(field, 0..6), blank.clone()).prop_map(|(fields, blank)| {
                format!("{{{blank}{}{blank}}}", fields.join(&format!(",{blank}")))
            });
            let deep = (inner, 1..80_usize)
                .prop_map(|(inner, levels)| format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels)));
            prop_oneof![3 => list, 4 => object, 1 => deep]
        });
        (value, any::<bool>()).prop_map(|(value, list)| if list { format!("[{value}]") } else { value })
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn whatever_the_grammar_allows_comes_out_readable(text in hostile()) {
            let (changed, repairs) = repair(&text);
            let result = changed.clone().unwrap_or_else(|| text.clone());
            let value: Value = serde_json::from_str(&result)
                .map_err(|error| TestCaseError::fail(format!("{error}: {text:?} became {result:?}")))?;
            prop_assert!(depth(&value) <= DEEPEST);
            prop_assert!(!result.contains(['\r', '\n']));
            prop_assert_eq!(repair(&result), (None, Repairs::default()), "a second look finds more in {}", result);
            if repairs.is_empty() {
                prop_assert_eq!(changed, text.contains(['\r', '\n']).then(|| text.replace(['\r', '\n'], " ")));
            }
        }
    }
}
