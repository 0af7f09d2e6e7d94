//! Attributes of mounts: read-only, without devices, without programs that raise rights.
//!
//! `mount_setattr(2)` sets them for a whole tree at once. Before Linux 5.12 there is none, and each
//! mount is mounted once more onto itself.

use std::ffi::{OsStr, OsString, c_char, c_int};
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::mounts::{AT_EMPTY_PATH, AT_RECURSIVE, MS_BIND, MS_PRIVATE, mount_at};
use super::{c, check, check_long, syscall};

const SYS_MOUNT_SETATTR: i64 = 442;

// For these four, the flags of `mount(2)` and of `statvfs(3)` have the same values.
pub(crate) const MOUNT_ATTR_RDONLY: u64 = 1;
pub(crate) const MOUNT_ATTR_NOSUID: u64 = 2;
pub(crate) const MOUNT_ATTR_NODEV: u64 = 4;
pub(crate) const MOUNT_ATTR_NOEXEC: u64 = 8;

#[repr(C)]
#[derive(Default)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

/// Adds attributes to a mount and, if `recursive`, to everything mounted below it.
pub(crate) fn add_mount_attributes(
    target: impl AsRef<OsStr>,
    attributes: u64,
    recursive: bool,
) -> io::Result<()> {
    const AT_FDCWD: c_int = -100;
    let path = c(&target)?;
    let attr = MountAttr { set: attributes, ..MountAttr::default() };
    let flags = if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: the pointers outlive the call and the size is that of the structure passed.
    let set = check_long(unsafe {
        syscall(SYS_MOUNT_SETATTR, AT_FDCWD, path.as_ptr(), flags, &raw const attr, size_of::<MountAttr>())
    });
    match set {
        Err(error) if is_unknown(&error) => remount(Path::new(target.as_ref()), attributes, recursive),
        other => other.map(drop),
    }
}

/// Adds attributes to every mount of a tree that is nowhere yet, cuts it off from what is mounted
/// elsewhere, and shows its ids as `user_namespace` maps them, if there is one.
///
/// An old kernel can do none of that to such a tree. There it has the attributes of the mount that
/// it is a copy of, and the caller has set those.
pub(crate) fn prepare_tree(tree: RawFd, attributes: u64, user_namespace: Option<RawFd>) -> io::Result<()> {
    const MOUNT_ATTR_IDMAP: u64 = 0x10_0000;
    let attr = MountAttr {
        set: attributes | user_namespace.map_or(0, |_| MOUNT_ATTR_IDMAP),
        clear: 0,
        propagation: MS_PRIVATE,
        userns_fd: user_namespace.map_or(0, i64::from).cast_unsigned(),
    };
    let flags = AT_EMPTY_PATH | AT_RECURSIVE;
    // SAFETY: the pointers outlive the call and the size is that of the structure passed.
    let set = check_long(unsafe {
        syscall(SYS_MOUNT_SETATTR, tree, c"".as_ptr(), flags, &raw const attr, size_of::<MountAttr>())
    });
    match set {
        Err(error) if is_unknown(&error) && user_namespace.is_none() => Ok(()),
        other => other.map(drop),
    }
}

fn is_unknown(error: &io::Error) -> bool {
    const ENOSYS: i32 = 38;
    error.raw_os_error() == Some(ENOSYS)
}

/// The same with `mount(2)`.
fn remount(target: &Path, attributes: u64, recursive: bool) -> io::Result<()> {
    const MS_REMOUNT: u64 = 0x20;
    let mut places = vec![target.to_owned()];
    if recursive {
        places.extend(mounted_below(&fs::read("/proc/self/mountinfo")?, target));
    }
    for place in places {
        // Attributes that it has must be said again. An owner of a user namespace may not take them
        // away, and nobody here wants to.
        let present = attributes_of(&place)?;
        mount_at("none", &place, "none", MS_REMOUNT | MS_BIND | present | attributes, "")?;
    }
    Ok(())
}

