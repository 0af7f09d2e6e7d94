//! The guest's root file system: an empty tmpfs, filled from the spec, then read-only.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{Named, Step};
use crate::kernel::{self, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY};
use crate::spec::{Expected, FileIdentity, RootEntry};

/// Any directory that every system has will do. Only this mount namespace sees what is mounted over
/// it.
const STAGING: &str = "/tmp";

/// Builds the root and enters it. Afterwards the host's files are absent, not just hidden.
pub(super) fn build_and_enter(entries: &[RootEntry]) -> Step<()> {
    kernel::mount_at("none", "/", "none", kernel::MS_REC | kernel::MS_PRIVATE, "")
        .step(|| "make mounts private".into())?;
    // Open the sources before the staging directory is covered, because a source may be below it.
    let sources = entries
        .iter()
        .map(|entry| match source_of(entry) {
            Some((path, expected)) => {
                open(path, expected).map(Some).step(|| format!("open {}", path.display()))
            }
            None => Ok(None),
        })
        .collect::<Step<Vec<Option<OwnedFd>>>>()?;
    kernel::mount_at("tmpfs", STAGING, "tmpfs", kernel::MS_NOSUID | kernel::MS_NODEV, "mode=0755,size=64m")
        .step(|| format!("mount a tmpfs on {STAGING}"))?;
    for (entry, source) in entries.iter().zip(&sources) {
        place(entry, source.as_ref())?;
    }
    let root = kernel::open_path(STAGING).step(|| format!("open {STAGING}"))?;
    kernel::enter_directory(root.as_raw_fd()).step(|| "enter the new root".into())?;
    kernel::pivot_here().step(|| "make the new root the root".into())?;
    std::env::set_current_dir("/").step(|| "enter the new root".into())?;
    kernel::add_mount_attributes("/", MOUNT_ATTR_RDONLY, false).step(|| "make the root read-only".into())
}

fn source_of(entry: &RootEntry) -> Option<(&Path, Expected)> {
    match entry {
        RootEntry::Bind { source, expected, .. } => Some((source, *expected)),
        RootEntry::Device { path } => Some((path, Expected::Anything)),
        _ => None,
    }
}

/// Opens a place of the host's, if it is the one that is expected.
pub(super) fn open(path: &Path, expected: Expected) -> io::Result<OwnedFd> {
    match expected {
        Expected::Anything => kernel::open_path(path),
        Expected::File(identity) => {
            let place = File::from(kernel::open_path_without_links(path)?);
            match FileIdentity::from(&place.metadata()?) == identity {
                true => Ok(place.into()),
                false => Err(io::Error::other("something else has been put there since it was looked at")),
            }
        }
    }
}

fn place(entry: &RootEntry, source: Option<&OwnedFd>) -> Step<()> {
    match entry {
        RootEntry::Directory { path } => {
            let at = staged(path);
            fs::create_dir_all(&at).step(|| format!("make {}", path.display()))
        }
        RootEntry::File { path, contents } => {
            let at = staged(path);
            with_parent(&at)
                .and_then(|()| fs::write(&at, contents))
                .step(|| format!("write {}", path.display()))
        }
        RootEntry::Symlink { path, target } => {
            let at = staged(path);
            with_parent(&at).and_then(|()| symlink(target, &at)).step(|| format!("link {}", path.display()))
        }
        RootEntry::Bind { source: from, target, writable, .. } => {
            let read_only = if *writable { 0 } else { MOUNT_ATTR_RDONLY };
            bind(source, target, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | read_only)
                .step(|| format!("mount {} on {}", from.display(), target.display()))
        }
        RootEntry::Device { path } => {
            bind(source, path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY)
                .step(|| format!("mount the device {}", path.display()))
        }
        RootEntry::Proc { path } => {
            let at = staged(path);
            fs::create_dir_all(&at)
                .and_then(|()| {
                    let flags = kernel::MS_NOSUID | kernel::MS_NODEV | kernel::MS_NOEXEC;
                    kernel::mount_at("proc", &at, "proc", flags, "")
                })
                .step(|| format!("mount proc on {}", path.display()))
        }
        RootEntry::Scratch { path } => {
            let at = staged(path);
            fs::create_dir_all(&at)
                .and_then(|()| {
                    let flags = kernel::MS_NOSUID | kernel::MS_NODEV;
                    kernel::mount_at("tmpfs", &at, "tmpfs", flags, "mode=1777,size=64m,nr_inodes=16k")
                })
                .step(|| format!("mount a tmpfs on {}", path.display()))
        }
    }
}

fn bind(source: Option<&OwnedFd>, target: &Path, attributes: u64) -> io::Result<()> {
    let source = source.expect("every bind's source was opened above");
    let at = staged(target);
    with_parent(&at)?;
    let from = format!("/proc/self/fd/{}", source.as_raw_fd());
    if fs::metadata(&from)?.is_dir() {
        fs::create_dir_all(&at)?;
    } else if !at.exists() {
        File::create(&at)?;
    }
    kernel::mount_at(&from, &at, "none", kernel::MS_BIND | kernel::MS_REC, "")?;
    kernel::add_mount_attributes(&at, attributes, true)
}

fn staged(path: &Path) -> PathBuf {
    Path::new(STAGING).join(path.strip_prefix("/").unwrap_or(path))
}

fn with_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

#[cfg(all(test, not(belljar_helper)))]
mod tests {
    use super::*;

    #[test]
    fn what_was_exchanged_since_it_was_looked_at_is_not_opened() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let place = home.join("place");
        fs::create_dir(&place).unwrap();
        let looked_at = File::open(&place).unwrap();
        let expected = Expected::File(FileIdentity::of(&looked_at).unwrap());
        let path = place.as_path();
        assert!(open(path, expected).is_ok());
        fs::rename(&place, home.join("elsewhere")).unwrap();
        fs::create_dir(&place).unwrap();
        let told = open(path, expected).unwrap_err().to_string();
        assert!(told.contains("something else"), "{told}");
        // A link is refused too, even one to the very same directory.
        fs::remove_dir(&place).unwrap();
        symlink("elsewhere", &place).unwrap();
        assert!(open(path, expected).is_err());
        assert!(open(path, Expected::Anything).is_ok());
    }
}
