//! The rule that prefers one Python over another. Pure, so that the order can be read and tested
//! without a machine.

use belljar_core::config::PythonVersion;

use super::interpreter::{Interpreter, OLDEST, Version};

/// The version that most wheels and most generated code are made for.
const FAVOURITE: u8 = 11;

/// How far a minor version is from the favourite. Less is better. Of two at the same distance, the
/// newer comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    distance: u8,
    older: bool,
}

impl Rank {
    pub(super) const BEST: Self = Self { distance: 0, older: false };

    pub(super) fn of_minor(minor: u8) -> Self {
        Self { distance: minor.abs_diff(FAVOURITE), older: minor < FAVOURITE }
    }

    pub(super) fn of(interpreter: &Interpreter) -> Self {
        Self::of_minor(interpreter.version.1)
    }
}

pub(super) fn is_supported((major, minor, _): Version) -> bool {
    major == OLDEST.0 && minor >= OLDEST.1
}

pub(super) fn matches(wanted: &PythonVersion, (major, minor, micro): Version) -> bool {
    wanted.matches(major.into(), minor.into(), micro.into())
}

/// Whether a file named `python3.<minor>` can be the wanted version.
pub(super) fn may_match(wanted: &PythonVersion, minor: u8) -> bool {
    wanted.minor() == u32::from(minor)
}

/// The newest of those that match. Among equals it is the first.
pub(super) fn newest<'a>(wanted: &PythonVersion, found: &'a [Interpreter]) -> Option<&'a Interpreter> {
    let matching = found.iter().filter(|interpreter| matches(wanted, interpreter.version));
    matching.reduce(|best, next| if next.version > best.version { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_an_image_have_the_same_version_when_nobody_asks_for_one() {
        assert_eq!(crate::guest::PYTHON.provision.version, format!("3.{FAVOURITE}"));
    }

    #[test]
    fn three_eleven_comes_first_then_the_nearest_and_the_newer_of_two() {
        let mut minors: Vec<u8> = (9..=15).collect();
        minors.sort_by_key(|minor| Rank::of_minor(*minor));
        assert_eq!(minors, [11, 12, 10, 13, 9, 14, 15]);
        assert_eq!(Rank::of_minor(11), Rank::BEST);
    }

    #[test]
    fn nothing_before_three_nine_is_supported() {
        for (version, supported) in
            [((3, 8, 18), false), ((3, 9, 0), true), ((3, 14, 1), true), ((2, 7, 18), false)]
        {
            assert_eq!(is_supported(version), supported, "{version:?}");
        }
    }
}
