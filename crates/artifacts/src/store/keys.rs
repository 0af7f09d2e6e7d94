//! Which object an artifact is, for any strings that a caller comes up with.
//!
//! ```text
//!  <prefix>/records/<app>/<user>/session/<session>/<name>/<sequence>    a version, or a deletion
//!  <prefix>/records/<app>/<user>/user/<name>/<sequence>                 …of a name with `user:`
//!  <prefix>/data/…the same…/<name>/<id>                                 bytes
//!  <prefix>/pending/<id>                                                a save that goes on
//! ```
//!
//! Each string becomes one part of a path. Letters, digits, `-`, `_` and `.` (but not in front)
//! stay as they are. Every other byte becomes `=` and two hexadecimal digits, and the empty string
//! becomes `=`. So no part is `.` or `..`, none has a slash, and no two strings share one. A string
//! too long for a file name is known by its SHA-256, after `=h`, which nothing else starts with.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use object_store::path::Path;
use sha2::{Digest, Sha256};

use crate::SessionInfo;

/// Names that start with this belong to the user.
const OF_THE_USER: &str = "user:";
/// Longer parts are hashed. Four of them fit in a key of S3 (1024 bytes), with room for a prefix.
const LONGEST: usize = 160;

/// The objects of one artifact.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// Holds its records.
    pub(super) records: Path,
    data: Path,
}

impl Keys {
    pub(super) fn new(prefix: &Path, session: &SessionInfo, name: &str) -> Self {
        let scope = if name.starts_with(OF_THE_USER) { Scope::User } else { Scope::Session };
        let part = encode(name);
        let below = |tree| scope.below(prefix, tree, session).join(part.as_str());
        Self { records: below("records"), data: below("data") }
    }

    /// The record with a number.
    pub(super) fn record(&self, sequence: u64) -> Path {
        self.records.clone().join(format!("{sequence:020}"))
    }

    /// Where the bytes of a save go.
    pub(super) fn data(&self, id: &str) -> Path {
        self.data.clone().join(id)
    }
}

/// Where a save that goes on is noted.
pub(super) fn pending(prefix: &Path) -> Path {
    prefix.clone().join("pending")
}

/// Directories with one directory for each name that a session sees.
pub(super) fn visible(prefix: &Path, session: &SessionInfo) -> [Path; 2] {
    [Scope::Session, Scope::User].map(|scope| scope.below(prefix, "records", session))
}

/// The number of a record, from its key.
pub(super) fn sequence(record: &Path) -> Option<u64> {
    let text = record.filename()?;
    let is_number = text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[derive(Clone, Copy)]
enum Scope {
    Session,
    User,
}

impl Scope {
    fn below(self, prefix: &Path, tree: &str, session: &SessionInfo) -> Path {
        let owner = prefix.clone().join(tree).join(encode(&session.app)).join(encode(&session.user));
        match self {
            Self::Session => owner.join("session").join(encode(&session.session)),
            Self::User => owner.join("user"),
        }
    }
}

/// Any string as one part of a path.
fn encode(text: &str) -> String {
    if text.is_empty() {
        return "=".to_owned();
    }
    let mut part = String::with_capacity(text.len());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => part.push(byte.into()),
            b'.' if at > 0 => part.push('.'),
            _ => {
                let _ = write!(part, "={byte:02X}");
            }
        }
        if part.len() > LONGEST {
            return format!("=h{}", hex(&Sha256::digest(text)));
        }
    }
    part
}

/// The string that became this part. `None` for one that was hashed, or that nothing becomes.
pub(super) fn decode(part: &str) -> Option<String> {
    if part == "=" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        if *first != b'=' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    let text = String::from_utf8(bytes).ok()?;
    (encode(&text) == part).then_some(text)
}

/// Bytes in lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An id that no other save has. Ids sort by the time they were made.
pub(super) fn unique() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:012x}-{}", now.as_millis(), belljar_core::random_hex())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn is_harmless(part: &str) -> bool {
        !part.is_empty()
            && part.len() <= LONGEST
            && !part.starts_with('.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.=".contains(&byte))
    }

    #[test]
    fn strings_that_look_alike_to_a_file_system_are_kept_apart() {
        let long = "x".repeat(100_000);
        let longer = format!("{long}y");
        let names = [
            "", ".", "..", "/", "//", "a/b", "a%2Fb", "a=2Fb", "a\\b", "%", "=", "=h", "=2E", "\0", " ", "é",
            "e\u{301}", "..=", "...", ".a", "a.", "a#1", "session", "user", &long, &longer,
        ];
        let parts: HashSet<String> = names.iter().map(|name| encode(name)).collect();
        assert_eq!(parts.len(), names.len());
        for part in parts {
            assert!(is_harmless(&part), "{part}");
        }
    }

    #[test]
    fn an_ordinary_name_stays_readable() {
        assert_eq!(encode("report-2026_10.tar.gz"), "report-2026_10.tar.gz");
        assert_eq!(encode("user:a b"), "user=3Aa=20b");
        assert_eq!(decode("=h00"), None);
        assert_eq!(decode("=2f"), None, "nothing is written with small letters");
        assert_eq!(decode("=4"), None);
    }

    #[test]
    fn a_session_named_like_a_part_of_the_layout_meets_nobody() {
        let prefix = Path::default();
        let of = |session: &str, name: &str| {
            Keys::new(&prefix, &SessionInfo::new("app", "user", session), name).records.to_string()
        };
        assert_ne!(of("user", "x"), of("user", "user:x"));
        assert_ne!(of("", "user/x"), of("user", "x"));
        assert_eq!(of("one", "user:x"), of("two", "user:x"));
        assert_ne!(of("one", "x"), of("two", "x"));
    }

    #[test]
    fn the_longest_key_fits_into_a_bucket() {
        let long = "/".repeat(53) + "x";
        let session = SessionInfo::new(&long, &long, &long);
        let keys = Keys::new(&Path::from("p".repeat(200)), &session, &long);
        assert!(keys.data(&unique()).as_ref().len() <= 1024);
    }

    proptest! {
        #[test]
        fn a_short_string_is_read_back(text in ".{0,40}") {
            let part = encode(&text);
            prop_assert!(is_harmless(&part));
            prop_assert!(part.starts_with("=h") || decode(&part) == Some(text));
        }

        #[test]
        fn different_strings_have_different_parts(one in "[=a./%h2E]{0,6}", other in "[=a./%h2E]{0,6}") {
            prop_assert_eq!(one == other, encode(&one) == encode(&other));
        }

        #[test]
        fn no_part_makes_decoding_panic(part in "[=0-9A-Fa-fé]{0,12}") {
            if let Some(text) = decode(&part) {
                prop_assert_eq!(encode(&text), part);
            }
        }

        #[test]
        fn sessions_and_names_never_share_an_object(
            one in proptest::array::uniform4("[au:/.]{0,3}"),
            other in proptest::array::uniform4("[au:/.]{0,3}"),
        ) {
            let records = |[app, user, session, name]: &[String; 4]| {
                Keys::new(&Path::default(), &SessionInfo::new(app, user, session), name).records
            };
            prop_assert_eq!(one == other, records(&one) == records(&other));
        }
    }
}
