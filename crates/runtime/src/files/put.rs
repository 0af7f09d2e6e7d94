//! Files that a script finds when it starts.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use belljar_core::{ExecutionRequest, FileContent, GuestPath, InputFile};
use belljar_engine::{Cell, EntryKind, Files, open_directory, real_path};
use bytes::Bytes;

use super::digest::Digest;
use super::{FilesError, MOST_ENTRIES};

/// How much is handed on at once.
const PIECE: usize = 256 << 10;

/// What a script was given, by path: the size and the digest of its content.
#[derive(Debug, Default)]
pub(crate) struct Given(HashMap<String, ([u8; 32], u64)>);

impl Given {
    /// The digest of what was given at this path, and how long that was.
    pub(super) fn at(&self, path: &str) -> Option<([u8; 32], u64)> {
        self.0.get(path).copied()
    }

    /// The script itself may be there as a file, too.
    pub(crate) fn add_script(&mut self, request: &ExecutionRequest) {
        if let Some(name) = request.file_name() {
            self.0.entry(name.to_owned()).or_insert_with(|| Digest::of(request.script.as_bytes()));
        }
    }
}

/// Puts files into a cell's workspace. What was put there is noted in `given`, if anybody wants to
/// know.
pub(crate) async fn put(
    cell: &mut dyn Cell,
    files: &[InputFile],
    given: Option<&mut Given>,
) -> Result<(), FilesError> {
    let mut workspace = cell.files().await.map_err(FilesError::Workspace)?;
    let done = put_all(&mut *workspace, files, given).await;
    workspace.close().await.map_err(FilesError::Workspace)?;
    done
}

async fn put_all(
    workspace: &mut dyn Files,
    files: &[InputFile],
    mut given: Option<&mut Given>,
) -> Result<(), FilesError> {
    for file in files {
        if let (".", FileContent::Host(host)) = (file.path.as_str(), &file.content) {
            put_from_host(workspace, None, host, given.as_deref_mut()).await?;
            continue;
        }
        let path = GuestPath::new(&file.path)?;
        match &file.content {
            FileContent::Bytes(bytes) => {
                write(workspace, &path, file.is_executable, bytes.clone()).await?;
                if let Some(given) = &mut given {
                    given.0.insert(path.to_string(), Digest::of(bytes));
                }
            }
            FileContent::Host(host) => {
                put_from_host(workspace, Some(&path), host, given.as_deref_mut()).await?;
            }
            other => {
                let reason = format!("{other:?} is not known here");
                return Err(FilesError::Unusable { path: path.as_str().into(), reason });
            }
        }
    }
    Ok(())
}

/// Writes a whole file.
pub(super) async fn write(
    workspace: &mut dyn Files,
    path: &GuestPath,
    is_executable: bool,
    mut bytes: Bytes,
) -> Result<(), FilesError> {
    let failed = |error| FilesError::inside(path.as_str(), error);
    workspace.create(path, is_executable).await.map_err(failed)?;
    while !bytes.is_empty() {
        let piece = bytes.split_to(PIECE.min(bytes.len()));
        workspace.write(piece).await.map_err(failed)?;
    }
    workspace.finish().await.map_err(failed)
}

/// A file or a directory of this machine, or what is in a directory. No link is followed that a
/// script could have made.
async fn put_from_host(
    workspace: &mut dyn Files,
    to: Option<&GuestPath>,
    host: &Path,
    mut given: Option<&mut Given>,
) -> Result<(), FilesError> {
    let failed = |error| FilesError::Host { path: host.to_owned(), error };
    let unusable = |path: PathBuf, reason: &str| FilesError::Unusable { path, reason: reason.to_owned() };
    let real = real_path(host).map_err(failed)?;
    let metadata = std::fs::metadata(&real).map_err(failed)?;
    if metadata.is_file() {
        let to = to.ok_or_else(|| {
            unusable(host.to_owned(), "`.` is for what is in a directory, and it is a file")
        })?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        let name = name.to_str().and_then(|name| GuestPath::new(name).ok());
        let name = name.ok_or_else(|| unusable(host.to_owned(), "its name is not UTF-8"))?;
        let mut place = open_directory(parent).map_err(failed)?;
        let source =
            Source { place: &mut *place, path: &name, shown: host, is_executable: is_executable(&metadata) };
        return copy(source, workspace, to, given).await;
    }
    if !metadata.is_dir() {
        return Err(unusable(host.to_owned(), "it is neither a file nor a directory"));
    }
    let mut place = open_directory(&real).map_err(failed)?;
    let listing = place.list(MOST_ENTRIES).await.map_err(failed)?;
    if !listing.is_whole {
        let reason = format!("it has more than {MOST_ENTRIES} files and directories");
        return Err(unusable(host.to_owned(), &reason));
    }
    if let Some(to) = to {
        let made = workspace.make_directory(to).await;
        made.map_err(|error| FilesError::inside(to.as_str(), error))?;
    }
    for entry in listing.entries {
        let shown = host.join(&entry.path);
        let name = entry.path.to_str().and_then(|name| GuestPath::new(name).ok());
        let name = name.ok_or_else(|| unusable(shown.clone(), "its name is not UTF-8"))?;
        let to = match to {
            Some(to) => GuestPath::new(&format!("{to}/{name}"))?,
            None => name.clone(),
        };
        match entry.kind {
            EntryKind::File => {
                let is_executable = entry.is_executable;
                let source = Source { place: &mut *place, path: &name, shown: &shown, is_executable };
                copy(source, workspace, &to, given.as_deref_mut()).await?;
            }
            EntryKind::Directory => {
                let made = workspace.make_directory(&to).await;
                made.map_err(|error| FilesError::inside(to.as_str(), error))?;
            }
            EntryKind::Link => {
                let reason = "it is a symbolic link, and what it means inside would be something else; name its target";
                return Err(unusable(shown, reason));
            }
            EntryKind::ClosedDirectory => return Err(unusable(shown, "it cannot be looked into")),
            EntryKind::Other => return Err(unusable(shown, "it is neither a file nor a directory")),
        }
    }
    Ok(())
}

fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

/// A file of this machine.
struct Source<'a> {
    place: &'a mut dyn Files,
    path: &'a GuestPath,
    /// As its user knows it.
    shown: &'a Path,
    is_executable: bool,
}

async fn copy(
    Source { place, path, shown, is_executable }: Source<'_>,
    workspace: &mut dyn Files,
    to: &GuestPath,
    given: Option<&mut Given>,
) -> Result<(), FilesError> {
    let failed = |error| FilesError::Host { path: shown.to_owned(), error };
    let refused = |error| FilesError::inside(to.as_str(), error);
    let mut digest = given.is_some().then(Digest::new);
    place.open(path).await.map_err(failed)?;
    workspace.create(to, is_executable).await.map_err(refused)?;
    loop {
        let piece = place.read().await.map_err(failed)?;
        if piece.is_empty() {
            break;
        }
        if let Some(digest) = &mut digest {
            digest.add(&piece);
        }
        workspace.write(piece).await.map_err(refused)?;
    }
    workspace.finish().await.map_err(refused)?;
    if let (Some(given), Some(digest)) = (given, digest) {
        given.0.insert(to.to_string(), digest.finish());
    }
    Ok(())
}
