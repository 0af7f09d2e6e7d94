//! Translates an installer's errors into advice for the user.
//!
//! The wording is the installers' own and changes between releases. So a hint is only advice beside
//! the installer's own lines, and nothing decides by it.

use std::fmt;

/// The likely cause of a failed install. If several fit, the first in this order causes the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Hint {
    /// The interpreter has no pip, and there is no uv.
    PipMissing,
    /// There is no space for the layer or the downloads.
    DiskFull,
    /// The index could not be reached.
    Network,
    /// Two requirements cannot be installed together.
    Conflict,
    /// A build from source was tried and failed.
    Build,
    /// The package exists, but only as source or for other Pythons.
    NoWheel,
    /// No wheel has this name or version. pip does not say whether there is a source release.
    NoWheelOrName,
    /// There is no such name or version.
    NoMatch,
}

const PIP_NO_MATCH: &str = "No matching distribution found";

const SIGNS: &[(&str, Hint)] = &[
    ("No module named pip", Hint::PipMissing),
    ("No space left on device", Hint::DiskFull),
    ("Disk quota exceeded", Hint::DiskFull),
    ("Temporary failure in name resolution", Hint::Network),
    ("Name or service not known", Hint::Network),
    ("Failed to establish a new connection", Hint::Network),
    ("Network is unreachable", Hint::Network),
    ("Connection refused", Hint::Network),
    ("Connection timed out", Hint::Network),
    ("ConnectTimeoutError", Hint::Network),
    ("Read timed out", Hint::Network),
    ("Cannot connect to proxy", Hint::Network),
    ("dns error", Hint::Network),
    ("tcp connect error", Hint::Network),
    ("error sending request", Hint::Network),
    ("ResolutionImpossible", Hint::Conflict),
    ("have conflicting dependencies", Hint::Conflict),
    ("are incompatible", Hint::Conflict),
    ("Failed building wheel", Hint::Build),
    ("Failed to build", Hint::Build),
    ("metadata-generation-failed", Hint::Build),
    ("subprocess-exited-with-error", Hint::Build),
    ("no usable wheels", Hint::NoWheel),
    ("no wheels with a matching", Hint::NoWheel),
    ("is not a supported wheel on this platform", Hint::NoWheel),
    (PIP_NO_MATCH, Hint::NoMatch),
    ("not found in the package registry", Hint::NoMatch),
    ("not found in the provided package locations", Hint::NoMatch),
    ("there is no version of", Hint::NoMatch),
    ("there are no versions of", Hint::NoMatch),
];

impl Hint {
    /// The cause that a piece of output points at.
    pub(super) fn in_text(text: &str, wheels_only: bool) -> Option<Self> {
        // These are pip's words. uv says itself if there is a source release.
        let open = (wheels_only && text.contains(PIP_NO_MATCH)).then_some(Self::NoWheelOrName);
        let signs = SIGNS.iter().filter(|(sign, _)| text.contains(sign)).map(|(_, hint)| *hint);
        signs.chain(open).min()
    }

    /// Whether the hint is enough, because the installer's own lines would only be a traceback.
    pub(super) fn is_enough(self) -> bool {
        matches!(self, Self::DiskFull | Self::PipMissing)
    }

    /// Whether the machine or the network has to change, and not the request.
    pub(super) fn blames_the_machine(self) -> bool {
        matches!(self, Self::DiskFull | Self::PipMissing | Self::Network)
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PipMissing => "python -m pip is missing: install python3-pip or uv",
            Self::DiskFull => {
                "the disk is full: make room where packages are kept (BELLJAR_CACHE, or ~/.cache/belljar) and for temporary files (TMPDIR)"
            }
            Self::Network => {
                "the package index could not be reached: check the network and the proxy and index settings \
                 (HTTPS_PROXY, PIP_INDEX_URL, UV_INDEX_URL)"
            }
            Self::Conflict => "the requirements contradict each other",
            Self::Build => "building from source failed: a compiler or a header is probably missing on the host",
            Self::NoWheel => "no wheel for this Python; set allow_source_builds = true to build from source",
            Self::NoWheelOrName => {
                "no wheel of that name and version for this Python: check both, or, if it is published only as source, \
                 set allow_source_builds = true"
            }
            Self::NoMatch => "no matching distribution: check the name and the version",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_cause_wins_over_what_follows_from_it() {
        let lines = [
            "WARNING: Retrying after connection broken by NewConnectionError: Failed to establish a new connection",
            "ERROR: Could not find a version that satisfies the requirement six (from versions: none)",
            "ERROR: No matching distribution found for six",
        ];
        let hint = lines.iter().filter_map(|line| Hint::in_text(line, true)).min();
        assert_eq!(hint, Some(Hint::Network));
    }

    #[test]
    fn pip_leaves_open_whether_there_is_source_only_when_wheels_alone_were_asked_for() {
        let line = "ERROR: No matching distribution found for x";
        assert_eq!(Hint::in_text(line, true), Some(Hint::NoWheelOrName));
        assert_eq!(Hint::in_text(line, false), Some(Hint::NoMatch));
    }
}
