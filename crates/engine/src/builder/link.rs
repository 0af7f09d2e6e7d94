//! Puts the files of an unpacked wheel into a layer, as hard links.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Whether all files could be put in place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Linked {
    /// They could.
    All,
    /// Two wheels have different files for this path. Only their installer knows which one wins.
    Conflict(PathBuf),
}

/// Links every file below `from` to the same place below `to`. A file system that cannot link gets
/// a copy.
pub(super) fn link_tree(from: &Path, to: &Path) -> io::Result<Linked> {
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(from.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            let target = to.join(&path);
            if entry.file_type()?.is_dir() {
                match fs::create_dir(&target) {
                    Ok(()) => {}
                    Err(_) if target.is_dir() => {}
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        return Ok(Linked::Conflict(path));
                    }
                    Err(error) => return Err(error),
                }
                open.push(path);
            } else if !link(&entry.path(), &target)? {
                return Ok(Linked::Conflict(path));
            }
        }
    }
    Ok(Linked::All)
}

/// Whether the file is in its place now. It is not if another one is there.
fn link(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // A compiled file names the time of its source. If the sources are the same, the first
            // of both fits the first of the sources.
            Ok(from.extension().is_some_and(|extension| extension == "pyc") || is_same(from, to)?)
        }
        // Another file system, a file system without links, or too many links to one file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => belljar_jail::without_file_size_signal(|| fs::copy(from, to)).map(|_| true),
    }
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(one).bytes(), BufReader::new(other).bytes());
    loop {
        match (one.next().transpose()?, other.next().transpose()?) {
            (None, None) => return Ok(true),
            (one, other) if one != other => return Ok(false),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn tree(root: &Path, files: &[(&str, &str)]) -> PathBuf {
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        root.to_owned()
    }

    #[test]
    fn two_wheels_share_directories_and_equal_files_but_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two, layer) = (dir.path().join("one"), dir.path().join("two"), dir.path().join("layer"));
        fs::create_dir(&layer).unwrap();
        let one =
            tree(&one, &[("tests/__init__.py", ""), ("tests/a.py", "a"), ("tests/__pycache__/x.pyc", "1")]);
        let two =
            tree(&two, &[("tests/__init__.py", ""), ("tests/b.py", "b"), ("tests/__pycache__/x.pyc", "2")]);
        assert_eq!(link_tree(&one, &layer).unwrap(), Linked::All);
        assert_eq!(link_tree(&two, &layer).unwrap(), Linked::All);
        let number = |path: PathBuf| fs::metadata(path).unwrap().ino();
        assert_eq!(number(layer.join("tests/a.py")), number(one.join("tests/a.py")));
        assert_eq!(number(layer.join("tests/b.py")), number(two.join("tests/b.py")));
        assert_eq!(fs::read(layer.join("tests/__pycache__/x.pyc")).unwrap(), b"1");

        for (path, text) in
            [("tests/a.py", "c"), ("tests", "a file where a directory is"), ("tests/a.py/c", "")]
        {
            let other = tempfile::tempdir().unwrap();
            let other = tree(other.path(), &[(path, text)]);
            let conflict = link_tree(&other, &layer).unwrap();
            assert!(matches!(&conflict, Linked::Conflict(_)), "{path}: {conflict:?}");
        }
    }
}
