//! Files that a script leaves, as far as its caller wants them.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use belljar_core::{CollectLimits, Collected, CollectedFile, ExecutionRequest, GuestPath};
use belljar_engine::{Cell, Entry, EntryKind, Files, open_directory};
use bytes::BytesMut;
use glob::{MatchOptions, Pattern};

use super::digest::{Digest, in_hexadecimal};
use super::{FilesError, Given, MOST_ENTRIES};

/// Which files a caller wants, and where.
pub(crate) struct Wanted {
    patterns: Vec<Pattern>,
    limits: CollectLimits,
    into: Option<Directory>,
    pub(crate) given: Given,
}

/// A directory of the caller's.
struct Directory {
    path: PathBuf,
    files: Box<dyn Files>,
}

impl Directory {
    fn open(path: PathBuf) -> Result<Self, FilesError> {
        let opened = std::fs::create_dir_all(&path).and_then(|()| open_directory(&path));
        match opened {
            Ok(files) => Ok(Self { path, files }),
            Err(error) => Err(FilesError::Host { path, error }),
        }
    }
}

/// What was collected.
#[derive(Debug, Default)]
pub(crate) struct Collection {
    pub(crate) files: Vec<CollectedFile>,
    /// What was wanted and is not there, with the reason.
    pub(crate) warnings: Vec<String>,
}

impl Wanted {
    /// What a request wants, if anything. The directory is made before the script starts: if that
    /// cannot be, nobody has to wait for it.
    pub(crate) fn by(request: &ExecutionRequest) -> Result<Option<Self>, FilesError> {
        if request.collect.is_empty() {
            return Ok(None);
        }
        let patterns = request.collect.iter().filter_map(|text| Pattern::new(text).ok()).collect();
        let into = request.collect_into.clone().map(Directory::open).transpose()?;
        Ok(Some(Self { patterns, limits: request.collect_limits, into, given: Given::default() }))
    }

    /// A pattern without a slash is for names in every directory.
    fn wants(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        self.patterns.iter().any(|pattern| {
            let subject = if pattern.as_str().contains('/') { path } else { name };
            pattern.matches_with(subject, options)
        })
    }

    /// Collects from a cell. Nothing is lost if that fails: what is missing is named.
    pub(crate) async fn collect(mut self, cell: &mut dyn Cell) -> Collection {
        let mut collection = Collection::default();
        if let Err(error) = self.collect_into(cell, &mut collection).await {
            collection.warnings.push(format!("not all files could be collected: {error}"));
        }
        collection
    }

    async fn collect_into(&mut self, cell: &mut dyn Cell, collection: &mut Collection) -> io::Result<()> {
        let mut workspace = cell.files().await?;
        let done = self.collect_from(&mut *workspace, collection).await;
        workspace.close().await?;
        done
    }

    async fn collect_from(
        &mut self,
        workspace: &mut dyn Files,
        collection: &mut Collection,
    ) -> io::Result<()> {
        let mut listing = workspace.list(MOST_ENTRIES).await?;
        listing.entries.sort_by(|one, other| one.path.cmp(&other.path));
        let mut left_out = LeftOut::default();
        if !listing.is_whole {
            left_out.more(format!("whatever comes after the first {MOST_ENTRIES} names"));
        }
        let mut room = self.limits;
        for entry in &listing.entries {
            let path = match self.path_of(entry) {
                Ok(Some(path)) => path,
                Ok(None) => continue,
                Err(reason) => {
                    left_out.add(&entry.path, reason);
                    continue;
                }
            };
            if self.is_as_given(workspace, &path).await? {
                continue;
            }
            if room.files == 0 {
                left_out.add(&entry.path, &format!("at most {} files are", self.limits.files));
                continue;
            }
            if entry.size > room.bytes {
                left_out.add(&entry.path, &too_large(&self.limits));
                continue;
            }
            match self.fetch(workspace, &path, room.bytes).await {
                Ok(mut file) => {
                    room.files -= 1;
                    room.bytes -= file.size.min(room.bytes);
                    file.is_executable = entry.is_executable;
                    collection.files.push(file);
                }
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return Err(error),
                Err(error) => left_out.add(&entry.path, &error.to_string()),
            }
        }
        collection.warnings.extend(left_out.warning());
        Ok(())
    }

