//! Decides which granted places are lent to cells, with the rights of whoever owns the place, and
//! says what scripts cannot do in the others.
//!
//! A script that is the owner could change a program that runs as its owner, whoever calls it: the
//! kernel takes such a program's bits away when it is written to, but not when it is changed
//! through a mapping. So a place with such a program in it is not lent.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use belljar_core::config::FileResource;
use belljar_jail::LentPlace;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, getxattr, lgetxattr, openat, statat};
use rustix::io::Errno;

use crate::EngineError;
use crate::grants::{self, Grant};

/// A granted place, and what becomes of it.
pub(super) struct Granted {
    pub(super) grant: Grant,
    /// Whether scripts have its owner's rights there.
    pub(super) is_lent: bool,
    pub(super) warning: Option<String>,
}

/// Opens what a config grants. `guests_are_others` says that guests have ids that own nothing on
/// the host. Blocks: a large place takes long to look through.
pub(super) fn look(resources: &[FileResource], guests_are_others: bool) -> Result<Vec<Granted>, EngineError> {
    let mut lent = 0;
    let decided = |(resource, grant): (&FileResource, Grant)| {
        let (is_lent, warning) = match guests_are_others {
            true => decide(resource, &grant, lent),
            false => (false, None),
        };
        lent += usize::from(is_lent);
        Granted { grant, is_lent, warning }
    };
    Ok(resources.iter().zip(grants::open_all(resources)?).map(decided).collect())
}

/// Why a place is not lent that the helper could not mount with other ids.
pub(super) const NO_SUCH_MOUNTS: &str =
    "its file system, or one that is mounted below it, has no mounts with other ids";

/// The most files and directories that are looked at.
const MOST_ENTRIES: usize = 200_000;

/// Whether a place is lent, if so many are already, and what is to be said about it.
fn decide(resource: &FileResource, grant: &Grant, lent: usize) -> (bool, Option<String>) {
    let bits = |shift: u32| grant.metadata.permissions().mode() >> shift & 0o7;
    let needed = match (grant.metadata.is_dir(), resource.read_only) {
        (true, true) => 0o5,
        (true, false) => 0o7,
        (false, true) => 0o4,
        (false, false) => 0o6,
    };
    let lacks = |shift| bits(shift) & needed != needed;
    let mode = grant.metadata.permissions().mode() & 0o777;
    let path = resource.host_path.display();
    if resource.read_only {
        let warning = lacks(0).then(|| {
            format!("{path} is granted, but its permissions ({mode:o}) keep guests out: they own nothing on the host; chmod o+rX it")
        });
        return (false, warning);
    }
    let why_not = match lent >= LentPlace::MOST {
        true => Some(format!("{} places are lent already", LentPlace::MOST)),
        false => runs_as_its_owner(grant.handle()),
    };
    match why_not {
        Some(reason) => (false, Some(foreign(resource, &grant.metadata, &reason))),
        None => {
            let warning = lacks(6).then(|| {
                format!("{path} is granted, but its permissions ({mode:o}) keep its owner out, whose rights scripts have there; chmod u+rwX it")
            });
            (true, warning)
        }
    }
}

/// What is said of a place in which scripts do not have its owner's rights.
pub(super) fn foreign(resource: &FileResource, metadata: &Metadata, reason: &str) -> String {
    format!(
        "scripts can do in {} what everybody can (permissions {:o}), and what they write there belongs to nobody: {reason}",
        resource.host_path.display(),
        metadata.permissions().mode() & 0o777,
    )
}

/// Why a script must not be the owner of this place: a program below it, or too much to look at.
fn runs_as_its_owner(place: &OwnedFd) -> Option<String> {
    match look_at(place) {
        Ok(None) => None,
        Ok(Some(found)) => Some(format!(
            "{} in it runs as its owner or with capabilities, and could be changed",
            found.display()
        )),
        Err(error) => Some(format!("programs that run as their owner cannot be looked for in it: {error}")),
    }
}

