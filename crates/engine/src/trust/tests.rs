//! Directories with the owners and modes that others would give them. Playing another user needs
//! root.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Distrust, TrustedDirectory};

/// A user who is neither root nor the one that runs the test.
const STRANGER: u32 = 54_321;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("root: skipped (only root can give files away)");
    }
    is_root
}

/// A directory of this user below `/tmp`, by its real path.
fn home() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

fn refusal(path: &Path) -> String {
    TrustedDirectory::make(path).unwrap_err().to_string()
}

#[test]
fn what_is_missing_is_made_for_us_alone_whatever_the_umask() {
    let (_dir, home) = home();
    rustix::process::umask(rustix::fs::Mode::empty());
    let made = TrustedDirectory::make(&home.join("a/b/c")).unwrap();
    assert_eq!(made.path(), home.join("a/b/c"));
    for path in ["a", "a/b", "a/b/c"] {
        assert_eq!(fs::metadata(home.join(path)).unwrap().permissions().mode() & 0o777, 0o755);
    }
}

#[test]
fn a_directory_that_others_can_write_to_is_refused_wherever_it_is_on_the_way() {
    let (_dir, home) = home();
    fs::create_dir_all(home.join("a/b/c")).unwrap();
    for path in ["a", "a/b", "a/b/c"] {
        mode(&home.join(path), 0o757);
        let told = refusal(&home.join("a/b/c"));
        assert!(
            told.contains(&format!("{} can be written by others (mode 757)", home.join(path).display())),
            "{told}"
        );
        mode(&home.join(path), 0o755);
    }
    assert!(TrustedDirectory::make(&home.join("a/b/c")).is_ok());
}

#[test]
fn a_sticky_directory_will_do_on_the_way_and_not_at_its_end() {
    let (_dir, home) = home();
    fs::create_dir_all(home.join("shared/ours")).unwrap();
    mode(&home.join("shared"), 0o1777);
    assert!(TrustedDirectory::make(&home.join("shared/ours")).is_ok());
    assert!(TrustedDirectory::make(&home.join("shared/new")).is_ok());
    assert!(refusal(&home.join("shared")).contains("can be written by others (mode 1777)"));
}

#[test]
fn a_group_with_others_in_it_is_others() {
    if !is_root() {
        return;
    }
    let (_dir, home) = home();
    fs::create_dir(home.join("a")).unwrap();
    chown(home.join("a"), None, Some(STRANGER)).unwrap();
    mode(&home.join("a"), 0o775);
    assert!(refusal(&home.join("a")).contains("can be written by others (mode 775)"));
}

#[test]
fn what_belongs_to_somebody_else_is_refused_wherever_it_is_on_the_way() {
    if !is_root() {
        return;
    }
    let (_dir, home) = home();
    fs::create_dir_all(home.join("a/b/c")).unwrap();
    for path in ["a", "a/b", "a/b/c"] {
        chown(home.join(path), Some(STRANGER), None).unwrap();
        let told = refusal(&home.join("a/b/c"));
        assert!(
            told.contains(&format!("{} belongs to user {STRANGER}", home.join(path).display())),
            "{told}"
        );
        chown(home.join(path), Some(0), None).unwrap();
    }
}

#[test]
fn links_are_followed_by_the_same_rules() {
    let (_dir, home) = home();
    fs::create_dir_all(home.join("real/deep")).unwrap();
    symlink(home.join("real"), home.join("absolute")).unwrap();
    symlink("real/../real/deep", home.join("relative")).unwrap();
    symlink("loop", home.join("loop")).unwrap();
    for (path, really) in
        [("absolute/deep", "real/deep"), ("relative", "real/deep"), ("real/deep/..", "real")]
    {
        let found = TrustedDirectory::make(&home.join(path)).unwrap();
        assert_eq!(found.path(), home.join(really), "{path}");
    }
    assert!(matches!(TrustedDirectory::make(&home.join("loop")), Err(Distrust::Io { .. })));
    mode(&home.join("real"), 0o777);
    assert!(refusal(&home.join("relative")).contains("real can be written by others"));
    mode(&home.join("real"), 0o755);
    if is_root() {
        rustix::fs::chownat(
            rustix::fs::CWD,
            home.join("absolute"),
            Some(rustix::fs::Uid::from_raw(STRANGER)),
            None,
            rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
        )
        .unwrap();
        assert!(refusal(&home.join("absolute/deep")).contains("absolute belongs to user"));
    }
}

