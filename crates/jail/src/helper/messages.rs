//! What the host and the helper say to each other.
//!
//! ```text
//!  host                                    helper
//!        ◄────────────────────────── hello
//!  jail  + its own pidfd, the spec, … ──►   ◄── {"type":"jailed", …} + the zygote's pidfd
//!                                           ◄── {"type":"failed", …}
//!  an id and, if it has a kept workspace,
//!  its name, on a socket of its own ────►   ◄── that id + a mount for each place that is lent
//!  probe + its own pidfd ───────────────►   ◄── a probe's answer
//!  hold  + its own pidfd ───────────────►   (nothing: it is there until the host is gone)
//! ```
//!
//! Specs and answers are bytes in the crate's own encoding, so that the helper needs no other crate
//! and paths stay what they are. The two messages in JSON are also understood by whoever waits for
//! the zygote, which speaks JSON.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::encoding::{Reader, bytes, list, number};
use crate::spec::{Expected, FileIdentity, Identity, JailSpec, LentPlace, RootEntry};

/// The helper's first message. It comes before everything else.
pub(crate) const HELLO: &[u8] = b"belljar-jail-helper";
/// Asks for a jail. The spec comes as a file, because it may be long.
pub(crate) const ASK_JAIL: &[u8] = b"jail";
/// Asks what this kernel lets us do.
pub(crate) const ASK_PROBE: &[u8] = b"probe";
/// Asks to be there, and nothing else, as long as the host is.
pub(crate) const ASK_HOLD: &[u8] = b"hold";
/// Asks who holds something whether it is there. The answer is [`HELLO`].
pub(crate) const ASK_PRESENCE: &[u8] = b"there?";

/// The message that the jail is being built. A handle on the zygote goes with it. `limits` are
/// sentences about limits of the host that its cells cannot get rid of. `foreign` are the numbers
/// of lent places whose owner no cell can be.
pub(crate) fn jailed(limits: &[String], foreign: &[usize]) -> String {
    let limits: Vec<String> = limits.iter().map(|limit| json(limit)).collect();
    format!(r#"{{"type":"jailed","limits":[{}],"foreign":{foreign:?}}}"#, limits.join(","))
}

/// The message that a step of the set-up failed.
pub(crate) fn failed(step: &str, error: &str, errno: Option<i32>) -> String {
    let errno = errno.map_or("null".into(), |errno| errno.to_string());
    format!(r#"{{"type":"failed","step":{},"error":{},"errno":{errno}}}"#, json(step), json(error))
}

/// A string in JSON.
fn json(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// The outcome of one trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrialResult {
    /// The name of the protection.
    pub(crate) name: String,
    /// The kernel's answer, if it refused.
    pub(crate) refused: Option<String>,
    /// The error number. It decides the remedy.
    pub(crate) errno: Option<i32>,
}

/// The complete answer to a probe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProbeAnswer {
    /// One entry per trial.
    pub(crate) trials: Vec<TrialResult>,
    /// The Landlock version, or 0 if there is none.
    pub(crate) landlock: u32,
}

impl ProbeAnswer {
    /// The longest answer there is, with room to spare.
    pub(crate) const LONGEST: usize = 16 * 1024;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        list(&mut out, &self.trials, |out, trial| {
            bytes(out, &trial.name);
            list(out, trial.refused.as_slice(), |out, reason| bytes(out, reason));
            list(out, trial.errno.as_slice(), |out, errno| number(out, u64::from(errno.cast_unsigned())));
        });
        number(&mut out, u64::from(self.landlock));
        out
    }

    pub(crate) fn decode(encoded: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(encoded);
        let answer = Self {
            trials: reader.list(|reader| {
                Some(TrialResult {
                    name: reader.text()?,
                    refused: reader.list(Reader::text)?.pop(),
                    errno: reader.list(small)?.pop().map(u32::cast_signed),
                })
            })?,
            landlock: small(&mut reader)?,
        };
        reader.is_at_the_end().then_some(answer)
    }
}

