//! Files out of a workspace, by patterns.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use belljar_core::GuestPath;
use belljar_engine::{EntryKind, Found, Tree};

use super::Inner;
use crate::metadata::is_metadata_temporary;
use crate::{File, GlobSet, Workspace, WorkspaceError, mime_type, normalize_globs};

/// How much of a file is read.
const MOST: u64 = 4 << 20;
/// How much is read altogether. What comes after that has no content.
const MOST_TOGETHER: u64 = 256 << 20;

impl Inner {
    pub(super) async fn collect_files(
        &self,
        ws: &Workspace,
        patterns: &[String],
    ) -> Result<Vec<File>, WorkspaceError> {
        let Some(globs) = globs(patterns)? else { return Ok(Vec::new()) };
        let kept = self.kept(ws)?;
        let read = kept.with(move |tree| {
            let (mut files, mut room) = (Vec::new(), MOST_TOGETHER);
            each_match(tree, &globs, &mut |name, size, file| {
                let mut content = Vec::new();
                file.take(MOST.min(room)).read_to_end(&mut content)?;
                room -= content.len() as u64;
                let name = name.to_string_lossy().into_owned();
                let mime_type = mime_type(&name, &content);
                let truncated = size > content.len() as u64;
                files.push(File { name, content, mime_type, size_bytes: size, truncated });
                Ok(true)
            })?;
            Ok(files)
        });
        read.await.map_err(WorkspaceError::io("collect from", &ws.path))
    }
}

/// The patterns as they are meant. `None` if there are none.
pub(super) fn globs(patterns: &[String]) -> Result<Option<GlobSet>, WorkspaceError> {
    // What leads out of the workspace matches nothing in it.
    let leaves = |pattern: &String| pattern.starts_with('/') || pattern.split('/').any(|part| part == "..");
    let patterns: Vec<String> =
        normalize_globs(patterns).into_iter().filter(|pattern| !leaves(pattern)).collect();
    match patterns.is_empty() {
        true => Ok(None),
        false => GlobSet::new(&patterns).map(Some),
    }
}

/// Takes a file that matches. Says whether to go on.
pub(super) type Take<'a> = dyn FnMut(&OsStr, u64, std::fs::File) -> io::Result<bool> + 'a;

/// Opens every regular file that matches, once, in the order of their names. A link that matches
/// stands for the file that it leads to, if that is in the workspace too.
pub(super) fn each_match(tree: &Tree, globs: &GlobSet, take: &mut Take<'_>) -> io::Result<()> {
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut links: Vec<PathBuf> = Vec::new();
    let mut goes_on = true;
    tree.visit(&mut |directory| globs.may_be_below(directory.as_bytes()), &mut |found| {
        if !goes_on || is_hidden(found) || !globs.matches(found.path.as_bytes()) {
            return Ok(());
        }
        match found.kind {
            EntryKind::File => {
                // It may be gone by now, or closed to us.
                let Ok(file) = found.open() else { return Ok(()) };
                seen.insert(found.path.as_bytes().to_vec());
                goes_on = take(found.path, found.size, file)?;
            }
            EntryKind::Link => {
                let target = found.target().ok();
                links.extend(target.and_then(|target| resolved(Path::new(found.path), Path::new(&target))));
            }
            _ => {}
        }
        Ok(())
    })?;
    for target in links {
        let Some(path) = target.to_str().and_then(|text| GuestPath::new(text).ok()) else { continue };
        if !goes_on || !seen.insert(path.as_str().as_bytes().to_vec()) {
            continue;
        }
        // Broken ones lead nowhere, and others through a link once more. Neither is followed.
        let Ok((file, size)) = tree.open(&path) else { continue };
        goes_on = take(OsStr::new(path.as_str()), size, file)?;
    }
    Ok(())
}

/// Files of ours that are being written.
fn is_hidden(found: &Found<'_>) -> bool {
    let name = found.path.as_bytes();
    is_metadata_temporary(name) || Path::new(found.path).file_name().is_some_and(is_being_written)
}

fn is_being_written(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".belljar-") && name.as_bytes().ends_with(b".tmp")
}

/// Where a link leads, if that is in the workspace by its text.
fn resolved(link: &Path, target: &Path) -> Option<PathBuf> {
    let mut path = link.parent()?.to_owned();
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return None,
            Component::CurDir => {}
            Component::ParentDir => path.pop().then_some(())?,
            Component::Normal(name) => path.push(name),
        }
    }
    Some(path)
}