#[repr(C)]
struct StatVfs {
    sizes: [u64; 8],
    id: u64,
    flags: u64,
    longest_name: u64,
    /// What glibc, or musl, keeps for later.
    spare: [u64; 8],
}

unsafe extern "C" {
    fn statvfs(path: *const c_char, found: *mut StatVfs) -> c_int;
}

/// The attributes of a mount, as flags of `mount(2)`.
fn attributes_of(place: &Path) -> io::Result<u64> {
    const SAME: u64 = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    /// Of `statvfs`, and of `mount`: no access times, none for directories, seldom.
    const TIMES: [(u64, u64); 3] = [(0x400, 0x400), (0x800, 0x800), (0x1000, 0x20_0000)];
    let path = c(place)?;
    let mut found = StatVfs { sizes: [0; 8], id: 0, flags: 0, longest_name: 0, spare: [0; 8] };
    // SAFETY: a NUL-terminated string and a structure that is at least as large as the library's;
    // both outlive the call.
    check(unsafe { statvfs(path.as_ptr(), &raw mut found) })?;
    let times = TIMES.iter().filter(|(flag, _)| found.flags & flag != 0);
    Ok(times.fold(found.flags & SAME, |flags, (_, flag)| flags | flag))
}

/// The places below a directory at which something is mounted, the upper before the lower.
fn mounted_below(mountinfo: &[u8], directory: &Path) -> Vec<PathBuf> {
    let lines = mountinfo.split(|byte| *byte == b'\n');
    let places = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4).map(unescaped));
    places.filter(|place| place != directory && place.starts_with(directory)).collect()
}

/// The kernel writes spaces and the like as three octal digits behind a backslash.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, more)) = rest.split_first() {
        let octal = more.get(..3).filter(|_| *first == b'\\');
        let code = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &more[3..] } else { more };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(all(test, not(belljar_helper)))]
mod tests {
    use super::*;

    #[test]
    fn mounts_below_a_directory_are_found_by_their_real_names() {
        let mountinfo = b"22 1 0:20 / / rw - ext4 /dev/vda rw\n\
            23 22 0:21 / /tmp rw,nosuid shared:1 - tmpfs tmpfs rw\n\
            24 23 0:22 / /tmp/a\\040b rw - tmpfs tmpfs rw\n\
            25 24 0:23 / /tmp/a\\040b/c\\134d rw - tmpfs tmpfs rw\n\
            26 22 0:24 / /tmpx rw - tmpfs tmpfs rw\n";
        let below = |directory: &str| mounted_below(mountinfo, Path::new(directory));
        assert_eq!(below("/tmp"), [Path::new("/tmp/a b"), Path::new("/tmp/a b/c\\d")]);
        assert_eq!(below("/tmp/a b"), [Path::new("/tmp/a b/c\\d")]);
        assert_eq!(below("/elsewhere"), Vec::<PathBuf>::new());
    }

    #[test]
    fn attributes_of_a_mount_are_what_the_kernel_lists() {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        for path in ["/", "/proc", "/sys", "/dev"] {
            let of_path = |line: &&str| line.split(' ').nth(1) == Some(path);
            // What was mounted last is on top.
            let Some(line) = mounts.lines().rfind(of_path) else { continue };
            let options: Vec<&str> = line.split(' ').nth(3).unwrap().split(',').collect();
            let attributes = attributes_of(Path::new(path)).unwrap();
            for (name, flag) in [
                ("ro", MOUNT_ATTR_RDONLY),
                ("nosuid", MOUNT_ATTR_NOSUID),
                ("nodev", MOUNT_ATTR_NODEV),
                ("noexec", MOUNT_ATTR_NOEXEC),
                ("noatime", 0x400),
                ("relatime", 0x20_0000),
            ] {
                assert_eq!(options.contains(&name), attributes & flag != 0, "{name}: {line}");
            }
        }
        assert!(attributes_of(Path::new("/nowhere/at/all")).is_err());
    }
}