#[test]
fn a_tree_is_as_good_as_the_worst_in_it() {
    let (_dir, home) = home();
    let tree = home.join("store/tree");
    fs::create_dir_all(tree.join("package/below")).unwrap();
    fs::write(tree.join("package/module.py"), "").unwrap();
    symlink("/etc/passwd", tree.join("package/link")).unwrap();
    let look = || TrustedDirectory::make(&home.join("store")).unwrap().tree("tree").map(drop);
    look().unwrap();
    for path in ["package/module.py", "package/below", "package", ""] {
        let before = fs::metadata(tree.join(path)).unwrap().permissions();
        for writable in [0o666, 0o1777, 0o757] {
            mode(&tree.join(path), writable);
            let told = look().unwrap_err().to_string();
            assert!(told.contains("can be written by others"), "{path}: {told}");
        }
        fs::set_permissions(tree.join(path), before).unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        tree.join("package/below/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(look().unwrap_err().to_string().contains("below/pipe is a pipe"));
    fs::remove_file(tree.join("package/below/pipe")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.join("package/socket")).unwrap();
    mode(&tree.join("package/socket"), 0o600);
    assert!(look().unwrap_err().to_string().contains("package/socket is a socket"));
}

#[test]
fn a_tree_with_a_strangers_file_in_it_is_not_ours() {
    if !is_root() {
        return;
    }
    let (_dir, home) = home();
    let tree = home.join("store/tree");
    fs::create_dir_all(tree.join("package")).unwrap();
    fs::write(home.join("strangers"), "evil").unwrap();
    chown(home.join("strangers"), Some(STRANGER), Some(STRANGER)).unwrap();
    let look = || TrustedDirectory::make(&home.join("store")).unwrap().tree("tree").map(drop);
    look().unwrap();
    // Its owner could change it from elsewhere, through a hard link.
    fs::hard_link(home.join("strangers"), tree.join("package/module.py")).unwrap();
    let told = look().unwrap_err().to_string();
    assert!(told.contains("package/module.py belongs to user 54321"), "{told}");
}

#[test]
fn a_link_is_no_tree_and_no_file() {
    let (_dir, home) = home();
    fs::create_dir_all(home.join("store")).unwrap();
    fs::create_dir_all(home.join("elsewhere")).unwrap();
    fs::write(home.join("file"), "x").unwrap();
    symlink(home.join("elsewhere"), home.join("store/tree")).unwrap();
    symlink(home.join("file"), home.join("store/file")).unwrap();
    let store = TrustedDirectory::make(&home.join("store")).unwrap();
    assert!(matches!(store.tree("tree"), Err(Distrust::Io { .. })));
    assert!(matches!(store.file("file"), Err(Distrust::Io { .. })));
    assert!(matches!(store.file("."), Err(Distrust::Kind { .. })));
}

/// Sets an access list that lets one more user do everything, in the kernel's own form. False if
/// the file system has no lists.
fn let_a_stranger_write(path: &Path) -> bool {
    const VERSION: u32 = 2;
    const NOBODY: u32 = u32::MAX;
    // The owner, one user, the group, the most that those two may do, everybody else.
    let entries: [(u16, u16, u32); 5] =
        [(1, 7, NOBODY), (2, 7, STRANGER), (4, 5, NOBODY), (0x10, 7, NOBODY), (0x20, 5, NOBODY)];
    let mut list = VERSION.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
        list.extend(id.to_le_bytes());
    }
    let set = rustix::fs::setxattr(path, "system.posix_acl_access", &list, rustix::fs::XattrFlags::empty());
    if set.is_err() {
        println!("access lists: skipped (this file system has none)");
    }
    set.is_ok()
}

#[test]
fn a_group_of_our_own_is_not_all_where_there_is_an_access_list() {
    let (_dir, home) = home();
    let (store, tree, file) = (home.join("store"), home.join("store/tree"), home.join("store/tree/file"));
    fs::create_dir_all(&tree).unwrap();
    fs::write(&file, "x").unwrap();
    mode(&file, 0o664);
    mode(&tree, 0o775);
    mode(&store, 0o775);
    let Ok(trusted) = TrustedDirectory::make(&store) else {
        println!("groups: skipped (this user has no group of its own)");
        return;
    };
    assert!(trusted.tree("tree").is_ok());
    for path in [&file, &tree, &store] {
        if !let_a_stranger_write(path) {
            return;
        }
        let told = match TrustedDirectory::make(&store) {
            Ok(trusted) => trusted.tree("tree").unwrap_err(),
            Err(distrust) => distrust,
        };
        let expected = matches!(&told, Distrust::AccessList { path: named } if named == path);
        assert!(expected, "{} is open to a stranger: {told}", path.display());
        // A mode without the group's right takes it from everybody on the list.
        let before = fs::metadata(path).unwrap().permissions().mode();
        mode(path, before & !0o020);
        assert!(TrustedDirectory::make(&store).and_then(|trusted| trusted.tree("tree")).is_ok());
        rustix::fs::removexattr(path, "system.posix_acl_access").unwrap();
        mode(path, before);
    }
}
