//! Colours for a line that is being typed: what Python reads as a keyword, a string, a number or a
//! comment.

use std::borrow::Cow;

use super::python::{is_keyword, string, word};

const KEYWORD: &str = "\x1b[35m";
const TEXT: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[36m";
const COMMENT: &str = "\x1b[2m";
const COMMAND: &str = "\x1b[1m";
const RESET: &str = "\x1b[0m";

/// The line in colours. It is as wide as it was.
pub(super) fn paint(line: &str) -> Cow<'_, str> {
    if line.starts_with(':') {
        return format!("{COMMAND}{line}{RESET}").into();
    }
    let mut painted = String::with_capacity(2 * line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let (length, colour) = match c {
            '#' => (rest.find('\n').unwrap_or(rest.len()), Some(COMMENT)),
            '"' | '\'' => (string(rest).unwrap_or(rest.len()), Some(TEXT)),
            _ if c.is_alphanumeric() || c == '_' => {
                let word = word(rest);
                let colour = if is_keyword(word) {
                    Some(KEYWORD)
                } else if c.is_ascii_digit() {
                    Some(NUMBER)
                } else {
                    None
                };
                (word.len(), colour)
            }
            _ => (c.len_utf8(), None),
        };
        let (piece, later) = rest.split_at(length);
        match colour {
            Some(colour) => painted.extend([colour, piece, RESET]),
            None => painted.push_str(piece),
        }
        rest = later;
    }
    painted.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_get_their_colour_and_lose_nothing() {
        let painted = paint("for x in f('if', 12):  # in");
        let expected = format!(
            "{KEYWORD}for{RESET} x {KEYWORD}in{RESET} f({TEXT}'if'{RESET}, {NUMBER}12{RESET}):  {COMMENT}# in{RESET}"
        );
        assert_eq!(painted, expected);
        assert_eq!(paint("formal"), "formal");
        assert_eq!(paint("'''open\nhere"), format!("{TEXT}'''open\nhere{RESET}"));
        assert_eq!(paint(":vars"), format!("{COMMAND}:vars{RESET}"));
        for line in ["é = 'ü", "1.5e3_", "\\'", "x\u{301}#", ""] {
            let plain = [KEYWORD, TEXT, NUMBER, COMMENT, RESET]
                .iter()
                .fold(paint(line).into_owned(), |text, code| text.replace(code, ""));
            assert_eq!(plain, line);
        }
    }
}