impl JailSpec {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let (first, count) = match self.identity {
            Identity::Single => (0, 0),
            Identity::Range { first, count } => (first, count),
        };
        number(&mut out, u64::from(self.identity != Identity::Single));
        number(&mut out, u64::from(first));
        number(&mut out, u64::from(count));
        bytes(&mut out, &self.hostname);
        list(&mut out, &self.root, encode_entry);
        for places in [self.lent.as_slice(), self.store.as_slice()] {
            list(&mut out, places, |out, place| {
                path(out, &place.source);
                encode_identity(out, place.identity);
            });
        }
        list(&mut out, &self.command, |out, word| bytes(out, word));
        list(&mut out, &self.env, |out, (name, value)| {
            bytes(out, name);
            bytes(out, value);
        });
        list(&mut out, &self.programs, |out, program| bytes(out, program));
        out
    }

    pub(crate) fn decode(encoded: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(encoded);
        let identity = match (reader.number()?, small(&mut reader)?, small(&mut reader)?) {
            (0, 0, 0) => Identity::Single,
            (1, first, count) => Identity::Range { first, count },
            _ => return None,
        };
        let spec = Self {
            identity,
            hostname: reader.text()?,
            root: reader.list(decode_entry)?,
            lent: reader.list(decode_place)?,
            store: reader.list(decode_place)?.pop(),
            command: reader.list(Reader::text)?,
            env: reader.list(|reader| Some((reader.text()?, reader.text()?)))?,
            programs: reader.list(|reader| Some(reader.bytes()?.to_vec()))?,
        };
        reader.is_at_the_end().then_some(spec)
    }
}

fn decode_place(reader: &mut Reader<'_>) -> Option<LentPlace> {
    Some(LentPlace { source: read_path(reader)?, identity: decode_identity(reader)? })
}

/// Each kind of entry begins with its number.
fn encode_entry(out: &mut Vec<u8>, entry: &RootEntry) {
    match entry {
        RootEntry::Directory { path: at } => {
            number(out, 0);
            path(out, at);
        }
        RootEntry::File { path: at, contents } => {
            number(out, 1);
            path(out, at);
            bytes(out, contents);
        }
        RootEntry::Symlink { path: at, target } => {
            number(out, 2);
            path(out, at);
            path(out, target);
        }
        RootEntry::Bind { source, target, writable, expected } => {
            number(out, 3);
            path(out, source);
            path(out, target);
            number(out, u64::from(*writable));
            let identity = match expected {
                Expected::Anything => None,
                Expected::File(identity) => Some(identity),
            };
            list(out, identity.as_slice(), |out, identity| encode_identity(out, **identity));
        }
        RootEntry::Device { path: at } => {
            number(out, 4);
            path(out, at);
        }
        RootEntry::Proc { path: at } => {
            number(out, 5);
            path(out, at);
        }
        RootEntry::Scratch { path: at } => {
            number(out, 6);
            path(out, at);
        }
    }
}

fn decode_entry(reader: &mut Reader<'_>) -> Option<RootEntry> {
    Some(match reader.number()? {
        0 => RootEntry::Directory { path: read_path(reader)? },
        1 => RootEntry::File { path: read_path(reader)?, contents: reader.text()? },
        2 => RootEntry::Symlink { path: read_path(reader)?, target: read_path(reader)? },
        3 => RootEntry::Bind {
            source: read_path(reader)?,
            target: read_path(reader)?,
            writable: match reader.number()? {
                0 => false,
                1 => true,
                _ => return None,
            },
            expected: reader.list(decode_identity)?.pop().map_or(Expected::Anything, Expected::File),
        },
        4 => RootEntry::Device { path: read_path(reader)? },
        5 => RootEntry::Proc { path: read_path(reader)? },
        6 => RootEntry::Scratch { path: read_path(reader)? },
        _ => return None,
    })
}

fn encode_identity(out: &mut Vec<u8>, identity: FileIdentity) {
    number(out, identity.device);
    number(out, identity.inode);
}

fn decode_identity(reader: &mut Reader<'_>) -> Option<FileIdentity> {
    Some(FileIdentity { device: reader.number()?, inode: reader.number()? })
}

/// A path may be any bytes.
fn path(out: &mut Vec<u8>, path: &Path) {
    bytes(out, path.as_os_str().as_bytes());
}

