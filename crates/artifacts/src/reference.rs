//! References: `name`, or `name@version`.

use std::fmt;

use crate::ArtifactError;

/// An artifact that somebody wrote down: a name, and perhaps a version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArtifactRef {
    /// The name.
    pub name: String,
    /// The version. Without one the latest is meant.
    pub version: Option<u64>,
}

impl fmt::Display for ArtifactRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "{}@{version}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Reads a reference. Only decimal digits after the last `@` are a version. Anything else after it
/// is part of the name, because names may have an `@`.
pub fn parse_artifact_ref(reference: &str) -> Result<ArtifactRef, ArtifactError> {
    let whole = || ArtifactRef { name: reference.to_owned(), version: None };
    let Some((name, digits)) = reference.rsplit_once('@') else { return Ok(whole()) };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(whole());
    }
    if name.is_empty() {
        return Err(ArtifactError::InvalidRef { reference: reference.to_owned() });
    }
    // Nothing but digits can only be too large.
    let Ok(version) = digits.parse() else {
        return Err(ArtifactError::RefVersionTooLarge { reference: reference.to_owned() });
    };
    Ok(ArtifactRef { name: name.to_owned(), version: Some(version) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_digits_after_the_last_at_sign_are_a_version() {
        for (reference, name, version) in [
            ("item@123", "item", Some(123)),
            ("plain", "plain", None),
            ("tail@", "tail@", None),
            ("bad@v1", "bad@v1", None),
            ("a@b@c", "a@b@c", None),
            ("a@b@123", "a@b", Some(123)),
            ("zeros@007", "zeros", Some(7)),
            ("sign@+1", "sign@+1", None),
            ("arabic@٣", "arabic@٣", None),
            ("dir/a.txt@0", "dir/a.txt", Some(0)),
            ("@", "@", None),
            ("", "", None),
        ] {
            let parsed = parse_artifact_ref(reference).unwrap();
            assert_eq!((parsed.name.as_str(), parsed.version), (name, version), "{reference}");
        }
    }

    #[test]
    fn a_version_of_nothing_is_refused() {
        assert_eq!(parse_artifact_ref("@123").unwrap_err().to_string(), "invalid artifact ref: @123");
    }

    #[test]
    fn a_version_that_does_not_fit_is_refused_and_not_wrapped() {
        assert_eq!(parse_artifact_ref("a@18446744073709551615").unwrap().version, Some(u64::MAX));
        let error = parse_artifact_ref("a@18446744073709551616").unwrap_err();
        assert!(matches!(error, ArtifactError::RefVersionTooLarge { .. }), "{error}");
        assert!(parse_artifact_ref(&format!("a@{}", "9".repeat(10_000))).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(name in ".+", version in any::<u64>()) {
            let written = ArtifactRef { name, version: Some(version) };
            prop_assert_eq!(parse_artifact_ref(&written.to_string()).unwrap(), written);
        }

        #[test]
        fn no_text_makes_it_panic_and_none_is_lost(text in ".*@?[0-9]{0,30}") {
            if let Ok(parsed) = parse_artifact_ref(&text) {
                prop_assert!(text.starts_with(&parsed.name));
                prop_assert!(parsed.version.is_some() || parsed.name == text);
            }
        }
    }
}
