//! Remembers what earlier probes learned, so that a warm start runs no interpreter.
//!
//! An entry is valid while every file it depends on (the candidate, the base executable,
//! `libpython`) is the same unchanged file. Failures are not kept, because a machine that is too
//! busy to answer in time does not have a broken Python. The cache is a convenience, so a problem
//! with it never fails a search.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::interpreter::Interpreter;
use crate::trust::TrustedDirectory;

const FILE: &str = "pythons.json";
/// Raise this when an entry changes its meaning. Other formats are ignored.
const FORMAT: u32 = 1;

/// Interpreters by candidate path.
#[derive(Debug)]
pub(super) struct Cache {
    file: Option<PathBuf>,
    kept: Kept,
    changed: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    format: u32,
    entries: BTreeMap<PathBuf, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    stamps: BTreeMap<PathBuf, Stamp>,
    interpreter: Interpreter,
}

/// Tells whether a file has changed, without reading it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Cache {
    pub(super) fn open(directory: Option<&Path>) -> Self {
        let directory = directory.and_then(|directory| match TrustedDirectory::make(directory) {
            Ok(directory) => Some(directory),
            // A cache that others could have written is not read, and nothing is kept where they
            // can change it.
            Err(distrust) => {
                tracing::debug!(directory = %directory.display(), %distrust, "no interpreters are remembered there");
                None
            }
        });
        let kept = directory.as_ref().map(read).unwrap_or_default();
        Self { file: directory.map(|directory| directory.path().join(FILE)), kept, changed: false }
    }

    pub(super) fn get(&self, candidate: &Path) -> Option<&Interpreter> {
        let entry = self.kept.entries.get(candidate)?;
        let unchanged = entry.stamps.iter().all(|(path, stamp)| Stamp::of(path).as_ref() == Some(stamp));
        (unchanged && entry.interpreter.stdlib.is_dir()).then_some(&entry.interpreter)
    }

    pub(super) fn put(&mut self, candidate: &Path, interpreter: &Interpreter) {
        let files =
            [candidate, &interpreter.executable].into_iter().chain(interpreter.shared_library.as_deref());
        let stamps: Option<_> = files.map(|file| Some((file.to_owned(), Stamp::of(file)?))).collect();
        let Some(stamps) = stamps else { return };
        let entry = Entry { stamps, interpreter: interpreter.clone() };
        self.kept.entries.insert(candidate.to_owned(), entry);
        self.changed = true;
    }

    /// Replaces the file with what is known now, if anything is new.
    pub(super) fn save(&mut self) {
        let Some(file) = self.file.as_deref().filter(|_| self.changed) else {
            return;
        };
        self.kept.entries.retain(|candidate, _| candidate.exists());
        self.kept.format = FORMAT;
        if let Err(error) = replace(file, &self.kept) {
            tracing::debug!(file = %file.display(), %error, "what was learned about interpreters is not kept");
        }
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        Some(Self {
            inode: meta.ino(),
            size: meta.size(),
            seconds: meta.mtime(),
            nanoseconds: meta.mtime_nsec(),
        })
    }
}

fn read(directory: &TrustedDirectory) -> Kept {
    let file = directory.path().join(FILE);
    let opened = match directory.file(FILE) {
        Ok(opened) => opened,
        Err(distrust) => {
            tracing::debug!(file = %file.display(), %distrust, "no interpreters remembered");
            return Kept::default();
        }
    };
    match serde_json::from_reader::<_, Kept>(io::BufReader::new(opened)) {
        Ok(kept) if kept.format == FORMAT => kept,
        Ok(kept) => {
            tracing::debug!(file = %file.display(), format = kept.format, "interpreters remembered in another format");
            Kept::default()
        }
        Err(error) => {
            tracing::debug!(file = %file.display(), %error, "the list of remembered interpreters is not readable");
            Kept::default()
        }
    }
}

fn replace(file: &Path, kept: &Kept) -> io::Result<()> {
    static SAVES: AtomicU64 = AtomicU64::new(0);
    let unique = SAVES.fetch_add(1, Ordering::Relaxed);
    let draft = file.with_extension(format!("{}-{unique}.tmp", process::id()));
    let bytes = serde_json::to_vec_pretty(kept)?;
    let written = belljar_jail::without_file_size_signal(|| fs::write(&draft, bytes));
    let placed = written.and_then(|()| fs::rename(&draft, file));
    if placed.is_err() {
        let _ = fs::remove_file(&draft);
    }
    placed
}
