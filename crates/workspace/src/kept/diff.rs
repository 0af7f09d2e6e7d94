//! What differs between two workspaces.

use std::collections::BTreeMap;
use std::io::{self, Read};

use belljar_engine::kept::KeptWorkspace;
use belljar_engine::{EntryKind, Tree};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::layout::{METADATA, RUNS};

/// How one path differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Only the second has it.
    Added,
    /// Only the first has it.
    Removed,
    /// Both have it, with other content, permissions or of another kind.
    Changed,
}

/// A path that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Below the workspaces.
    pub path: String,
    /// How.
    pub change: Change,
    /// Its size in the first, if that is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_before: Option<u64>,
    /// Its size in the second, if that is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_after: Option<u64>,
}

/// What is known of a path without reading it.
#[derive(PartialEq, Eq)]
struct Face {
    kind: EntryKind,
    mode: u32,
    size: u64,
}

fn faces(tree: &Tree) -> io::Result<BTreeMap<Vec<u8>, Face>> {
    use std::os::unix::ffi::OsStrExt;
    let mut faces = BTreeMap::new();
    tree.visit(&mut |_| true, &mut |found| {
        let path = found.path.as_bytes();
        // Records of what was done are not what was done.
        if path != METADATA.as_bytes() && !path.starts_with(RUNS.as_bytes()) {
            let face = Face { kind: found.kind, mode: found.mode, size: found.size };
            faces.insert(path.to_vec(), face);
        }
        Ok(())
    })?;
    Ok(faces)
}

/// What differs, by path. The record of a workspace and its run directories do not count.
pub(super) fn between(one: &KeptWorkspace, other: &KeptWorkspace) -> io::Result<Vec<Difference>> {
    let (before, after) = (one.with_blocking(faces)?, other.with_blocking(faces)?);
    let mut differences = Vec::new();
    let paths: std::collections::BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
    for path in paths {
        let change = match (before.get(path), after.get(path)) {
            (Some(_), None) => Change::Removed,
            (None, Some(_)) => Change::Added,
            (Some(a), Some(b)) if a == b => {
                let text = String::from_utf8_lossy(path);
                let is_same = match a.kind {
                    EntryKind::File => digest(one, &text)? == digest(other, &text)?,
                    EntryKind::Link => target(one, path)? == target(other, path)?,
                    _ => true,
                };
                if is_same {
                    continue;
                }
                Change::Changed
            }
            _ => Change::Changed,
        };
        let size = |faces: &BTreeMap<Vec<u8>, Face>| {
            faces.get(path).filter(|face| face.kind == EntryKind::File).map(|face| face.size)
        };
        differences.push(Difference {
            path: String::from_utf8_lossy(path).into_owned(),
            change,
            size_before: size(&before),
            size_after: size(&after),
        });
    }
    Ok(differences)
}

/// `None` for a file that cannot be read, which is then like no other.
fn digest(kept: &KeptWorkspace, path: &str) -> io::Result<Option<[u8; 32]>> {
    let Ok(path) = belljar_core::GuestPath::new(path) else { return Ok(None) };
    kept.with_blocking(|tree| {
        let Ok((mut file, _)) = tree.open(&path) else { return Ok(None) };
        let (mut hash, mut piece) = (Sha256::new(), vec![0; 256 << 10]);
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(Some(hash.finalize().into())),
                read => hash.update(&piece[..read]),
            }
        }
    })
}

fn target(kept: &KeptWorkspace, path: &[u8]) -> io::Result<Option<std::ffi::OsString>> {
    use std::os::unix::ffi::OsStrExt;
    let mut target = None;
    kept.with_blocking(|tree| {
        tree.visit(&mut |directory| path.starts_with(directory.as_bytes()), &mut |found| {
            if found.path.as_bytes() == path && found.kind == EntryKind::Link {
                target = found.target().ok();
            }
            Ok(())
        })
    })?;
    Ok(target)
}
