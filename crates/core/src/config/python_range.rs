//! Which versions of Python a script can run on, as its author writes it: `>=3.11,<3.14`.
//!
//! The rules are those of version specifiers (PEP 440), for versions that are plain numbers.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::python::PythonVersion;

/// A set of versions of Python: all that fit each of its clauses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonRange {
    text: String,
    clauses: Vec<Clause>,
}

/// The text does not describe versions of Python.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a range of Python versions: must be such as \">=3.11\" or \">=3.11,<3.14\"")]
pub struct PythonRangeError {
    /// The text.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Clause {
    operator: Operator,
    release: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    AtLeast,
    Above,
    AtMost,
    Below,
    Equal,
    NotEqual,
    /// `== 3.11.*`
    Begins,
    /// `!= 3.11.*`
    BeginsNot,
}

impl PythonRange {
    /// Whether an interpreter of this version is in the range.
    pub fn admits(&self, major: u32, minor: u32, micro: u32) -> bool {
        self.clauses.iter().all(|clause| clause.admits([major, minor, micro]))
    }

    /// Whether a version is in the range. Of a version without a patch, one patch release is
    /// enough.
    pub fn admits_some(&self, version: PythonVersion) -> bool {
        /// No minor version of Python ever had as many.
        const PATCHES: u32 = 100;
        let admits = |micro| self.admits(version.major(), version.minor(), micro);
        version.micro().map_or_else(|| (0..PATCHES).any(admits), admits)
    }

    /// The minor versions in the range. `best` comes first, then what is nearest to it, the newer
    /// of two first.
    pub fn versions_near(&self, best: PythonVersion) -> Vec<PythonVersion> {
        /// Further ahead than any release.
        const NEWEST: u32 = 30;
        let mut minors: Vec<u32> = (0..=NEWEST).collect();
        minors.sort_by_key(|minor| (minor.abs_diff(best.minor()), *minor < best.minor()));
        let versions = minors.iter().filter_map(|minor| format!("3.{minor}").parse().ok());
        versions.filter(|version| self.admits_some(*version)).collect()
    }
}

impl Clause {
    fn admits(&self, version: [u32; 3]) -> bool {
        let begins = || version.iter().zip(&self.release).all(|(one, other)| one == other);
        let order = || {
            let length = version.len().max(self.release.len());
            let at = |numbers: &[u32], place| numbers.get(place).copied().unwrap_or_default();
            let places = (0..length).map(|place| at(&version, place).cmp(&at(&self.release, place)));
            places.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        match self.operator {
            Operator::AtLeast => order().is_ge(),
            Operator::Above => order().is_gt(),
            Operator::AtMost => order().is_le(),
            Operator::Below => order().is_lt(),
            Operator::Equal => order().is_eq(),
            Operator::NotEqual => order().is_ne(),
            Operator::Begins => begins(),
            Operator::BeginsNot => !begins(),
        }
    }

    /// Reads one clause. `~=` is two: `~= 3.11.2` is `>= 3.11.2` and `== 3.11.*`.
    fn parse(text: &str) -> Option<Vec<Self>> {
        let end = text.find(|c: char| !"<>=!~".contains(c))?;
        let (operator, version) = (&text[..end], text[end..].trim());
        let (plain, is_open) = version.strip_suffix(".*").map_or((version, false), |plain| (plain, true));
        let release = release(plain)?;
        let one = |operator| Some(vec![Self { operator, release: release.clone() }]);
        match (operator, is_open) {
            (">=", false) => one(Operator::AtLeast),
            (">", false) => one(Operator::Above),
            ("<=", false) => one(Operator::AtMost),
            ("<", false) => one(Operator::Below),
            ("==" | "===", false) => one(Operator::Equal),
            ("!=", false) => one(Operator::NotEqual),
            ("==", true) => one(Operator::Begins),
            ("!=", true) => one(Operator::BeginsNot),
            ("~=", false) if release.len() > 1 => {
                let front = release[..release.len() - 1].to_vec();
                Some(vec![
                    Self { operator: Operator::AtLeast, release },
                    Self { operator: Operator::Begins, release: front },
                ])
            }
            _ => None,
        }
    }
}

/// Up to three numbers.
fn release(text: &str) -> Option<Vec<u32>> {
    let numbers: Vec<u32> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_plain && numbers.len() <= 3).then_some(numbers)
}

impl FromStr for PythonRange {
    type Err = PythonRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let clauses = text.split(',').map(|clause| Clause::parse(clause.trim())).collect::<Option<Vec<_>>>();
        let clauses = clauses.ok_or_else(|| PythonRangeError { text: text.to_owned() })?;
        Ok(Self { text: text.to_owned(), clauses: clauses.into_iter().flatten().collect() })
    }
}

impl fmt::Display for PythonRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> PythonRange {
        text.parse().unwrap()
    }

    #[test]
    fn clauses_mean_what_the_standard_says() {
        for (text, inside, outside) in [
            (">=3.11", vec![(3, 11, 0), (3, 12, 4)], vec![(3, 10, 9)]),
            (">=3.11.4", vec![(3, 11, 4)], vec![(3, 11, 3)]),
            (">3.11", vec![(3, 11, 1)], vec![(3, 11, 0)]),
            ("<3.13", vec![(3, 12, 9)], vec![(3, 13, 0)]),
            ("<=3.12", vec![(3, 12, 0)], vec![(3, 12, 1)]),
            ("==3.11", vec![(3, 11, 0)], vec![(3, 11, 7)]),
            ("==3.11.*", vec![(3, 11, 7)], vec![(3, 12, 0)]),
            ("!=3.12.*, >= 3.11", vec![(3, 11, 1), (3, 13, 0)], vec![(3, 12, 1), (3, 10, 1)]),
            ("!=3.11.7", vec![(3, 11, 6)], vec![(3, 11, 7)]),
            ("~=3.11", vec![(3, 11, 0), (3, 14, 1)], vec![(3, 10, 1)]),
            ("~=3.11.2", vec![(3, 11, 2), (3, 11, 9)], vec![(3, 11, 1), (3, 12, 0)]),
            ("===3.11.7", vec![(3, 11, 7)], vec![(3, 11, 8)]),
            (">=3", vec![(3, 9, 0)], vec![(2, 7, 18)]),
        ] {
            for (major, minor, micro) in inside {
                assert!(range(text).admits(major, minor, micro), "{text} {major}.{minor}.{micro}");
            }
            for (major, minor, micro) in outside {
                assert!(!range(text).admits(major, minor, micro), "{text} {major}.{minor}.{micro}");
            }
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in
            ["", "3.11", "^3.11", ">=", ">=3.11,", ">=3.x", "~=3", ">=3.*", "=>3.11", ">=3.11rc1", ">=+3"]
        {
            let error = text.parse::<PythonRange>().unwrap_err();
            assert!(error.to_string().contains("must be such as"), "{text}");
        }
    }

    #[test]
    fn the_versions_of_a_range_begin_with_the_best() {
        let near = |text: &str| {
            let versions = range(text).versions_near("3.11".parse().unwrap());
            versions.iter().take(3).map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(near(">=3.10"), ["3.11", "3.12", "3.10"]);
        assert_eq!(near(">=3.12.2"), ["3.12", "3.13", "3.14"]);
        assert_eq!(near("<3.11"), ["3.10", "3.9"]);
        assert_eq!(near("==3.11.*"), ["3.11"]);
        assert_eq!(near("<3.9"), [""; 0]);
        assert!(range(">=3.11.4").admits_some("3.11".parse().unwrap()));
        assert!(!range(">=3.11.4").admits_some("3.11.3".parse().unwrap()));
    }
}
