//! Which interpreter a sandbox runs.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The oldest minor version of Python 3 that the guest harness runs on.
const OLDEST_MINOR: u32 = 9;

/// A version of Python 3. `3.11` means any patch release of it, `3.11.7` means that one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PythonVersion {
    minor: u32,
    micro: Option<u32>,
}

/// The text is not a Python version that Belljar runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a Python version: must be such as \"3.11\" or \"3.11.7\", at least 3.{OLDEST_MINOR} and below 4"
)]
pub struct PythonVersionError {
    /// The text.
    pub text: String,
}

impl PythonVersion {
    /// Always 3.
    pub fn major(self) -> u32 {
        3
    }

    /// The second number.
    pub fn minor(self) -> u32 {
        self.minor
    }

    /// The third number, if it is given.
    pub fn micro(self) -> Option<u32> {
        self.micro
    }

    /// Whether an interpreter of this version fits.
    pub fn matches(self, major: u32, minor: u32, micro: u32) -> bool {
        major == self.major() && minor == self.minor && self.micro.is_none_or(|wanted| wanted == micro)
    }
}

impl FromStr for PythonVersion {
    type Err = PythonVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (minor, micro) = match text.strip_prefix("3.")?.split_once('.') {
                Some((minor, micro)) => (number(minor)?, Some(number(micro)?)),
                None => (number(text.strip_prefix("3.")?)?, None),
            };
            (minor >= OLDEST_MINOR).then_some(Self { minor, micro })
        };
        parse().ok_or_else(|| PythonVersionError { text: text.to_owned() })
    }
}

/// Reads digits without a leading zero, so that a version has one spelling.
fn number(digits: &str) -> Option<u32> {
    let plain =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if plain { digits.parse().ok() } else { None }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.minor)?;
        self.micro.map_or(Ok(()), |micro| write!(f, ".{micro}"))
    }
}

impl fmt::Debug for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for PythonVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PythonVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(VersionVisitor)
    }
}

struct VersionVisitor;

impl Visitor<'_> for VersionVisitor {
    type Value = PythonVersion;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a quoted Python version such as \"3.11\" or \"3.11.7\", at least 3.{OLDEST_MINOR} and below 4"
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<PythonVersion, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_prints_as_it_was_written() {
        for text in ["3.9", "3.11", "3.11.0", "3.11.7", "3.99"] {
            assert_eq!(text.parse::<PythonVersion>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_supported_version_is_refused() {
        for text in [
            "",
            "3",
            "3.",
            "3.8",
            "2.7",
            "4.0",
            "3.11.",
            "3.11.7.1",
            "3.011",
            "3.11rc1",
            "v3.11",
            " 3.11",
            "3.+11",
            "3.99999999999",
        ] {
            let error = text.parse::<PythonVersion>().unwrap_err();
            assert!(error.to_string().contains("at least 3.9"), "{error}");
        }
    }

    #[test]
    fn a_version_without_a_patch_matches_every_patch() {
        let any: PythonVersion = "3.11".parse().unwrap();
        assert!(any.matches(3, 11, 0) && any.matches(3, 11, 9));
        assert!(!any.matches(3, 1, 1) && !any.matches(3, 12, 0) && !any.matches(4, 11, 0));
        let one: PythonVersion = "3.11.7".parse().unwrap();
        assert!(one.matches(3, 11, 7) && !one.matches(3, 11, 8));
    }

    #[test]
    fn an_unquoted_version_is_refused_because_3_10_would_be_3_1() {
        let error = serde_json::from_str::<PythonVersion>("3.10").unwrap_err().to_string();
        assert!(error.contains("expected a quoted Python version"), "{error}");
    }
}
