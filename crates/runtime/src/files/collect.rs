//! Files that a script leaves, as far as its caller wants them.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use belljar_core::{CollectLimits, Collected, CollectedFile, ExecutionRequest, GuestPath};
use belljar_engine::{Cell, Entry, EntryKind, Files, make_directory};
use bytes::BytesMut;
use glob::{MatchOptions, Pattern};

use super::digest::{Digest, in_hexadecimal};
use super::{FilesError, Given, MOST_ENTRIES};
use crate::mask::Mask;

/// How long collecting may take. The script is over, so its own limit does not count any more.
const WITHIN: Duration = Duration::from_secs(60);

/// Which files a caller wants, and where.
pub(crate) struct Wanted {
    patterns: Vec<Pattern>,
    limits: CollectLimits,
    into: Option<Directory>,
    /// Whether files that are in the directory stay as they are.
    keeps_existing: bool,
    pub(crate) given: Given,
}

/// A directory of the caller's.
struct Directory {
    path: PathBuf,
    files: Box<dyn Files>,
}

impl Directory {
    fn open(path: PathBuf) -> Result<Self, FilesError> {
        match make_directory(&path) {
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
        let (limits, keeps_existing) = (request.collect_limits, request.keep_existing);
        Ok(Some(Self { patterns, limits, into, keeps_existing, given: Given::default() }))
    }

    /// A pattern without a slash is for names in every directory.
    fn wants(&self, path: &str) -> bool {
        self.matches(path, false)
    }

    /// The same, with names that begin with a dot only where a pattern has the dot. Such names mean
    /// something to other programs: `.git`, `.envrc`.
    fn wants_by_name(&self, path: &str) -> bool {
        self.matches(path, true)
    }

    fn matches(&self, path: &str, dots_are_named: bool) -> bool {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let options = MatchOptions {
            require_literal_separator: true,
            require_literal_leading_dot: dots_are_named,
            ..MatchOptions::new()
        };
        let is_hidden = dots_are_named && above.split('/').any(|part| part.starts_with('.'));
        self.patterns.iter().any(|pattern| match pattern.as_str().contains('/') {
            true => pattern.matches_with(path, options),
            false => !is_hidden && pattern.matches_with(name, options),
        })
    }

    /// Collects from a cell. Nothing is lost if that fails: what is missing is named.
    /// A file whose name holds a secret is left out: under another name it could not be found.
    pub(crate) async fn collect(mut self, cell: &mut dyn Cell, mask: &Mask) -> Collection {
        let mut collection = Collection::default();
        if let Err(error) = self.collect_into(cell, mask, &mut collection).await {
            collection.warnings.push(format!("not all files could be collected: {error}"));
        }
        collection
    }

    async fn collect_into(
        &mut self,
        cell: &mut dyn Cell,
        mask: &Mask,
        collection: &mut Collection,
    ) -> io::Result<()> {
        let mut workspace = cell.files().await?;
        let done = self.collect_from(&mut *workspace, mask, collection).await;
        workspace.close().await?;
        done
    }

    async fn collect_from(
        &mut self,
        workspace: &mut dyn Files,
        mask: &Mask,
        collection: &mut Collection,
    ) -> io::Result<()> {
        let mut listing = workspace.list(MOST_ENTRIES).await?;
        listing.entries.sort_by(|one, other| one.path.cmp(&other.path));
        let mut left_out = LeftOut::default();
        if !listing.is_whole {
            left_out.more(format!("whatever comes after the first {MOST_ENTRIES} names"));
        }
        let mut room = self.limits;
        let began = Instant::now();
        for entry in &listing.entries {
            if began.elapsed() > WITHIN {
                left_out.add(&entry.path, "there was no time left");
                continue;
            }
            let path = match self.path_of(entry) {
                Ok(Some(path)) if mask.is_in(path.as_str()) => {
                    left_out.add(&entry.path, "its name holds the value of a secret");
                    continue;
                }
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
            _ if !self.wants_by_name(&shown) => "its name begins with a dot, and no pattern has it",
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
            if digest.size() > given.1 {
                return Ok(false); // It grows.
            }
        }
    }

    /// Whether something of that name is in the directory, and stays.
    async fn is_taken(&mut self, path: &GuestPath) -> bool {
        let Some(directory) = self.into.as_mut().filter(|_| self.keeps_existing) else { return false };
        !matches!(directory.files.open(path).await, Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Reads one file, at most so much of it.
    async fn fetch(
        &mut self,
        workspace: &mut dyn Files,
        path: &GuestPath,
        most: u64,
    ) -> io::Result<CollectedFile> {
        workspace.open(path).await?;
        if self.is_taken(path).await {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is one where it should go"));
        }
        if let Some(directory) = &mut self.into {
            directory.files.create(path, false).await?;
        }
        let read = self.pass_on(workspace, most).await;
        if read.is_err()
            && let Some(directory) = &mut self.into
        {
            // Half a file is none.
            let _ = directory.files.remove(path).await;
        }
        let (digest, bytes) = read?;
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

impl Wanted {
    /// Hands on the file that is open, at most so much of it.
    async fn pass_on(&mut self, workspace: &mut dyn Files, most: u64) -> io::Result<(Digest, BytesMut)> {
        let (mut digest, mut bytes) = (Digest::new(), BytesMut::new());
        let began = Instant::now();
        loop {
            let piece = workspace.read().await?;
            if piece.is_empty() {
                return Ok((digest, bytes));
            }
            digest.add(&piece);
            if digest.size() > most {
                // It grew while it was read.
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, too_large(&self.limits)));
            }
            if began.elapsed() > WITHIN {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "there was no time left"));
            }
            match &mut self.into {
                Some(directory) => directory.files.write(piece).await?,
                None => bytes.extend_from_slice(&piece),
            }
        }
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
        const LONGEST: usize = 200;
        let name: String = path.to_string_lossy().chars().take(LONGEST).collect();
        // The script chose it. It must not look like a part of the sentence.
        let is_plain = name.chars().all(|c| c.is_alphanumeric() || "._-/\u{fffd}".contains(c));
        let name = if is_plain { name } else { format!("{name:?}") };
        self.more(format!("{name} ({reason})"));
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
