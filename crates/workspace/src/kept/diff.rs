//! What differs between two workspaces.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use belljar_engine::kept::KeptWorkspace;
use belljar_engine::{EntryKind, Tree};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
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
    /// Without what runs a program as somebody else: it has no effect in a workspace, and a twin
    /// has not got it.
    mode: u32,
    size: u64,
    /// Where a link leads.
    target: Option<OsString>,
}

type Faces = BTreeMap<Vec<u8>, Face>;

fn faces(tree: &Tree) -> io::Result<Faces> {
    let mut faces = BTreeMap::new();
    tree.visit_own(&mut |found| {
        let path = found.path.as_bytes();
        // Records of what was done are not what was done.
        if path != METADATA.as_bytes() && !Path::new(found.path).starts_with(RUNS) {
            let target = (found.kind == EntryKind::Link).then(|| found.target()).transpose()?;
            let face = Face { kind: found.kind, mode: found.mode & 0o777, size: found.size, target };
            faces.insert(path.to_vec(), face);
        }
        Ok(())
    })?;
    Ok(faces)
}

/// What differs, by path. The record of a workspace and its run directories do not count.
pub(super) fn between(one: &KeptWorkspace, other: &KeptWorkspace) -> io::Result<Vec<Difference>> {
    let (before, after) = (one.with_blocking(faces)?, other.with_blocking(faces)?);
    let alike: BTreeSet<&[u8]> = before
        .iter()
        .filter(|(path, face)| face.kind == EntryKind::File && after.get(*path) == Some(*face))
        .map(|(path, _)| path.as_slice())
        .collect();
    let read = |kept: &KeptWorkspace| kept.with_blocking(|tree| digests(tree, &alike));
    let (read_before, read_after) = (read(one)?, read(other)?);
    let mut differences = Vec::new();
    for path in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let change = match (before.get(path), after.get(path)) {
            (_, None) => Change::Removed,
            (None, _) => Change::Added,
            (Some(a), Some(b)) if a != b => Change::Changed,
            (Some(a), _) if a.kind != EntryKind::File => continue,
            // What cannot be read is like nothing else.
            _ => match (read_before.get(path), read_after.get(path)) {
                (Some(a), Some(b)) if a == b => continue,
                _ => Change::Changed,
            },
        };
        let size =
            |faces: &Faces| faces.get(path).filter(|face| face.kind == EntryKind::File).map(|face| face.size);
        differences.push(Difference {
            path: String::from_utf8_lossy(path).into_owned(),
            change,
            size_before: size(&before),
            size_after: size(&after),
        });
    }
    Ok(differences)
}

/// Digests of those files that can be read.
fn digests(tree: &Tree, wanted: &BTreeSet<&[u8]>) -> io::Result<BTreeMap<Vec<u8>, [u8; 32]>> {
    let mut digests = BTreeMap::new();
    tree.visit_own(&mut |found| {
        let path = found.path.as_bytes();
        if wanted.contains(path)
            && let Ok(digest) = found.open_own().and_then(|file| digest(&file))
        {
            digests.insert(path.to_vec(), digest);
        }
        Ok(())
    })?;
    Ok(digests)
}

/// A digest of what is in a file. Blocks of zeros do not count, so that a file of nothing but holes
/// takes no time, however long it is. Its length does not count either.
fn digest(file: &File) -> io::Result<[u8; 32]> {
    const BLOCK: u64 = 64 << 10;
    let (mut hash, mut block) = (Sha256::new(), vec![0; BLOCK as usize]);
    let (size, mut at) = (file.metadata()?.len(), 0);
    while at < size {
        at = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data - data % BLOCK,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(_) => at,
        };
        let mut read = 0;
        while read < block.len() {
            match file.read_at(&mut block[read..], at + read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        if block[..read].iter().any(|byte| *byte != 0) {
            hash.update(at.to_le_bytes());
            hash.update(&block[..read]);
        }
        at += BLOCK;
    }
    Ok(hash.finalize().into())
}
