//! Walks the path to a directory, step by step.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

use super::check::{As, check, check_owner, stat};
use super::directory::{LOOK, READ};
use super::{Distrust, TrustedDirectory};

/// Walks from the root to a directory. Checks every directory and link on the way, and makes
/// missing directories.
pub(super) fn walk(path: &Path) -> Result<TrustedDirectory, Distrust> {
    const MOST_LINKS: usize = 40;
    let absolute = std::path::absolute(path).map_err(|source| Distrust::Io {
        action: "resolve",
        path: path.to_owned(),
        source,
    })?;
    let root = open_root()?;
    check(&root, Path::new("/"), As::Ancestor)?;
    let mut opened: Vec<(OwnedFd, PathBuf)> = vec![(root, PathBuf::from("/"))];
    let mut left: VecDeque<OsString> = names(&absolute).collect();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            if opened.len() > 1 {
                opened.pop();
            }
            continue;
        }
        let (parent, parent_path) = opened.last().expect("the root is never left");
        let path = parent_path.join(&name);
        let found = open_or_make(parent, &name).map_err(Distrust::io("open", &path))?;
        let stat = stat(&found, &path)?;
        let is_last = left.is_empty();
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                check_owner(&stat, &path)?;
                links += 1;
                if links > MOST_LINKS {
                    return Err(Distrust::io("follow the links of", &path)(rustix::io::Errno::LOOP));
                }
                let target =
                    rustix::fs::readlinkat(&found, "", Vec::new()).map_err(Distrust::io("read", &path))?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    opened.truncate(1);
                }
                for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
                    left.push_front(name);
                }
            }
            FileType::Directory => {
                check(&found, &path, if is_last { As::Contents } else { As::Ancestor })?;
                opened.push((found, path));
            }
            _ => return Err(Distrust::io("enter", &path)(rustix::io::Errno::NOTDIR)),
        }
    }
    let (place, path) = opened.pop().expect("the root is never left");
    // The path may have ended in `..` or in the root itself.
    check(&place, &path, As::Contents)?;
    let directory = rustix::fs::openat(&place, ".", OFlags::DIRECTORY | READ, Mode::empty())
        .map_err(Distrust::io("open", &path))?;
    Ok(TrustedDirectory { path, directory })
}

fn open_root() -> Result<OwnedFd, Distrust> {
    rustix::fs::open("/", OFlags::DIRECTORY | LOOK, Mode::empty())
        .map_err(Distrust::io("open", Path::new("/")))
}

fn open_or_make(parent: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    match rustix::fs::openat(parent, name, LOOK, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => {
            match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
                // Somebody else made it first. It is checked like any other.
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            rustix::fs::openat(parent, name, LOOK, Mode::empty())
        }
        other => other,
    }
}

fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}