fn read_path(reader: &mut Reader<'_>) -> Option<PathBuf> {
    Some(OsString::from_vec(reader.bytes()?.to_vec()).into())
}

fn small(reader: &mut Reader<'_>) -> Option<u32> {
    u32::try_from(reader.number()?).ok()
}

#[cfg(all(test, not(belljar_helper)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_path() -> impl Strategy<Value = PathBuf> {
        prop::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| OsString::from_vec(bytes).into())
    }

    fn any_entry() -> impl Strategy<Value = RootEntry> {
        let expected = prop::option::of(any::<(u64, u64)>()).prop_map(|identity| match identity {
            None => Expected::Anything,
            Some((device, inode)) => Expected::File(FileIdentity { device, inode }),
        });
        prop_oneof![
            any_path().prop_map(|path| RootEntry::Directory { path }),
            (any_path(), ".{0,20}").prop_map(|(path, contents)| RootEntry::File { path, contents }),
            (any_path(), any_path()).prop_map(|(path, target)| RootEntry::Symlink { path, target }),
            (any_path(), any_path(), any::<bool>(), expected).prop_map(
                |(source, target, writable, expected)| RootEntry::Bind { source, target, writable, expected }
            ),
            any_path().prop_map(|path| RootEntry::Device { path }),
            any_path().prop_map(|path| RootEntry::Proc { path }),
            any_path().prop_map(|path| RootEntry::Scratch { path }),
        ]
    }

    proptest! {
        #[test]
        fn a_spec_survives_the_trip(
            range in prop::option::of(any::<(u32, u32)>()),
            hostname in ".{0,12}",
            root in prop::collection::vec(any_entry(), 0..8),
            lent in prop::collection::vec((any_path(), any::<(u64, u64)>()), 0..4),
            command in prop::collection::vec(".{0,12}", 0..5),
            env in prop::collection::vec((".{0,12}", ".{0,12}"), 0..5),
            programs in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..3),
        ) {
            let identity = range.map_or(Identity::Single, |(first, count)| Identity::Range { first, count });
            let lent = lent.into_iter().map(|(source, (device, inode))| {
                LentPlace { source, identity: FileIdentity { device, inode } }
            });
            let mut lent: Vec<_> = lent.collect();
            let store = lent.pop();
            let spec = JailSpec { identity, hostname, root, lent, store, command, env, programs };
            let encoded = spec.encode();
            prop_assert_eq!(JailSpec::decode(&encoded), Some(spec));
            prop_assert_eq!(JailSpec::decode(&encoded[..encoded.len() - 1]), None);
            prop_assert_eq!(JailSpec::decode(&[encoded, vec![0]].concat()), None);
        }

        #[test]
        fn an_answer_survives_the_trip(
            trials in prop::collection::vec((".{0,12}", prop::option::of(".{0,12}"), any::<Option<i32>>()), 0..12),
            landlock in any::<u32>(),
        ) {
            let trials = trials.into_iter().map(|(name, refused, errno)| TrialResult { name, refused, errno });
            let answer = ProbeAnswer { trials: trials.collect(), landlock };
            prop_assert_eq!(ProbeAnswer::decode(&answer.encode()), Some(answer));
        }

        #[test]
        fn any_failure_can_be_read_as_json(step in any::<String>(), error in any::<String>(), errno in any::<Option<i32>>()) {
            let told: serde_json::Value = serde_json::from_str(&failed(&step, &error, errno)).unwrap();
            let expected = serde_json::json!({ "type": "failed", "step": step, "error": error, "errno": errno });
            prop_assert_eq!(told, expected);
        }

        #[test]
        fn any_limits_can_be_read_as_json(limits in prop::collection::vec(any::<String>(), 0..3), foreign in prop::collection::vec(any::<usize>(), 0..3)) {
            let told: serde_json::Value = serde_json::from_str(&jailed(&limits, &foreign)).unwrap();
            prop_assert_eq!(told, serde_json::json!({ "type": "jailed", "limits": limits, "foreign": foreign }));
        }

        #[test]
        fn other_bytes_are_no_spec_and_no_harm(noise in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = JailSpec::decode(&noise);
            let _ = ProbeAnswer::decode(&noise);
        }
    }
}
