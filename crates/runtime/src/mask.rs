//! Keeps the values of secrets out of everything a run hands on.
//!
//! A script that was granted a secret can print it, usually by mistake: in a request that is
//! logged, or in an exception that quotes its arguments. Wherever a guest's text enters the host's
//! stream, a value that the run was granted becomes `***`:
//!
//! ```text
//!  stdout, stderr ──► MaskedStream (a value may come in pieces) ──┐
//!  message, label, traceback ──► Mask::text ──────────────────────┼──► Event, ExecutionResult
//!  final and intermediate data ──► Mask::json (inside strings) ───┘
//! ```
//!
//! The search is for the value itself, byte for byte. This stops accidents, but not a thief: a
//! script can encode a value on purpose, or spread it over two log lines. Do not grant a secret to
//! a script that must not have it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use belljar_core::Secret;
use belljar_core::json::{Json, Repairs};

/// What replaces a value.
const HIDDEN: &str = "***";

/// The shortest value that is searched for. A shorter one (`7`, `on`, `dev`) is part of ordinary
/// text by chance. Hiding it would garble results, and the gaps would give it away.
/// [`Runtime::prepare`](crate::Runtime::prepare) refuses to grant one.
pub(crate) const SHORTEST: usize = 4;

/// The values to hide. Cheap to clone, and costs nothing when there are none.
#[derive(Clone, Default)]
pub(crate) struct Mask {
    /// The longest first. If one value begins with another, the longer one is meant.
    values: Arc<[Box<[u8]>]>,
}

impl Mask {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut values: Vec<Box<[u8]>> = secrets
            .into_iter()
            .map(|secret| secret.expose().as_bytes())
            .filter(|value| value.len() >= SHORTEST)
            .map(Box::from)
            .collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { values: values.into() }
    }

    /// The text without the values.
    pub(crate) fn text<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        if !self.finds(text.as_bytes()) {
            return text;
        }
        let (masked, _) = self.replace(text.as_bytes(), true);
        // A value is UTF-8, so it begins and ends where a character does.
        Cow::Owned(String::from_utf8(masked).expect("whole characters in place of whole characters"))
    }

    /// A host's name without the values. Names have no case, and clients may change it.
    pub(crate) fn host(&self, name: &str) -> String {
        let begins = |rest: &str| {
            let value = self.values.iter().find(|value| {
                let start = rest.as_bytes().get(..value.len());
                start.is_some_and(|start| start.eq_ignore_ascii_case(value))
            });
            value.map(|value| value.len())
        };
        let (mut masked, mut rest) = (String::with_capacity(name.len()), name);
        while let Some(first) = rest.chars().next() {
            let length = begins(rest);
            masked.push_str(if length.is_some() { HIDDEN } else { &rest[..first.len_utf8()] });
            // A value is UTF-8, and only the case of its ASCII letters may differ. So it ends where
            // a character does.
            rest = &rest[length.unwrap_or(first.len_utf8())..];
        }
        masked
    }

    /// The JSON value without the secrets. They are hidden in strings, keys and numbers. Such a
    /// number becomes a string. Two keys that were secrets become one, which is a repair.
    pub(crate) fn json(&self, json: Json) -> (Json, Repairs) {
        let raw = json.as_str();
        // Without a backslash, every string is written as it is.
        if self.values.is_empty() || !(raw.contains('\\') || self.finds(raw.as_bytes())) {
            return (json, Repairs::default());
        }
        let mut masked = String::with_capacity(raw.len());
        for token in Tokens(raw) {
            match token {
                Token::String(literal) => masked.push_str(&self.literal(literal)),
                Token::Scalar(word) if self.finds(word.as_bytes()) => masked.push_str(&quoted(HIDDEN)),
                Token::Scalar(other) | Token::Between(other) => masked.push_str(other),
            }
        }
        // A secret that is itself a JSON document can span several tokens.
        let masked = if self.finds(masked.as_bytes()) { quoted(HIDDEN) } else { masked };
        Json::parse_repaired(&masked).expect("strings in place of values leave JSON as it was")
    }

    /// A masker for bytes that arrive in pieces.
    pub(crate) fn stream(&self) -> MaskedStream {
        MaskedStream { mask: self.clone(), held: Vec::new() }
    }

    /// Masks one string literal, quotes included.
    fn literal<'a>(&self, literal: &'a str) -> Cow<'a, str> {
        let text = Json::parse(literal).and_then(|json| json.to::<String>());
        match text {
            Ok(text) if self.finds(text.as_bytes()) => Cow::Owned(quoted(&self.text(text.into()))),
            Ok(_) => Cow::Borrowed(literal),
            // What cannot be read cannot be checked, so it is hidden.
            Err(_) => Cow::Owned(quoted(HIDDEN)),
        }
    }

    fn finds(&self, bytes: &[u8]) -> bool {
        (0..bytes.len()).any(|at| self.values.iter().any(|value| bytes[at..].starts_with(value)))
    }

    /// Replaces whole values. Also returns from where on the bytes may be the beginning of a value.
    /// With `all`, nothing more will come.
    fn replace(&self, bytes: &[u8], all: bool) -> (Vec<u8>, usize) {
        let mut masked = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let may_grow = |value: &[u8]| value.len() > rest.len() && value.starts_with(rest);
            if !all && self.values.iter().any(|value| may_grow(value)) {
                break;
            }
            match self.values.iter().find(|value| rest.starts_with(value)) {
                Some(value) => {
                    masked.extend_from_slice(HIDDEN.as_bytes());
                    at += value.len();
                }
                None => {
                    masked.push(rest[0]);
                    at += 1;
                }
            }
        }
        (masked, at)
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mask({} values)", self.values.len())
    }
}

