//! Whether what a program printed is what was expected.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How two outputs are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "how", deny_unknown_fields)]
pub(super) enum Comparison {
    /// Each byte counts.
    Exact,
    /// Newlines at the end do not count.
    #[default]
    TrailingNewline,
    /// Blanks around a line do not count, and empty lines at the end do not.
    Lines,
    /// Only the words count, not what is between them.
    Tokens,
    /// The same, and words that are numbers may differ by so much. Two whole numbers may not.
    Floats {
        /// The largest difference.
        #[serde(default = "usual_tolerance")]
        absolute: f64,
        /// The largest difference, as a part of the number that is expected.
        #[serde(default = "usual_tolerance")]
        relative: f64,
    },
}

fn usual_tolerance() -> f64 {
    1e-6
}

/// The first place where two outputs differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Difference {
    /// What the number counts: `line` or `token`.
    unit: &'static str,
    /// Which one, from 1.
    number: usize,
    /// What should be there. `null` if there should be no more.
    expected: Option<String>,
    /// What is there.
    got: Option<String>,
}

impl Comparison {
    /// Where an output differs from what is expected, if it does.
    pub(super) fn difference(self, expected: &str, got: &str) -> Option<Difference> {
        let same = |one: &str, other: &str| one == other;
        match self {
            Self::Exact if expected == got => None,
            Self::Exact => first(("line", same), expected.split('\n'), got.split('\n')),
            Self::TrailingNewline => {
                let [expected, got] = [expected, got].map(|text| text.trim_end_matches(['\n', '\r']));
                first(("line", same), expected.split('\n'), got.split('\n'))
            }
            Self::Lines => {
                let [expected, got] = [expected, got].map(str::trim_end);
                first(("line", same), expected.split('\n').map(str::trim), got.split('\n').map(str::trim))
            }
            Self::Tokens => first(("token", same), expected.split_whitespace(), got.split_whitespace()),
            Self::Floats { absolute, relative } => {
                let close = move |expected: &str, got: &str| is_close(expected, got, absolute, relative);
                first(("token", close), expected.split_whitespace(), got.split_whitespace())
            }
        }
    }

    /// Whether its tolerances are numbers that mean something.
    pub(super) fn is_valid(self) -> bool {
        let is_tolerance = |number: f64| number.is_finite() && number >= 0.0;
        match self {
            Self::Floats { absolute, relative } => is_tolerance(absolute) && is_tolerance(relative),
            _ => true,
        }
    }
}

/// The first pair that is not the same.
fn first<'a>(
    (unit, is_same): (&'static str, impl Fn(&str, &str) -> bool),
    mut expected: impl Iterator<Item = &'a str>,
    mut got: impl Iterator<Item = &'a str>,
) -> Option<Difference> {
    for number in 1.. {
        let pair = (expected.next(), got.next());
        match pair {
            (None, None) => break,
            (Some(one), Some(other)) if is_same(one, other) => {}
            (expected, got) => {
                let [expected, got] = [expected, got].map(|text| text.map(shortened));
                return Some(Difference { unit, number, expected, got });
            }
        }
    }
    None
}

/// A part of a line is enough to see what is wrong.
fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn is_close(expected: &str, got: &str, absolute: f64, relative: f64) -> bool {
    if expected == got {
        return true;
    }
    let is_whole = |text: &str| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if is_whole(expected) && is_whole(got) {
        return false;
    }
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    match (number(expected), number(got)) {
        (Some(expected), Some(got)) => (expected - got).abs() <= absolute.max(relative * expected.abs()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comparison_forgives_what_it_says_and_nothing_else() {
        use Comparison::{Exact, Floats, Lines, Tokens, TrailingNewline};
        let floats = Floats { absolute: 1e-3, relative: 1e-3 };
        let all = [Exact, TrailingNewline, Lines, Tokens, floats];
        for (expected, got, right) in [
            ("a b\nc\n", "a b\nc\n", [true; 5]),
            ("a b\nc", "a b\nc\n\n", [false, true, true, true, true]),
            ("a b\nc\n", " a b \nc\n \n", [false, false, true, true, true]),
            ("a b\nc\n", "a  b c", [false, false, false, true, true]),
            ("1.0 200", "1.0005 200", [false, false, false, false, true]),
            ("1.0", "1.002", [false; 5]),
            ("1000.0", "1000.9", [false, false, false, false, true]),
            ("7", "7.0", [false, false, false, false, true]),
            ("1000000", "1000001", [false; 5]),
            ("a", "", [false; 5]),
            ("a", "a a", [false; 5]),
            ("A", "a", [false; 5]),
            ("nan", "1", [false; 5]),
            ("inf", "inf", [true; 5]),
            ("", "", [true; 5]),
            ("", "\n", [false, true, true, true, true]),
        ] {
            let found = all.map(|how| how.difference(expected, got).is_none());
            assert_eq!(found, right, "{expected:?} and {got:?}");
        }
    }

    #[test]
    fn the_first_difference_is_shown() {
        let difference = Comparison::TrailingNewline.difference("1\n2\n3\n", "1\nzwei").unwrap();
        assert_eq!((difference.unit, difference.number), ("line", 2));
        assert_eq!((difference.expected.as_deref(), difference.got.as_deref()), (Some("2"), Some("zwei")));
        let missing = Comparison::Tokens.difference("1 2", "1").unwrap();
        assert_eq!((missing.number, missing.got), (2, None));
        let long = Comparison::Exact.difference(&"é".repeat(300), "").unwrap();
        assert_eq!(long.expected.unwrap().chars().count(), 201);
    }
}
