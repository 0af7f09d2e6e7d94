//! Reading and writing a record.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::temporary;
use crate::{Timestamp, WorkspaceError, WorkspaceMetadata, layout};

/// How long a record may be, in bytes.
const LONGEST: u64 = 16 << 20;

/// Makes the directories of a workspace, and its record if it has none. Returns the paths of the
/// directories by name. A link in the place of one may lead anywhere, and is refused.
pub fn ensure_layout(root: &Path) -> Result<BTreeMap<&'static str, PathBuf>, WorkspaceError> {
    let mut paths = BTreeMap::new();
    for name in layout::DIRECTORIES {
        let path = root.join(name);
        fs::create_dir_all(&path).map_err(WorkspaceError::io("create", &path))?;
        let kind = fs::symlink_metadata(&path).map_err(WorkspaceError::io("look at", &path))?;
        if kind.is_symlink() {
            let path = name.to_owned();
            return Err(WorkspaceError::WrongKind { path, found: "a link", wanted: "a directory" });
        }
        paths.insert(name, path);
    }
    let record = root.join(layout::METADATA);
    match fs::symlink_metadata(&record) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            save_metadata(root, &WorkspaceMetadata::new(Timestamp::now()))?;
        }
        Err(error) => return Err(WorkspaceError::io("look at", record)(error)),
    }
    Ok(paths)
}

/// The record of a workspace. One that has none gets a new one, which is not written. What is there
/// and is no record is a [`WorkspaceError::Metadata`].
pub fn load_metadata(root: &Path) -> Result<WorkspaceMetadata, WorkspaceError> {
    let path = root.join(layout::METADATA);
    let Some(file) = open(&path)? else { return Ok(WorkspaceMetadata::new(Timestamp::now())) };
    let mut text = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut text).map_err(WorkspaceError::io("read", &path))?;
    if text.len() as u64 > LONGEST {
        return Err(WorkspaceError::Metadata { path, reason: format!("it is longer than {LONGEST} bytes") });
    }
    serde_json::from_slice(&text)
        .map_err(|error| WorkspaceError::Metadata { path, reason: error.to_string() })
}

/// The record of a workspace, or a new one in place of what is no record. The next
/// [save](save_metadata) then replaces that. A record of no version becomes one of this version.
pub fn load_or_recover(root: &Path) -> Result<WorkspaceMetadata, WorkspaceError> {
    match load_metadata(root) {
        Ok(mut metadata) => {
            if metadata.version == 0 {
                metadata.version = WorkspaceMetadata::VERSION;
            }
            Ok(metadata)
        }
        Err(WorkspaceError::Metadata { path, reason }) => {
            tracing::warn!(path = %path.display(), reason, "the record of a workspace is damaged; it begins anew");
            Ok(WorkspaceMetadata::new(Timestamp::now()))
        }
        Err(error) => Err(error),
    }
}

/// Replaces the record of a workspace, and says in it that it was written now. If that fails, the
/// old one stays, and nothing else is left.
pub fn save_metadata(root: &Path, metadata: &WorkspaceMetadata) -> Result<(), WorkspaceError> {
    let path = root.join(layout::METADATA);
    let metadata = WorkspaceMetadata { updated_at: Timestamp::now(), ..metadata.clone() };
    let text = serde_json::to_vec_pretty(&metadata)
        .map_err(|error| WorkspaceError::Metadata { path: path.clone(), reason: error.to_string() })?;
    let written = root.join(temporary::name());
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&written)
        .map_err(WorkspaceError::io("create", &written))?;
    let replaced = file
        .write_all(&text)
        .map_err(WorkspaceError::io("write", &written))
        .and_then(|()| fs::rename(&written, &path).map_err(WorkspaceError::io("replace", &path)));
    if replaced.is_err() {
        // What failed first is what the caller must know.
        let _ = fs::remove_file(&written);
    }
    replaced
}

/// Opens the record, if there is something. A program may have put anything there: links are not
/// followed, and nothing is waited for.
fn open(path: &Path) -> Result<Option<File>, WorkspaceError> {
    use rustix::fs::OFlags;
    use rustix::io::Errno;
    let not_a_file = |what: &str| {
        Err(WorkspaceError::Metadata { path: path.to_owned(), reason: format!("it is {what}, not a file") })
    };
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, rustix::fs::Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return not_a_file("a link"),
        Err(Errno::NXIO) => return not_a_file("a socket"),
        Err(error) => return Err(WorkspaceError::io("open", path)(error.into())),
    };
    let kind = file.metadata().map_err(WorkspaceError::io("look at", path))?;
    if kind.is_dir() {
        // Not damage that a new record mends.
        return Err(WorkspaceError::WrongKind {
            path: layout::METADATA.to_owned(),
            found: "a directory",
            wanted: "a file",
        });
    }
    if kind.is_file() { Ok(Some(file)) } else { not_a_file("something else") }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
