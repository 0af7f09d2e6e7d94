//! Whether a file is inside a directory, whatever names the two are given by.
//!
//! A directory can be mounted at a second place. Then it has two names that share nothing:
//!
//! ```text
//!  mount --bind /srv/d /mnt/alias          /mnt/alias/sub   is /srv/d/sub
//!  mount --bind /srv/d/deep /mnt/alias     /mnt/alias/sub   is /srv/d/deep/sub
//! ```
//!
//! The first case is found by going up from the file and comparing each directory with the other
//! one. The second is not found in this way, because the way up leaves the file system at the
//! mount. It is found by the place *within the file system*, which the kernel knows for every
//! mount. A file system that is mounted somewhere inside the directory is found only in the first
//! way. So both are used.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use belljar_jail::FileIdentity;
use rustix::fs::{Mode, OFlags};

/// Where a file is: what it is inside of.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// Every directory above it, mounts included.
    above: Vec<FileIdentity>,
    /// Where it is in its own file system, if `/proc` says so.
    place: Option<Place>,
}

/// A place in a file system.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// The file system, by its device number as in the list of mounts.
    device: String,
    /// The path from its root.
    path: PathBuf,
}

impl Surroundings {
    /// Looks at an open file. Its path has no link in it.
    pub(super) fn of(file: &File, path: &Path) -> io::Result<Self> {
        Ok(Self { above: directories_above(file, path)?, place: Place::of(file, path) })
    }

    /// Whether the file is inside the directory with this identity and these surroundings.
    pub(super) fn are_inside(&self, outer: FileIdentity, around: &Self) -> bool {
        let by_place = self.place.as_ref().zip(around.place.as_ref()).is_some_and(|(inner, outer)| {
            inner.device == outer.device && inner.path != outer.path && inner.path.starts_with(&outer.path)
        });
        self.above.contains(&outer) || by_place
    }
}

fn directories_above(file: &File, path: &Path) -> io::Result<Vec<FileIdentity>> {
    // Only root can make a directory that deep.
    const DEEPEST: usize = 4096;
    const PLACE: OFlags =
        OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
    let mut last = FileIdentity::of(file)?;
    let mut next = match file.metadata()?.is_dir() {
        true => rustix::fs::openat(file, "..", PLACE, Mode::empty())?,
        false => rustix::fs::open(path.parent().unwrap_or(path), PLACE, Mode::empty())?,
    };
    let mut above = Vec::new();
    for _ in 0..DEEPEST {
        let found = FileIdentity::of(&next)?;
        // The root directory is its own parent.
        if found == last {
            return Ok(above);
        }
        above.push(found);
        next = rustix::fs::openat(&next, "..", PLACE, Mode::empty())?;
        last = found;
    }
    Err(io::Error::from(rustix::io::Errno::NAMETOOLONG))
}

impl Place {
    fn of(file: &File, path: &Path) -> Option<Self> {
        let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
        let mount = about.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
        Self::in_mount(mount, path, &std::fs::read_to_string("/proc/self/mountinfo").ok()?)
    }

    /// Lines of `mounts` are `number parent device root place options…`, such as `36 35 98:0 /deep
    /// /mnt/alias rw …`.
    fn in_mount(mount: &str, path: &Path, mounts: &str) -> Option<Self> {
        mounts.lines().find_map(|line| {
            let mut fields = line.split(' ');
            if fields.next()? != mount {
                return None;
            }
            let (device, root, at) = (fields.nth(1)?, fields.next()?, fields.next()?);
            let below = path.strip_prefix(unescaped(at)).ok()?;
            Some(Self { device: device.to_owned(), path: unescaped(root).join(below) })
        })
    }
}

/// A path as the kernel writes it: blanks and backslashes are a backslash and three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let (mut plain, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.get(..3).filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        match (first, digits) {
            (b'\\', Some(digits)) => {
                plain.push(digits.iter().fold(0u8, |value, digit| value.wrapping_mul(8) + (digit - b'0')));
                rest = &after[3..];
            }
            _ => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    const MOUNTS: &str = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                          36 21 8:1 /srv/d/deep /mnt/my\\040alias rw - ext4 /dev/sda1 rw\n";

    #[test]
    fn a_place_in_a_file_system_is_the_same_through_every_mount_of_it() {
        let direct = Place::in_mount("21", Path::new("/srv/d/deep/sub"), MOUNTS);
        assert_eq!(direct, Some(Place { device: "8:1".into(), path: "/srv/d/deep/sub".into() }));
        assert_eq!(Place::in_mount("36", Path::new("/mnt/my alias/sub"), MOUNTS), direct);
        assert_eq!(Place::in_mount("99", Path::new("/srv"), MOUNTS), None);
    }

    /// Uses real mounts, in a mount namespace of another process that runs this same test.
    #[test]
    fn a_second_mount_of_a_directory_is_seen_through() {
        const INSIDE: &str = "BELLJAR_TEST_OWN_MOUNTS";
        if std::env::var_os(INSIDE).is_none() {
            let again = Command::new("unshare")
                .args(["--user", "--map-root-user", "--mount", "--"])
                .arg(std::env::current_exe().unwrap())
                .args(["--exact", "grants::inside::tests::a_second_mount_of_a_directory_is_seen_through"])
                .env(INSIDE, "1")
                .output();
            match again {
                Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("unshare failed") => {
                    let told = String::from_utf8_lossy(&output.stdout);
                    assert!(output.status.success() && told.contains("1 passed"), "{told}");
                }
                _ => println!("mounts: skipped (this user cannot have a mount namespace)"),
            }
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for path in ["d/deep/sub", "d/other", "alias", "deep-alias"] {
            fs::create_dir_all(home.join(path)).unwrap();
        }
        fs::write(home.join("d/deep/file"), "").unwrap();
        for (kind, from, to) in
            [("--bind", "d", "alias"), ("--bind", "d/deep", "deep-alias"), ("-ttmpfs", "none", "d/other")]
        {
            let mounted = Command::new("mount").arg(kind).args([home.join(from), home.join(to)]).status();
            assert!(mounted.unwrap().success(), "{from} on {to}");
        }
        fs::create_dir(home.join("d/other/far")).unwrap();
        let is_inside = |inner: &str, outer: &str| {
            let of = |path: &str| {
                let path = home.join(path);
                let file = File::open(&path).unwrap();
                (FileIdentity::of(&file).unwrap(), Surroundings::of(&file, &path).unwrap())
            };
            let ((_, inner), (outer, around)) = (of(inner), of(outer));
            inner.are_inside(outer, &around)
        };
        for (inner, outer) in [
            ("d/deep", "d"),
            ("alias/deep", "d"),
            ("d/deep/sub", "alias"),
            ("deep-alias/sub", "d"),
            ("deep-alias/file", "d"),
            ("deep-alias/file", "alias/deep"),
            ("deep-alias", "alias"),
            ("d/other/far", "d"),
            ("d/other", "d"),
        ] {
            assert!(is_inside(inner, outer), "{inner} in {outer}");
        }
        for (inner, outer) in [
            ("d", "d/deep"),
            ("alias", "d"),
            ("d", "alias"),
            ("deep-alias/sub", "d/other"),
            ("d", "deep-alias"),
        ] {
            assert!(!is_inside(inner, outer), "{inner} in {outer}");
        }
    }
}
