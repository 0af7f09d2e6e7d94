//! The account of what was changed.

use std::fmt;

use super::{DEEPEST, LONGEST_NAME};

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
    pub(in crate::json) fn faults(&self) -> String {
        self.each().map(|(what, _)| what).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Repairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<_> = self.each().map(|(what, fate)| format!("{what} ({fate})")).collect();
        f.write_str(&each.join(", "))
    }
}