    /// The path of an entry that is wanted; or why it cannot be had.
    fn path_of(&self, entry: &Entry) -> Result<Option<GuestPath>, &'static str> {
        let shown = entry.path.to_string_lossy();
        let reason = match entry.kind {
            EntryKind::Directory => return Ok(None),
            // What is in it might have been wanted.
            EntryKind::ClosedDirectory => return Err("it cannot be looked into"),
            _ if !self.wants(&shown) => return Ok(None),
            EntryKind::File => match entry.path.to_str().map(GuestPath::new) {
                Some(Ok(path)) => return Ok(Some(path)),
                Some(Err(_)) => "its path is too long",
                None => "its name is not UTF-8",
            },
            EntryKind::Link => "it is a symbolic link",
            EntryKind::Other => "it is not a regular file",
        };
        Err(reason)
    }

    async fn is_as_given(&mut self, workspace: &mut dyn Files, path: &GuestPath) -> io::Result<bool> {
        let Some(given) = self.given.at(path.as_str()) else { return Ok(false) };
        let mut digest = Digest::new();
        match workspace.open(path).await {
            Ok(size) if size == given.1 => {}
            _ => return Ok(false),
        }
        loop {
            let piece = workspace.read().await?;
            if piece.is_empty() {
                return Ok(digest.finish() == given);
            }
            digest.add(&piece);
        }
    }

    /// Reads one file, at most so much of it.
    async fn fetch(
        &mut self,
        workspace: &mut dyn Files,
        path: &GuestPath,
        most: u64,
    ) -> io::Result<CollectedFile> {
        workspace.open(path).await?;
        let mut digest = Digest::new();
        let mut bytes = BytesMut::new();
        if let Some(directory) = &mut self.into {
            directory.files.create(path, false).await?;
        }
        let mut read = 0;
        loop {
            let piece = workspace.read().await?;
            if piece.is_empty() {
                break;
            }
            read += piece.len() as u64;
            if read > most {
                // It grew while it was read.
                if let Some(directory) = &mut self.into {
                    directory.files.remove(path).await?;
                }
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, too_large(&self.limits)));
            }
            digest.add(&piece);
            match &mut self.into {
                Some(directory) => directory.files.write(piece).await?,
                None => bytes.extend_from_slice(&piece),
            }
        }
        let content = match &mut self.into {
            Some(directory) => {
                directory.files.finish().await?;
                Collected::Path(directory.path.join(path.as_str()))
            }
            None => Collected::Bytes(bytes.freeze()),
        };
        let (digest, size) = digest.finish();
        Ok(CollectedFile::new(path.as_str(), size, in_hexadecimal(&digest), content))
    }
}

fn too_large(limits: &CollectLimits) -> String {
    format!("it is too large: at most {} bytes are, all together", limits.bytes)
}

/// What was wanted and is not there.
#[derive(Default)]
struct LeftOut {
    named: Vec<String>,
    unnamed: usize,
}

impl LeftOut {
    fn add(&mut self, path: &OsStr, reason: &str) {
        self.more(format!("{} ({reason})", path.to_string_lossy()));
    }

    fn more(&mut self, what: String) {
        const MOST_NAMED: usize = 20;
        if self.named.len() < MOST_NAMED {
            self.named.push(what);
        } else {
            self.unnamed += 1;
        }
    }

    fn warning(&self) -> Option<String> {
        if self.named.is_empty() {
            return None;
        }
        let more = if self.unnamed > 0 { format!(" and {} more", self.unnamed) } else { String::new() };
        Some(format!("files that are not collected: {}{more}", self.named.join(", ")))
    }
}
