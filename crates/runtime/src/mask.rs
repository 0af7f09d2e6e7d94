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
//! * `forms` says what is searched for: the value itself, the value as Python's `repr` or JSON
//!   escapes it, and each line of a value of several lines.
//! * `search` finds all of that in one pass. It is built once for a sandbox.
//! * `encodings` decodes base64, hexadecimal and percent-encoding on the way, so that values are
//!   found in those too.
//! * `stream` masks text that arrives in pieces, and whole text in the same way.
//! * `tokens` takes JSON apart.
//!
//! This stops accidents, but not a thief: a script can encode a value in its own way, or twice, or
//! spread it over two log lines. Do not grant a secret to a script that must not have it.

mod encodings;
mod forms;
mod search;
mod stream;
mod tokens;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use belljar_core::Secret;
use belljar_core::json::{Json, Repairs};

use self::search::Search;
pub(crate) use self::stream::MaskedStream;
use self::stream::replace;
use self::tokens::{Token, Tokens};

/// What replaces a value.
const HIDDEN: &str = "***";

/// The name, as JSON, under which the harness writes bytes in base64.
const BYTES: &str = r#""__bytes__""#;

/// The shortest value that is searched for. A shorter one (`7`, `on`, `dev`) is part of ordinary
/// text by chance. Hiding it would garble results, and the gaps would give it away.
/// [`Runtime::prepare`](crate::Runtime::prepare) refuses to grant one.
pub(crate) const SHORTEST: usize = 4;

/// The values to hide. Cheap to clone, and costs nothing when there are none.
#[derive(Clone, Default)]
pub(crate) struct Mask(Option<Arc<Values>>);

struct Values {
    search: Search,
    /// What could be part of a host's name, in lower case.
    plain: Vec<Vec<u8>>,
    /// A search for that. It is built when a script first asks for a host.
    in_hosts: OnceLock<Search>,
}

impl Mask {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        /// No host's name is longer.
        const LONGEST_HOST: usize = 255;
        let (mut forms, mut plain) = (BTreeSet::new(), Vec::new());
        for secret in secrets {
            let value = secret.expose();
            forms::add_forms(value, &mut forms);
            if (SHORTEST..=LONGEST_HOST).contains(&value.len()) {
                plain.push(value.to_ascii_lowercase().into_bytes());
            }
        }
        let search = Search::new(forms.iter().map(Vec::as_slice));
        let values = Values { search, plain, in_hosts: OnceLock::new() };
        Self((!values.search.is_empty()).then(|| Arc::new(values)))
    }

    /// The text without the values.
    pub(crate) fn text<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        match self.search() {
            Some(search) if search.is_in(text.as_bytes()) => {
                Cow::Owned(replace(search, text.as_bytes(), &text))
            }
            _ => text,
        }
    }

    /// Whether a value is in the text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.search().is_some_and(|search| search.is_in(text.as_bytes()))
    }

    /// A host's name without the values. Names have no case, and clients may change it.
    pub(crate) fn host(&self, name: &str) -> String {
        let Some(values) = &self.0 else { return name.to_owned() };
        let search = values.in_hosts.get_or_init(|| Search::new(values.plain.iter().map(Vec::as_slice)));
        // An encoding of the value as it is, before one of the value in lower case.
        let name = self.text(name.into());
        replace(search, name.to_ascii_lowercase().as_bytes(), &name)
    }

    /// The JSON value without the secrets. They are hidden in strings, keys and numbers. Such a
    /// number becomes a string. Two keys that were secrets become one, which is a repair.
    pub(crate) fn json(&self, json: Json) -> (Json, Repairs) {
        let raw = json.as_str();
        // Without a backslash, every string is written as it is, but for bytes.
        let is_plain = || !raw.contains('\\') && !raw.contains(BYTES) && !self.finds(raw.as_bytes());
        if self.0.is_none() || is_plain() {
            return (json, Repairs::default());
        }
        let mut masked = String::with_capacity(raw.len());
        let mut is_bytes = false;
        for token in Tokens(raw) {
            match token {
                Token::String(literal) if is_bytes && self.is_encoded_in(literal) => {
                    masked.push_str(&quoted(HIDDEN));
                }
                Token::String(literal) => masked.push_str(&self.literal(literal)),
                Token::Scalar(word) if self.finds(word.as_bytes()) => masked.push_str(&quoted(HIDDEN)),
                Token::Scalar(other) | Token::Between(other) => masked.push_str(other),
            }
            is_bytes = match token {
                Token::Between(_) => is_bytes,
                Token::String(name) => name == BYTES,
                Token::Scalar(_) => false,
            };
        }
        // A secret that is itself a JSON document can span several tokens.
        let masked = if self.finds(masked.as_bytes()) { quoted(HIDDEN) } else { masked };
        Json::parse_repaired(&masked).expect("strings in place of values leave JSON as it was")
    }

    /// A masker for bytes that arrive in pieces.
    pub(crate) fn stream(&self) -> MaskedStream {
        MaskedStream::new(self.clone())
    }

    /// Whether a literal holds a value in base64.
    fn is_encoded_in(&self, literal: &str) -> bool {
        BASE64.decode(literal.trim_matches('"')).is_ok_and(|bytes| self.finds(&bytes))
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

    /// Whether a value is in there.
    pub(crate) fn finds(&self, bytes: &[u8]) -> bool {
        self.search().is_some_and(|search| search.is_in(bytes))
    }

    /// `None` when there is nothing to hide.
    fn search(&self) -> Option<&Search> {
        self.0.as_ref().map(|values| &values.search)
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mask({} forms)", self.search().map_or(0, Search::len))
    }
}

