//! The digest of a tree: whether two directories hold the same.
//!
//! It is SHA-256 over each entry that is no directory, in the order of the bytes of its path below
//! the root: the path, a NUL, the content, a NUL. Modes, times and empty directories do not count.
//!
//! A link counts as itself, wherever it leads and whether or not that exists: its path, two NULs,
//! the text of its target, a NUL. So nothing outside of the tree is ever read, and a link to a file
//! is not the same as a copy of it. What is no file, directory or link cannot be digested.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, openat2, readlinkat, statat};
use sha2::{Digest, Sha256};

use crate::WorkspaceError;

/// The digest of a tree, in lower-case hexadecimal. See [this module](self).
pub fn dir_digest(root: impl AsRef<Path>) -> Result<String, WorkspaceError> {
    let root = root.as_ref();
    let directory = File::open(root).map_err(WorkspaceError::io("open", root))?;
    let tree = Tree { root, directory: directory.into() };
    let mut entries = tree.entries()?;
    entries.sort();
    let mut hash = Sha256::new();
    for Entry { path, is_link } in entries {
        hash.update(&path);
        hash.update([0]);
        if is_link {
            let target = readlinkat(tree.open(&path, OFlags::PATH)?, "", Vec::new());
            hash.update([0]);
            hash.update(target.map_err(|error| tree.failed("read", &path, error.into()))?.as_bytes());
        } else {
            let mut file = File::from(tree.open(&path, OFlags::NONBLOCK)?);
            stream(&mut file, &mut hash).map_err(|error| tree.failed("read", &path, error))?;
        }
        hash.update([0]);
    }
    Ok(hexadecimal(&hash.finalize()))
}

struct Tree<'a> {
    root: &'a Path,
    directory: OwnedFd,
}

/// A file or link, by its path below the root.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    path: Vec<u8>,
    is_link: bool,
}

impl Tree<'_> {
    /// All files and links.
    fn entries(&self) -> Result<Vec<Entry>, WorkspaceError> {
        let mut found = Vec::new();
        let mut waiting = vec![Vec::new()];
        while let Some(directory) = waiting.pop() {
            let at: &[u8] = if directory.is_empty() { b"." } else { &directory };
            let opened = self.open(at, OFlags::DIRECTORY)?;
            let failed = |error: rustix::io::Errno| self.failed("list", &directory, error.into());
            for entry in Dir::read_from(&opened).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let name = entry.file_name().to_bytes();
                if matches!(name, b"." | b"..") {
                    continue;
                }
                let path =
                    if directory.is_empty() { name.to_vec() } else { [&directory, &b"/"[..], name].concat() };
                match self.kind(opened.as_fd(), name, &path)? {
                    FileType::Directory => waiting.push(path),
                    FileType::RegularFile => found.push(Entry { path, is_link: false }),
                    FileType::Symlink => found.push(Entry { path, is_link: true }),
                    _ => {
                        let path = String::from_utf8_lossy(&path).into_owned();
                        let wanted = "a file, a directory or a link";
                        return Err(WorkspaceError::WrongKind { path, found: "a special file", wanted });
                    }
                }
            }
        }
        Ok(found)
    }

    fn kind(&self, directory: BorrowedFd<'_>, name: &[u8], path: &[u8]) -> Result<FileType, WorkspaceError> {
        let stat = statat(directory, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|error| self.failed("look at", path, error.into()))?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    /// Opens something in the tree. No link is followed, also if somebody has just put one there.
    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, WorkspaceError> {
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(&self.directory, OsStr::from_bytes(path), flags, Mode::empty(), resolve)
            .map_err(|error| self.failed("open", path, error.into()))
    }

    fn failed(&self, doing: &'static str, path: &[u8], source: io::Error) -> WorkspaceError {
        let path: PathBuf = self.root.join(OsStr::from_bytes(path));
        WorkspaceError::Io { doing, path, source }
    }
}

fn stream(file: &mut File, hash: &mut Sha256) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => hash.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    const GOLDEN: &str = "d5eed389030d3cf3ca8173debfe3cf5ff3d1b861c1c6a7367b907e082b67f243";
    const NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn case_29_known_trees_have_known_digests() {
        assert_eq!(dir_digest(tree(&[("a/b/x.txt", "one"), ("a/c.txt", "two")])).unwrap(), GOLDEN);
        assert_eq!(dir_digest(tree(&[])).unwrap(), NOTHING);
        let odd = tree(&[]);
        fs::create_dir(odd.path().join("empty")).unwrap();
        assert_eq!(dir_digest(odd).unwrap(), NOTHING);
    }

    #[test]
    fn case_29_a_byte_counts_and_a_mode_does_not() {
        let root = tree(&[("a/b/x.txt", "one"), ("a/c.txt", "two")]);
        let file = root.path().join("a/c.txt");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(dir_digest(&root).unwrap(), GOLDEN);
        fs::write(&file, "twp").unwrap();
        assert_ne!(dir_digest(&root).unwrap(), GOLDEN);
    }

    #[test]
    fn case_30_links_count_as_themselves() {
        let root = tree(&[("dir/x", "one")]);
        symlink("dir", root.path().join("link")).unwrap();
        let to_directory = dir_digest(&root).unwrap();
        symlink("/nowhere", root.path().join("broken")).unwrap();
        let with_broken = dir_digest(&root).unwrap();
        assert_ne!(to_directory, with_broken);
        // Where a link leads counts, and that it is a link.
        fs::remove_file(root.path().join("broken")).unwrap();
        fs::write(root.path().join("broken"), "/nowhere").unwrap();
        assert_ne!(with_broken, dir_digest(&root).unwrap());
    }

    #[test]
    fn a_link_out_of_the_tree_is_not_followed() {
        let outside = tree(&[("secret", "1")]);
        let root = tree(&[]);
        symlink(outside.path().join("secret"), root.path().join("link")).unwrap();
        let before = dir_digest(&root).unwrap();
        fs::write(outside.path().join("secret"), "2").unwrap();
        assert_eq!(dir_digest(&root).unwrap(), before);
    }

    #[test]
    fn what_is_no_tree_has_no_digest() {
        let root = tree(&[("file", "")]);
        assert!(dir_digest(root.path().join("missing")).is_err());
        assert!(dir_digest(root.path().join("file")).is_err());
        let socket = root.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
        let error = dir_digest(&root).unwrap_err().to_string();
        assert_eq!(error, "socket is a special file, not a file, a directory or a link");
    }

    #[test]
    fn a_tree_may_be_deep_and_have_names_that_are_no_text() {
        let root = tree(&[]);
        let deep = root.path().join("d/".repeat(300));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join(OsStr::from_bytes(b"\xff\n")), "x").unwrap();
        assert_ne!(dir_digest(&root).unwrap(), NOTHING);
    }
}