fn quoted(text: &str) -> String {
    Json::of(text).expect("any text is a JSON string").as_str().to_owned()
}

/// Masks a stream. What may be the beginning of a value is held back until that is known.
#[derive(Debug)]
pub(crate) struct MaskedStream {
    mask: Mask,
    held: Vec<u8>,
}

impl MaskedStream {
    /// What can be handed on now.
    pub(crate) fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.mask.values.is_empty() {
            return Cow::Borrowed(bytes);
        }
        self.held.extend_from_slice(bytes);
        let (masked, up_to) = self.mask.replace(&self.held, false);
        self.held.drain(..up_to);
        Cow::Owned(masked)
    }

    /// What was held back, at the end of the stream.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.mask.replace(&std::mem::take(&mut self.held), true).0
    }
}

/// JSON text, split into strings, other scalars, and what is between them.
struct Tokens<'a>(&'a str);

enum Token<'a> {
    /// With its quotes.
    String(&'a str),
    /// A number, `true`, `false` or `null`.
    Scalar(&'a str),
    /// Brackets, commas, colons and white space.
    Between(&'a str),
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let is_between = |byte: &u8| b"[]{},: \t\r\n".contains(byte);
        let bytes = self.0.as_bytes();
        let length = match bytes.first()? {
            b'"' => string_length(bytes),
            first if is_between(first) => bytes.iter().take_while(|byte| is_between(byte)).count(),
            _ => bytes.iter().take_while(|byte| !is_between(byte) && **byte != b'"').count(),
        };
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(match token.as_bytes()[0] {
            b'"' => Token::String(token),
            first if is_between(&first) => Token::Between(token),
            _ => Token::Scalar(token),
        })
    }
}

fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mask(values: &[&str]) -> Mask {
        let secrets: Vec<_> = values.iter().map(|value| Secret::new(*value)).collect();
        Mask::new(&secrets)
    }

    fn masked_json(mask: &Mask, text: &str) -> String {
        mask.json(Json::parse(text).unwrap()).0.as_str().to_owned()
    }

    #[test]
    fn a_value_is_hidden_wherever_it_stands() {
        let mask = mask(&["hunter2", "p4ss\"w\\rd"]);
        assert_eq!(mask.text("hunter2".into()), "***");
        assert_eq!(mask.text("a hunter2, hunter2hunter and hunter".into()), "a ***, ***hunter and hunter");
        assert_eq!(masked_json(&mask, r#"{"hunter2":["xhunter2x",1]}"#), r#"{"***":["x***x",1]}"#);
        assert_eq!(masked_json(&mask, r#"["a\"p4ss\"w\\rd\"","\u0068unter2"]"#), r#"["a\"***\"","***"]"#);
        assert_eq!(masked_json(&mask, r#"["\"","h","\ud83d\ude00"]"#), r#"["\"","h","\ud83d\ude00"]"#);
    }

    #[test]
    fn of_two_values_the_longer_one_is_meant() {
        let mask = mask(&["token", "token-and-more"]);
        assert_eq!(mask.text("token-and-more token-and token".into()), "*** ***-and ***");
    }

    #[test]
    fn a_value_that_json_holds_as_something_else_is_hidden_too() {
        let mask = mask(&["123456", r#"{"key":1,"b":[2]}"#, "true"]);
        assert_eq!(masked_json(&mask, "[123456,9123456.5,12345]"), r#"["***","***",12345]"#);
        assert_eq!(masked_json(&mask, "[true,false]"), r#"["***",false]"#);
        assert_eq!(masked_json(&mask, r#"[0,{"key":1,"b":[2]}]"#), r#""***""#);
    }

    #[test]
    fn two_names_that_are_hidden_are_one() {
        let mask = mask(&["hunter2", "hunter3"]);
        let (masked, repairs) = mask.json(Json::parse(r#"{"hunter2":1,"hunter3":2,"x":3}"#).unwrap());
        assert_eq!((masked.as_str(), repairs.repeated), (r#"{"***":1,"x":3}"#, 1));
    }

    #[test]
    fn a_host_is_masked_whatever_its_case() {
        let mask = mask(&["Hunter2é", "Key4"]);
        for (host, masked) in
            [("hunter2é.example", "***.example"), ("x.KEY4.key4", "x.***.***"), ("ékey", "ékey"), ("", "")]
        {
            assert_eq!(mask.host(host), masked);
        }
    }

    #[test]
    fn values_too_short_to_be_meant_are_left_alone() {
        assert_eq!(mask(&["on", "", "dev"]).text("on dev".into()), "on dev");
    }

    #[test]
    fn what_may_be_the_beginning_of_a_value_waits() {
        let mut stream = mask(&["hunter2"]).stream();
        assert_eq!(&*stream.push(b"a hun"), b"a ");
        assert_eq!(&*stream.push(b"ter"), b"");
        assert_eq!(&*stream.push(b"2 hunte"), b"*** ");
        assert_eq!(stream.finish(), b"hunte");
    }

    #[test]
    fn debug_shows_how_many_and_not_which() {
        assert_eq!(format!("{:?}", mask(&["hunter2"]).stream().mask), "Mask(1 values)");
    }

    /// Few letters, so that values overlap, begin each other and occur by chance. None of them is
    /// part of the replacement.
    fn secrets() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[ab1\"\\\\é\n]{4,9}", 1..4)
    }

    /// Text with the values in it, whole or in part.
    fn text_around(secrets: Vec<String>) -> impl Strategy<Value = (Vec<String>, String)> {
        let pieces = prop_oneof![
            prop::sample::select(secrets.clone()),
            prop::sample::select(secrets.clone()).prop_map(|value| value.chars().skip(1).collect()),
            "[ab1\"\\\\é\n]{0,5}",
        ];
        (Just(secrets), prop::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat()))
    }

    proptest! {
        #[test]
        fn no_value_is_left_in_text((secrets, text) in secrets().prop_flat_map(text_around)) {
            let values: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let masked = mask(&values).text(text.as_str().into()).into_owned();
            for value in &values {
                prop_assert!(!masked.contains(value), "{value:?} in {masked:?}");
            }
            if !values.iter().any(|value| text.contains(value)) {
                prop_assert_eq!(masked, text);
            }
        }

        #[test]
        fn a_stream_is_masked_the_same_however_it_is_cut(
            (secrets, text) in secrets().prop_flat_map(text_around),
            cuts in prop::collection::vec(1usize..6, 1..9),
        ) {
            let values: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let mask = mask(&values);
            let longest = values.iter().map(|value| value.len()).max().unwrap_or(0);
            let (mut stream, mut seen) = (mask.stream(), Vec::new());
            let (mut rest, mut cuts) = (text.as_bytes(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                seen.extend_from_slice(&stream.push(now));
                prop_assert!(stream.held.len() < longest, "more is held back than a value is long");
                rest = later;
            }
            seen.extend_from_slice(&stream.finish());
            prop_assert_eq!(String::from_utf8(seen).unwrap(), mask.text(text.as_str().into()));
        }

        #[test]
        fn no_value_is_left_in_json(
            (secrets, text) in secrets().prop_flat_map(text_around),
            ascii in any::<bool>(),
        ) {
            let values: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let mut raw = Json::of(&(&text, [(&text, 1)])).unwrap().as_str().to_owned();
            if ascii {
                raw = raw.replace('é', "\\u00e9");
            }
            let (masked, _) = mask(&values).json(Json::parse(&raw).unwrap());
            for value in &values {
                prop_assert!(!masked.as_str().contains(value), "{value:?} in {masked:?}");
            }
            // What a reader of the JSON sees, unless it is hidden as a whole.
            if let Ok((text, _)) = masked.to::<(String, [(String, u8); 1])>() {
                for value in &values {
                    prop_assert!(!text.contains(value), "{value:?} in {text:?}");
                }
            }
        }
    }
}
