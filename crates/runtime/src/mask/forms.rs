//! The forms in which a value may show up in what a script says.
//!
//! A program seldom prints a value by itself. It prints the `repr` of a structure, a log line in
//! JSON, a table in HTML, or a file line by line. So each value is also searched for as Python,
//! JSON and HTML escape it, and a value of several lines also line by line.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::SHORTEST;

/// Adds all forms of a value that are worth searching for.
pub(super) fn add_forms(value: &str, forms: &mut BTreeSet<Vec<u8>>) {
    if value.len() < SHORTEST {
        return;
    }
    add_escaped(value, forms);
    if value.contains(['\n', '\r']) {
        value.split(['\n', '\r']).map(str::trim).filter(|line| tells(line)).for_each(|line| {
            add_escaped(line, forms);
        });
    }
}

/// Whether a line is worth hiding by itself. Lines that any text may have are not: short ones,
/// those of punctuation alone, and those around a key in PEM format.
fn tells(line: &str) -> bool {
    line.len() >= SHORTEST && line.contains(char::is_alphanumeric) && !line.starts_with("-----")
}

fn add_escaped(text: &str, forms: &mut BTreeSet<Vec<u8>>) {
    forms.insert(text.as_bytes().to_vec());
    // Most values, and most lines, are written as they are.
    let is_plain = |byte: u8| {
        (b' '..=b'~').contains(&byte) && !matches!(byte, b'\\' | b'"' | b'\'' | b'&' | b'<' | b'>')
    };
    if text.bytes().all(is_plain) {
        return;
    }
    for style in STYLES {
        forms.insert(style.escape(text).into_bytes());
    }
    add_marked_up(text, forms);
}

/// Adds the value as HTML, XML and SVG write it: what tables and figures show.
fn add_marked_up(text: &str, forms: &mut BTreeSet<Vec<u8>>) {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return;
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // pandas leaves quotes alone. `html.escape` and markupsafe each have their own way.
    for [double, single] in [["\"", "'"], ["&quot;", "&#x27;"], ["&#34;", "&#39;"]] {
        forms.insert(text.replace('"', double).replace('\'', single).into_bytes());
    }
}

/// How one way of writing a string escapes it.
struct Style {
    /// The quote that is escaped. Python escapes one only in a string that has both.
    quote: Option<char>,
    /// Control characters that have a letter: `\n`.
    letters: &'static [(char, char)],
    other: Other,
}

/// How other characters are escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Other {
    /// `json.dumps(…, ensure_ascii=False)`: control characters as `\u0001`.
    Json,
    /// `json.dumps(…)`: everything that is not ASCII too, in UTF-16.
    JsonAscii,
    /// `repr(…)`: control characters as `\x01`.
    Python,
    /// `ascii(…)`: everything that is not ASCII too.
    PythonAscii,
    /// `repr(….encode())`: each byte that is not ASCII.
    PythonBytes,
}

const PYTHON_LETTERS: &[(char, char)] = &[('\n', 'n'), ('\r', 'r'), ('\t', 't')];
const JSON_LETTERS: &[(char, char)] =
    &[('\n', 'n'), ('\r', 'r'), ('\t', 't'), ('\u{8}', 'b'), ('\u{c}', 'f')];

const fn python(quote: Option<char>, other: Other) -> Style {
    Style { quote, letters: PYTHON_LETTERS, other }
}

const fn json(other: Other) -> Style {
    Style { quote: Some('"'), letters: JSON_LETTERS, other }
}

const STYLES: [Style; 8] = [
    json(Other::Json),
    json(Other::JsonAscii),
    python(None, Other::Python),
    python(Some('\''), Other::Python),
    python(None, Other::PythonAscii),
    python(Some('\''), Other::PythonAscii),
    python(None, Other::PythonBytes),
    python(Some('\''), Other::PythonBytes),
];

impl Style {
    fn escape(&self, text: &str) -> String {
        let mut escaped = String::with_capacity(text.len() + text.len() / 16);
        for character in text.chars() {
            let letter = self.letters.iter().find(|(escaped, _)| *escaped == character);
            if let Some((_, letter)) = letter {
                escaped.extend(['\\', *letter]);
            } else if character == '\\' || Some(character) == self.quote {
                escaped.extend(['\\', character]);
            } else {
                self.other.write(character, &mut escaped);
            }
        }
        escaped
    }
}

impl Other {
    fn write(self, character: char, text: &mut String) {
        let (code, is_json) = (u32::from(character), matches!(self, Self::Json | Self::JsonAscii));
        let is_control = code < 0x20 || (code == 0x7f && !is_json);
        let as_it_is = matches!(self, Self::Json | Self::Python);
        if !is_control && (character.is_ascii() || as_it_is) {
            text.push(character);
            return;
        }
        let _ = match self {
            Self::Json | Self::JsonAscii => {
                let mut units = [0; 2];
                character.encode_utf16(&mut units).iter().try_for_each(|unit| write!(text, "\\u{unit:04x}"))
            }
            Self::PythonBytes => {
                let mut bytes = [0; 4];
                character.encode_utf8(&mut bytes).bytes().try_for_each(|byte| write!(text, "\\x{byte:02x}"))
            }
            Self::Python | Self::PythonAscii if code < 0x100 => write!(text, "\\x{code:02x}"),
            Self::Python | Self::PythonAscii if code < 0x1_0000 => write!(text, "\\u{code:04x}"),
            Self::Python | Self::PythonAscii => write!(text, "\\U{code:08x}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(value: &str) -> Vec<String> {
        let mut forms = BTreeSet::new();
        add_forms(value, &mut forms);
        forms.into_iter().map(|form| String::from_utf8(form).unwrap()).collect()
    }

    #[test]
    fn plain_text_has_one_form() {
        assert_eq!(forms("hunter2-hunter2"), ["hunter2-hunter2"]);
        assert_eq!(forms("abc"), [""; 0]);
    }

    /// What Python 3.11 gives for `repr`, `ascii`, `repr` of the bytes, and `json.dumps` both ways.
    #[test]
    fn each_escape_is_the_one_that_python_writes() {
        let found = forms("é\t\u{1}\u{7f}\"'\\😀");
        for form in [
            "é\\t\\x01\\x7f\"\\'\\\\😀",
            "\\xe9\\t\\x01\\x7f\"\\'\\\\\\U0001f600",
            "\\xc3\\xa9\\t\\x01\\x7f\"\\'\\\\\\xf0\\x9f\\x98\\x80",
            "\\u00e9\\t\\u0001\u{7f}\\\"'\\\\\\ud83d\\ude00",
            "é\\t\\u0001\u{7f}\\\"'\\\\😀",
            "é\\t\\x01\\x7f\"'\\\\😀",
        ] {
            assert!(found.iter().any(|found| found == form), "{form} is not in {found:#?}");
        }
    }

    #[test]
    fn a_value_is_found_in_markup() {
        let found = forms("a&b<c>\"d'");
        for form in ["a&amp;b&lt;c&gt;\"d'", "a&amp;b&lt;c&gt;&quot;d&#x27;", "a&amp;b&lt;c&gt;&#34;d&#39;"] {
            assert!(found.iter().any(|found| found == form), "{form} is not in {found:#?}");
        }
    }

    #[test]
    fn a_line_is_a_form_where_it_tells_something() {
        let key = "-----BEGIN KEY-----\r\nMIIB+/==\r\n  indented \n}},,\nab\n----=---\n-----END KEY-----\n";
        let lines: Vec<_> = forms(key).into_iter().filter(|form| form.len() < 12).collect();
        assert_eq!(lines, ["MIIB+/==", "indented"]);
    }
}
