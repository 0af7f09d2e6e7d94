//! Sets a layer's permissions. Cells read it as another user, so they must not depend on the umask.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Makes a tree readable by all and writable only by its owner, without special bits. Links are not
/// followed.
pub(super) fn open_to_all(path: &Path) -> io::Result<()> {
    set(path, 0o200)
}

/// The same, but nobody may write to its files. Layers share them as hard links, so a change in one
/// layer would be a change in all. The owner can still remove them.
pub(super) fn open_to_all_and_seal(path: &Path) -> io::Result<()> {
    set(path, 0)
}

/// `kept` is the part of a file's mode that stays as it is.
fn set(path: &Path, kept: u32) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    if meta.is_symlink() {
        return Ok(());
    }
    let mode = meta.permissions().mode() & 0o7777;
    let runnable = meta.is_dir() || mode & 0o111 != 0;
    let stays = if meta.is_dir() { 0o200 } else { kept };
    let open = 0o444 | (mode & stays) | if runnable { 0o111 } else { 0 };
    if open != mode {
        fs::set_permissions(path, Permissions::from_mode(open))?;
    }
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            set(&entry?.path(), kept)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_tree_becomes_readable_and_what_links_point_at_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
        fs::create_dir_all(tree.join("closed")).unwrap();
        let files =
            [("closed/module.py", 0o600, 0o644), ("closed/run", 0o700, 0o755), ("wild", 0o6777, 0o755)];
        for (name, before, _) in files {
            fs::write(tree.join(name), "").unwrap();
            fs::set_permissions(tree.join(name), Permissions::from_mode(before)).unwrap();
        }
        fs::set_permissions(tree.join("closed"), Permissions::from_mode(0o700)).unwrap();
        fs::write(&outside, "").unwrap();
        fs::set_permissions(&outside, Permissions::from_mode(0o600)).unwrap();
        symlink(&outside, tree.join("link")).unwrap();

        open_to_all(&tree).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        for (name, _, after) in files {
            assert_eq!(mode(&tree.join(name)), after, "{name}");
        }
        assert_eq!(mode(&tree.join("closed")), 0o755);
        assert_eq!(mode(&outside), 0o600);

        open_to_all_and_seal(&tree).unwrap();
        for (name, _, after) in files {
            assert_eq!(mode(&tree.join(name)), after & !0o200, "{name}");
        }
        assert_eq!(mode(&tree.join("closed")), 0o755);
    }
}
