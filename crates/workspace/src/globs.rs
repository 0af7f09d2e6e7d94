//! Which paths of a workspace a pattern means.
//!
//! Patterns are relative to the workspace, with `/` between segments, and match whole paths:
//!
//! | pattern | matches |
//! |---|---|
//! | `*`, `?` | any characters, one character; within a segment, dots at the beginning too |
//! | `**` | any number of segments, also none, if it is a segment of its own; otherwise like `*` |
//! | `[a-z]`, `[^a]`, `[!a]` | one character of these, or none of these |
//! | `{a,b/c}` | any of these |
//! | `\x` | the character itself |
//!
//! So `out/**` matches `out` and everything in it. A pattern that leads out of the workspace
//! matches nothing. Names need not be UTF-8: a byte that is not counts as one character, which only
//! `*`, `?` and `[^…]` match.

mod braces;
mod normalize;
mod segment;

use crate::WorkspaceError;
use segment::Segment;

pub use normalize::normalize_globs;

/// Patterns, of which one must match.
#[derive(Debug, Clone, Default)]
pub struct GlobSet {
    /// Each alternative of each pattern.
    patterns: Vec<Vec<Segment>>,
}

impl GlobSet {
    /// Reads patterns. The first that is malformed is named in the error.
    pub fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self, WorkspaceError> {
        let mut all = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let refused = |reason: String| WorkspaceError::Pattern { pattern: pattern.to_owned(), reason };
            for alternative in braces::expand(pattern).map_err(refused)? {
                all.extend(segment::read(&alternative).map_err(refused)?);
            }
        }
        Ok(Self { patterns: all })
    }

    /// Whether a path, relative to the workspace, matches.
    pub fn matches(&self, path: &[u8]) -> bool {
        let path = split(path);
        self.patterns.iter().any(|pattern| reached(pattern, &path).last() == Some(&true))
    }

    /// Whether anything below a directory could match. If not, a walk need not enter it.
    pub fn may_be_below(&self, directory: &[u8]) -> bool {
        let directory = split(directory);
        self.patterns.iter().any(|pattern| {
            let reached = reached(pattern, &directory);
            reached[..pattern.len()].contains(&true)
        })
    }
}

/// The segments of a path. The workspace itself has none.
fn split(path: &[u8]) -> Vec<&[u8]> {
    path.split(|byte| *byte == b'/').filter(|segment| !matches!(*segment, b"" | b".")).collect()
}

/// Which segments of a pattern may come next after a path, the end of the pattern being the last.
/// Each segment of the path is looked at once, so no pattern takes long.
fn reached(pattern: &[Segment], path: &[&[u8]]) -> Vec<bool> {
    let mut now = vec![false; pattern.len() + 1];
    now[0] = true;
    skip_any_depth(pattern, &mut now);
    for name in path {
        let mut next = vec![false; pattern.len() + 1];
        for (at, segment) in pattern.iter().enumerate().filter(|(at, _)| now[*at]) {
            match segment {
                Segment::AnyDepth => next[at] = true,
                Segment::Name(tokens) => next[at + 1] |= segment::matches(tokens, name),
            }
        }
        skip_any_depth(pattern, &mut next);
        now = next;
    }
    now
}

/// `**` may also stand for nothing.
fn skip_any_depth(pattern: &[Segment], reached: &mut [bool]) {
    for (at, segment) in pattern.iter().enumerate() {
        if reached[at] && matches!(segment, Segment::AnyDepth) {
            reached[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests;
