//! Paths of this machine that a user names, and the links on their way.
//!
//! A script that may write to a place can leave a symbolic link there. Whoever names a path through
//! it later would be led wherever the script likes: a grant would show another file, a copy would
//! come from one, a result would be written over one. So one rule holds for every such path:
//!
//! * A link is followed only if no guest can have made it: it is root's own, in a directory of the
//!   system that only root may write to. Elsewhere even a link of root's may be a guest's: where
//!   root lets scripts write, what they make is root's.
//! * Any other link is an error that says where it leads, so that the place itself can be named.
//! * What was found is opened without following anything. A link that appears in between makes the
//!   opening fail.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A link that is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is a symbolic link to {} that is not followed, because a script could have put it there. Name the place \
     itself that is meant", .link.display(), .target.display()
)]
#[non_exhaustive]
pub struct LinkOnTheWay {
    /// The link.
    pub link: PathBuf,
    /// Where it leads.
    pub target: PathBuf,
}

/// Why a path leads nowhere.
#[derive(Debug)]
pub(crate) enum Unresolved {
    Io(io::Error),
    Link(LinkOnTheWay),
}

impl From<io::Error> for Unresolved {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Unresolved> for io::Error {
    fn from(error: Unresolved) -> Self {
        match error {
            Unresolved::Io(error) => error,
            Unresolved::Link(link) => Self::new(io::ErrorKind::InvalidInput, link),
        }
    }
}

/// The path of something that a user named, with no link in it. An error names a link on the way
/// that a script could have made ([`LinkOnTheWay`]).
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    Ok(resolve(path)?)
}

/// Reads a whole file that may have at most so many bytes. Whatever is no regular file is refused,
/// and not waited for: a FIFO may never have a writer, and a device no end.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let said = format!("it is longer than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, said));
    }
    Ok(bytes)
}

/// Opens a path that has no link in it.
pub(crate) fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC;
    Ok(rustix::fs::openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve)?)
}

/// Opens a directory that a user named, as a location.
pub(crate) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    open(&real_path(path)?, OFlags::PATH | OFlags::DIRECTORY)
}

/// The same, and makes it, and those above it, if they are not there.
pub(crate) fn make_directory(path: &Path) -> io::Result<OwnedFd> {
    let make = |next: &Path| {
        let (Some(parent), Some(name)) = (next.parent(), next.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let parent = open(parent, OFlags::PATH | OFlags::DIRECTORY)?;
        match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(io::Error::from(error)),
        }
    };
    open(&resolve_with(path, make)?, OFlags::PATH | OFlags::DIRECTORY)
}

/// The path with every link on the way replaced by its target. An error if a link cannot be
/// trusted.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, Unresolved> {
    resolve_with(path, |_| Err(Errno::NOENT.into()))
}

fn resolve_with(path: &Path, make: impl Fn(&Path) -> io::Result<()>) -> Result<PathBuf, Unresolved> {
    const MOST_LINKS: usize = 40;
    let mut links = 0;
    // The kernel tells where this process is without a link.
    let mut resolved = if path.is_absolute() { PathBuf::from("/") } else { std::env::current_dir()? };
    let mut rest: Vec<PathBuf> = names(path);
    while let Some(name) = rest.pop() {
        if name.as_os_str() == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&name);
        let metadata = match std::fs::symlink_metadata(&next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(&next)?;
                resolved = next;
                continue;
            }
            found => found?,
        };
        if !metadata.is_symlink() {
            resolved = next;
            continue;
        }
        let target = std::fs::read_link(&next)?;
        if !is_of_the_system(&metadata, &resolved)? {
            return Err(Unresolved::Link(LinkOnTheWay { link: next, target }));
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::from(Errno::LOOP).into());
        }
        if target.is_absolute() {
            resolved = PathBuf::from("/");
        }
        rest.extend(names(&target));
    }
    Ok(resolved)
}

/// The components of a path, last first.
fn names(path: &Path) -> Vec<PathBuf> {
    let name = |component| match component {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        _ => None,
    };
    path.components().rev().filter_map(name).collect()
}

/// Directories that have links on every Linux. Whoever lets scripts write to one of them has given
/// them the machine.
const OF_THE_SYSTEM: [&str; 3] = ["/", "/usr", "/var"];

/// Whether a link in this directory is the system's own.
fn is_of_the_system(link: &Metadata, directory: &Path) -> io::Result<bool> {
    const ROOT: u32 = 0;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let around = std::fs::symlink_metadata(directory)?;
    let only_root_writes = around.uid() == ROOT && around.mode() & WRITABLE_BY_OTHERS == 0;
    let is_systems = OF_THE_SYSTEM.iter().any(|path| directory == Path::new(path));
    Ok(is_systems && only_root_writes && link.uid() == ROOT)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_of_the_system_are_followed() {
        // Every Linux has one of these, and only root can change it.
        let link = ["/var/run", "/bin"].map(Path::new).into_iter().find(|path| {
            path.is_symlink()
                && is_of_the_system(&fs::symlink_metadata(path).unwrap(), path.parent().unwrap()).unwrap()
        });
        let Some(link) = link else { return };
        assert_eq!(resolve(link).unwrap(), link.canonicalize().unwrap());
    }

    #[test]
    fn a_way_has_an_end() {
        assert!(resolve(Path::new("/belljar-does-not-exist")).is_err());
        let text = names(Path::new("/a/../b"));
        assert_eq!(text, ["b", "..", "a"].map(PathBuf::from));
        assert_eq!(resolve(Path::new(".")).unwrap(), std::env::current_dir().unwrap());
    }

    #[test]
    fn a_link_is_named_with_where_it_leads_and_nothing_is_made_behind_it() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir(home.join("victim")).unwrap();
        symlink(home.join("victim"), home.join("out")).unwrap();
        symlink(home.join("not-there"), home.join("loose")).unwrap();
        for path in ["out", "out/deep/er", "loose", "loose/deep"] {
            for opened in [make_directory(&home.join(path)), open_directory(&home.join(path))] {
                let said = opened.unwrap_err().to_string();
                assert!(said.contains("is a symbolic link to") && said.contains("Name the place"), "{said}");
            }
        }
        assert!(fs::read_dir(home.join("victim")).unwrap().next().is_none());
        assert!(!home.join("not-there").exists());
    }

    #[test]
    fn only_files_are_read_and_only_so_much_of_them() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("file"), "four").unwrap();
        assert_eq!(read_file(&at("file"), 4).unwrap(), b"four");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("fifo"),
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        for (path, reason) in [
            (at("file"), "it is longer than 3 bytes"),
            (at("fifo"), "it is not a regular file"),
            (PathBuf::from("/dev/zero"), "it is not a regular file"),
            (home.path().to_owned(), "it is not a regular file"),
        ] {
            assert_eq!(read_file(&path, 3).unwrap_err().to_string(), reason, "{}", path.display());
        }
    }

    #[test]
    fn a_directory_is_made_with_those_above_it() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        make_directory(&home.join("a/b/../c")).unwrap();
        assert!(home.join("a/b").is_dir() && home.join("a/c").is_dir());
        make_directory(&home.join("a/c")).unwrap();
        fs::write(home.join("file"), "").unwrap();
        assert!(make_directory(&home.join("file")).is_err());
        assert!(make_directory(&home.join("file/below")).is_err());
    }
}
