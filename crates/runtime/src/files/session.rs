//! The files of a session between its steps.

use std::io;

use belljar_core::{FileContent, GuestPath, InputFile};
use belljar_engine::{Cell, Entry, EntryKind, Files};
use bytes::{Bytes, BytesMut};

use super::{FilesError, MOST_ENTRIES, put};
use crate::RuntimeError;
use crate::session::HeldCell;

/// Files of a session. No step can be under way.
pub struct SessionFiles<'a> {
    cell: &'a HeldCell,
}

/// A file or a directory in a session's workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileEntry {
    /// Its path below the workspace. The script chose it: it may have any characters, and bytes
    /// that are not UTF-8 are replaced by U+FFFD.
    pub path: String,
    /// How long it is, in bytes. 0 for what is no regular file.
    pub size: u64,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether [`SessionFiles::read`] can read it: a regular file with a name that is UTF-8.
    pub is_readable: bool,
}

impl<'a> SessionFiles<'a> {
    pub(crate) fn new(cell: &'a HeldCell) -> Self {
        Self { cell }
    }

    /// Puts a file into the workspace: text, bytes, or the path of a file or directory of this
    /// machine. It takes the place of a file of that name.
    pub async fn put(&self, path: &str, content: impl Into<FileContent>) -> Result<(), RuntimeError> {
        let file = InputFile::new(path, content);
        GuestPath::new(path).map_err(FilesError::from)?;
        self.cell.with_cell(|cell| Box::pin(async move { put(cell, &[file], None).await })).await
    }

    /// What is in the workspace, by path. At most so many names.
    pub async fn list(&self) -> Result<Vec<FileEntry>, RuntimeError> {
        let mut entries = self.cell.with_cell(|cell| Box::pin(entries(cell))).await?;
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(entries.iter().map(shown).collect())
    }

    /// Reads a file, unless it is longer than this.
    pub async fn read(&self, path: &str, most: u64) -> Result<Bytes, RuntimeError> {
        let path = GuestPath::new(path).map_err(FilesError::from)?;
        self.cell.with_cell(|cell| Box::pin(async move { read(cell, &path, most).await })).await
    }
}

async fn entries(cell: &mut dyn Cell) -> Result<Vec<Entry>, FilesError> {
    let mut files = cell.files().await.map_err(FilesError::Workspace)?;
    let listing = files.list(MOST_ENTRIES).await.map_err(FilesError::Workspace);
    files.close().await.map_err(FilesError::Workspace)?;
    Ok(listing?.entries)
}

async fn read(cell: &mut dyn Cell, path: &GuestPath, most: u64) -> Result<Bytes, FilesError> {
    let mut files = cell.files().await.map_err(FilesError::Workspace)?;
    let read = read_all(&mut *files, path, most).await;
    files.close().await.map_err(FilesError::Workspace)?;
    read
}

async fn read_all(files: &mut dyn Files, path: &GuestPath, most: u64) -> Result<Bytes, FilesError> {
    let failed = |error| FilesError::inside(path.as_str(), error);
    if files.open(path).await.map_err(failed)? > most {
        return Err(failed(io::ErrorKind::FileTooLarge.into()));
    }
    let mut bytes = BytesMut::new();
    loop {
        let piece = files.read().await.map_err(failed)?;
        if piece.is_empty() {
            return Ok(bytes.freeze());
        }
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > most {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
    }
}

fn shown(entry: &Entry) -> FileEntry {
    let is_directory = matches!(entry.kind, EntryKind::Directory | EntryKind::ClosedDirectory);
    let is_readable = entry.kind == EntryKind::File && entry.path.to_str().is_some();
    FileEntry { path: entry.path.to_string_lossy().into_owned(), size: entry.size, is_directory, is_readable }
}