/// The first such program. No link is followed.
fn look_at(place: &OwnedFd) -> io::Result<Option<PathBuf>> {
    let file = File::from(place.try_clone()?);
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        let mut walk = Walk { left: MOST_ENTRIES, path: PathBuf::new() };
        return walk.look_into(openat(place, ".", DIRECTORY, Mode::empty())?, 0);
    }
    let by_number = format!("/proc/self/fd/{}", file.as_raw_fd());
    let is_one = metadata.is_file()
        && (metadata.mode() & SET_ID != 0 || is_there(getxattr(&by_number, CAPABILITIES, &mut [0; 64])));
    Ok(is_one.then(|| PathBuf::from("it")))
}

const CAPABILITIES: &str = "security.capability";
const SET_ID: u32 = 0o6000;
const EXECUTABLE: u32 = 0o111;
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

struct Walk {
    left: usize,
    path: PathBuf,
}

impl Walk {
    /// One descriptor is open for each directory on the way.
    const DEEPEST: usize = 100;

    fn look_into(&mut self, directory: OwnedFd, depth: usize) -> io::Result<Option<PathBuf>> {
        if depth > Self::DEEPEST {
            return Err(io::Error::other("it is too deep"));
        }
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                io::Error::other(format!("it has more than {MOST_ENTRIES} files and directories"))
            })?;
            let metadata = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                metadata => metadata?,
            };
            self.path.push(OsStr::from_bytes(name.to_bytes()));
            let found = match FileType::from_raw_mode(metadata.st_mode) {
                FileType::Directory => match openat(&directory, name, DIRECTORY, Mode::empty()) {
                    // It has gone, or has become something else.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
                    below => self.look_into(below?, depth + 1)?,
                },
                FileType::RegularFile => {
                    // Any bytes may be in a name.
                    let above = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
                    let by_name = above.join(OsStr::from_bytes(name.to_bytes()));
                    let capabilities = || is_there(lgetxattr(&by_name, CAPABILITIES, &mut [0; 64]));
                    let is_one = metadata.st_mode & SET_ID != 0
                        || metadata.st_mode & EXECUTABLE != 0 && capabilities();
                    is_one.then(|| self.path.clone())
                }
                _ => None,
            };
            if found.is_some() {
                return Ok(found);
            }
            self.path.pop();
        }
        Ok(None)
    }
}

/// Anything but its absence may mean that an attribute is there.
fn is_there(found: rustix::io::Result<usize>) -> bool {
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOENT))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn found_in(path: &Path) -> Option<String> {
        let place = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        runs_as_its_owner(&place)
    }

    #[test]
    fn a_program_that_runs_as_its_owner_is_found_wherever_it_is() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        std::os::unix::fs::symlink("/usr/bin", home.path().join("link")).unwrap();
        fs::write(deep.join("plain"), "").unwrap();
        assert_eq!(found_in(home.path()), None);
        for mode in [0o4755, 0o2755, 0o4000] {
            let tool = deep.join("tool");
            fs::write(&tool, "").unwrap();
            fs::set_permissions(&tool, fs::Permissions::from_mode(mode)).unwrap();
            assert!(found_in(home.path()).is_some_and(|found| found.contains("a/b/c/tool")), "{mode:o}");
            assert!(found_in(&tool).is_some());
            fs::remove_file(&tool).unwrap();
        }
        assert_eq!(found_in(&deep.join("plain")), None);
    }

    #[test]
    fn so_is_one_with_capabilities_whatever_its_name() {
        let home = tempfile::tempdir().unwrap();
        let tool = home.path().join(OsStr::from_bytes(b"t\xffol"));
        fs::write(&tool, "").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        // Version 2, effective, `cap_setuid`.
        let capability = [1, 0, 0, 2, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(&tool, CAPABILITIES, &capability, flags).is_err() {
            println!("capabilities: skipped (only root can give them, on a file system that has them)");
            return;
        }
        assert!(found_in(home.path()).is_some() && found_in(&tool).is_some());
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_lent() {
        let home = tempfile::tempdir().unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", Walk::DEEPEST + 2).collect();
        fs::create_dir_all(home.path().join(deep)).unwrap();
        assert!(found_in(home.path()).is_some_and(|found| found.contains("too deep")));
    }
}
