//! Files of a workspace, written to this machine.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use belljar::config::GuestPath;
use belljar::engine::{Entry, EntryKind, Files, make_directory};
use belljar::workspace::OpenWorkspace;

use crate::error::CliError;

/// How many files and directories a workspace may have that is copied out.
pub(crate) const MOST_ENTRIES: usize = 1_000_000;

/// A file or a directory of a workspace, and where it goes below a directory of this machine.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(crate) from: GuestPath,
    pub(crate) to: GuestPath,
    pub(crate) is_directory: bool,
    pub(crate) is_executable: bool,
}

/// Everything in a workspace.
pub(crate) async fn list(files: &mut dyn Files) -> Result<Vec<Entry>, CliError> {
    let listing = files.list(MOST_ENTRIES).await.context("cannot look through the workspace")?;
    match listing.is_whole {
        true => Ok(listing.entries),
        false => Err(anyhow!("it has more than {MOST_ENTRIES} files; name a part of it").into()),
    }
}

/// The path of an entry, if this machine can be given it.
pub(crate) fn path_of(entry: &Entry) -> Option<GuestPath> {
    GuestPath::new(entry.path.to_str()?).ok()
}

/// What is below a directory of a workspace, as it is saved below `to`. `None` is the workspace
/// itself. Also what is left out: links, devices, and names that are not text.
pub(crate) fn below(
    entries: &[Entry],
    directory: Option<&GuestPath>,
    to: Option<&str>,
) -> (Vec<Saved>, Vec<String>) {
    let (mut saved, mut left) = (Vec::new(), Vec::new());
    for entry in entries {
        let rest = match directory {
            Some(directory) => match Path::new(&entry.path).strip_prefix(directory.as_str()) {
                Ok(rest) => rest.as_os_str(),
                Err(_) => continue,
            },
            None => &entry.path,
        };
        let name = [to.map(OsStr::new), Some(rest).filter(|rest| !rest.is_empty())];
        let name: PathBuf = name.into_iter().flatten().collect();
        if name.as_os_str().is_empty() {
            continue;
        }
        let place = name.to_str().and_then(|name| GuestPath::new(name).ok());
        match (entry.kind, path_of(entry), place) {
            (EntryKind::File | EntryKind::Directory, Some(from), Some(to)) => saved.push(Saved {
                from,
                to,
                is_directory: entry.kind == EntryKind::Directory,
                is_executable: entry.is_executable,
            }),
            (kind, ..) => {
                let what = match kind {
                    EntryKind::Link => "it is a link",
                    EntryKind::ClosedDirectory => "it cannot be looked into",
                    EntryKind::Other => "it is no file",
                    _ => "its name is not text",
                };
                left.push(format!("{} is left out: {what}", entry.path.to_string_lossy()));
            }
        }
    }
    (saved, left)
}

/// Writes files below a directory. If one of them is there already, nothing is written, unless that
/// is wanted. Returns the paths of the files.
pub(crate) async fn save(
    workspace: &OpenWorkspace,
    directory: &Path,
    all: &[Saved],
    is_forced: bool,
) -> Result<Vec<PathBuf>, CliError> {
    for saved in all {
        let place = directory.join(saved.to.as_str());
        match fs::symlink_metadata(&place) {
            Ok(found) if saved.is_directory && found.is_dir() => {}
            Ok(found) if saved.is_directory || !is_forced || !may_be_replaced(&found) => {
                return Err(in_the_way(&place));
            }
            _ => {}
        }
    }
    let mut to = make_directory(directory).with_context(|| directory.display().to_string())?;
    let mut written = Vec::new();
    for saved in all {
        let place = directory.join(saved.to.as_str());
        if saved.is_directory {
            to.make_directory(&saved.to).await.with_context(|| place.display().to_string())?;
            continue;
        }
        if let Some((above, _)) = saved.to.as_str().rsplit_once('/') {
            let above = GuestPath::new(above).map_err(anyhow::Error::from)?;
            to.make_directory(&above).await.with_context(|| place.display().to_string())?;
        }
        let mode = if saved.is_executable { 0o755 } else { 0o644 };
        workspace.save_file(&saved.from, directory, &saved.to, mode).await?;
        written.push(place);
    }
    Ok(written)
}

/// Whether something is what users mean by `--force`. A device is not, nor is a FIFO: others know
/// them by their names.
pub(crate) fn may_be_replaced(found: &fs::Metadata) -> bool {
    found.is_file() || found.is_symlink()
}

pub(crate) fn in_the_way(place: &Path) -> CliError {
    let is_ordinary = fs::symlink_metadata(place).is_ok_and(|found| may_be_replaced(&found));
    let place = place.display();
    match is_ordinary {
        true => anyhow!("{place} is there already; replace it with --force, or choose another place").into(),
        false => anyhow!("{place} is there already, and is no file; choose another place").into(),
    }
}