fn quoted(text: &str) -> String {
    Json::of(text).expect("any text is a JSON string").as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(super) fn mask(values: &[&str]) -> Mask {
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
    fn a_value_that_the_harness_encoded_is_hidden_too() {
        let mask = mask(&["hunter2"]);
        let encoded =
            r#"{"a":{"__bytes__":"bXkgaHVudGVyMg=="},"b":{"__bytes__":"b2s="},"c":"bXkgaHVudGVyMg=="}"#;
        let expected = r#"{"a":{"__bytes__":"***"},"b":{"__bytes__":"b2s="},"c":"bXkg***=="}"#;
        assert_eq!(masked_json(&mask, encoded), expected);
        // However short it is: here it is known what the text is.
        let mask = self::mask(&["abcd"]);
        assert_eq!(
            masked_json(&mask, r#"[{"__bytes__":"YWJjZA=="},"YWJjZA=="]"#),
            r#"[{"__bytes__":"***"},"YWJjZA=="]"#
        );
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
    fn values_that_overlap_are_hidden_together() {
        let mask = mask(&["abcd", "cdef"]);
        assert_eq!(mask.text("abcdef cdefabcd".into()), "*** ******");
        // However long an overlap goes on, what is known is handed on.
        let mut stream = self::mask(&["aaaa"]).stream();
        let mut said = Vec::new();
        for _ in 0..100 {
            said.extend_from_slice(&stream.push(b"aaaaaaa"));
            assert!(stream.held() < 4);
        }
        said.extend_from_slice(&stream.push(b"b"));
        assert_eq!((said, stream.held()), (b"***b".to_vec(), 0));
    }

    #[test]
    fn a_value_of_several_lines_is_hidden_escaped_and_line_by_line() {
        let key = "-----BEGIN KEY-----\nMIIBVgIBADANB\nqhki\"9w0\\\n}\n-----END KEY-----\n";
        let mask = mask(&[key]);
        assert_eq!(mask.text(key.into()), "***");
        assert_eq!(mask.text(format!("{key:?}").into()), "\"***\"");
        let indented = key.replace('\n', "\n  | ");
        assert_eq!(
            mask.text(indented.into()),
            "-----BEGIN KEY-----\n  | ***\n  | ***\n  | }\n  | -----END KEY-----\n  | "
        );
        let json = Json::of(&[format!("{key:?}"), key.to_owned()]).unwrap();
        assert_eq!(mask.json(json).0.as_str(), r#"["\"***\"","***"]"#);
        assert_eq!(mask.text("-----BEGIN KEY-----\n}".into()), "-----BEGIN KEY-----\n}");
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
        let shown = format!("{:?} {:?}", mask(&["hunter2"]), mask(&["hunter2"]).stream());
        assert!(shown.starts_with("Mask(1 forms) MaskedStream { mask: Mask(1 forms)"), "{shown}");
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

    /// What the escapes stand for that such a text can have.
    fn unescaped(text: &str) -> String {
        let (mut read, mut rest) = (String::new(), text.chars());
        while let Some(character) = rest.next() {
            let next = rest.clone().next().filter(|_| character == '\\');
            let meant = match next {
                Some('b') => Some('\u{8}'),
                Some(next @ ('"' | '\\')) => Some(next),
                _ => None,
            };
            read.push(meant.unwrap_or(character));
            if meant.is_some() {
                rest.next();
            }
        }
        read
    }

    proptest! {
        #[test]
        fn no_value_is_left_in_text((secrets, text) in secrets().prop_flat_map(text_around)) {
            let values: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let masked = mask(&values).text(text.as_str().into()).into_owned();
            for value in &values {
                prop_assert!(!masked.contains(value), "{value:?} in {masked:?}");
            }
            let mut forms = BTreeSet::new();
            values.iter().for_each(|value| forms::add_forms(value, &mut forms));
            let read = unescaped(&text);
            let is_in = |form: &str| text.contains(form) || read.contains(form);
            if !forms.iter().any(|form| is_in(std::str::from_utf8(form).unwrap())) {
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
            // Escaped, a character of two bytes takes up to eight.
            let longest = 4 * values.iter().map(|value| value.len()).max().unwrap_or(0);
            let (mut stream, mut seen) = (mask.stream(), Vec::new());
            let (mut rest, mut cuts) = (text.as_bytes(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                seen.extend_from_slice(&stream.push(now));
                prop_assert!(stream.held() < longest, "more is held back than a value is long");
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
