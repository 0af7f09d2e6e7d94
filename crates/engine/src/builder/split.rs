//! Tells apart the wheels that an installer unpacked into one directory.
//!
//! Every wheel comes with a `RECORD` of its files. A file belongs to the wheel that lists it, a
//! compiled file to the wheel of its source. If a file belongs to no wheel, or to two, nothing is
//! told apart, and the directory is used as it is.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::resolution::{Pin, normal};

/// Moves the files of each of the `pins` from `all` into a directory of its own below `into`,
/// called by its number. `false`, and nothing was moved, if that cannot be done.
pub(super) fn split(all: &Path, pins: &[Pin], into: &Path) -> io::Result<bool> {
    let files = files_below(all)?;
    let Some(owners) = owners(all, &files, pins)? else { return Ok(false) };
    for (path, owner) in files.iter().zip(owners) {
        let target = into.join(owner.to_string()).join(path);
        let parent = target.parent().expect("it is below a directory of its own");
        fs::create_dir_all(parent)?;
        fs::rename(all.join(path), target)?;
    }
    Ok(true)
}

/// The number of the pin that each of the files belongs to.
fn owners(all: &Path, files: &[PathBuf], pins: &[Pin]) -> io::Result<Option<Vec<usize>>> {
    let numbers: HashMap<&str, usize> =
        pins.iter().enumerate().map(|(number, pin)| (pin.name.as_str(), number)).collect();
    let mut listed: HashMap<PathBuf, usize> = HashMap::new();
    let mut infos: HashMap<&Path, usize> = HashMap::new();
    for path in files.iter().filter(|path| path.ends_with("RECORD")) {
        let Some(info) = path.parent() else { continue };
        let Some(stem) = info.to_str().and_then(|name| name.strip_suffix(".dist-info")) else { continue };
        let name = stem.split_once('-').map_or(stem, |(name, _)| name);
        let Some(&number) = numbers.get(normal(name).as_str()) else { return Ok(None) };
        infos.insert(info, number);
        for line in fs::read_to_string(all.join(path))?.lines() {
            let Some(path) = listed_path(line) else { return Ok(None) };
            if listed.insert(path, number).is_some_and(|before| before != number) {
                return Ok(None);
            }
        }
    }
    if infos.len() != pins.len() {
        return Ok(None);
    }
    let owner = |path: &PathBuf| {
        let info = path.components().next().and_then(|first| infos.get(Path::new(first.as_os_str())));
        info.or_else(|| listed.get(path)).or_else(|| listed.get(&source_of(path)?)).copied()
    };
    Ok(files.iter().map(owner).collect())
}

/// The path on a line of a `RECORD`, from the directory of packages. Programs and data are listed
/// as `../../bin/x`, and were moved into that directory.
fn listed_path(line: &str) -> Option<PathBuf> {
    // Commas and quotation marks in names are written as in a table. Nobody uses them.
    let path = line.rsplitn(3, ',').nth(2).filter(|path| !path.contains(['"', ',']))?;
    let inside = Path::new(path).components().skip_while(|part| *part == Component::ParentDir);
    inside.map(|part| matches!(part, Component::Normal(_)).then_some(part)).collect()
}

/// The source of `x/__pycache__/name.cpython-311.pyc`.
fn source_of(path: &Path) -> Option<PathBuf> {
    let (directory, name) = (path.parent()?, path.file_name()?.to_str()?);
    let (stem, _tag) = name.strip_suffix(".pyc")?.rsplit_once('.')?;
    directory.ends_with("__pycache__").then(|| Some(directory.parent()?.join(format!("{stem}.py"))))?
}

/// All that is not a directory, from the top.
fn files_below(top: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(top.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Unpacked(tempfile::TempDir);

    impl Unpacked {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = dir.path().join("all").join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(dir)
        }

        fn split(&self, names: &[&str]) -> Option<Vec<Vec<PathBuf>>> {
            let pins: Vec<_> =
                names.iter().map(|name| Pin { name: (*name).into(), line: String::new() }).collect();
            let into = self.0.path().join("into");
            let done = split(&self.0.path().join("all"), &pins, &into).unwrap();
            let files = |number: usize| {
                let mut files = files_below(&into.join(number.to_string())).unwrap();
                files.sort();
                files
            };
            done.then(|| (0..names.len()).map(files).collect())
        }
    }

    const TWO: [(&str, &str); 8] = [
        ("one/__init__.py", ""),
        ("one/__pycache__/__init__.cpython-311.pyc", ""),
        ("bin/one", ""),
        (
            "One_A-1.0.dist-info/RECORD",
            "one/__init__.py,sha256=x,1\n../../bin/one,,\nOne_A-1.0.dist-info/RECORD,,\n",
        ),
        ("One_A-1.0.dist-info/INSTALLER", "uv"),
        ("shared/two.py", ""),
        ("two-2.0.dist-info/RECORD", "shared/two.py,,\ntwo-2.0.dist-info/RECORD,,\n"),
        ("shared/__pycache__/two.cpython-311.pyc", ""),
    ];

    #[test]
    fn each_wheel_gets_its_files_programs_and_compiled_files() {
        let parts = Unpacked::new(&TWO).split(&["one-a", "two"]).unwrap();
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            parts[0],
            paths(&[
                "One_A-1.0.dist-info/INSTALLER",
                "One_A-1.0.dist-info/RECORD",
                "bin/one",
                "one/__init__.py",
                "one/__pycache__/__init__.cpython-311.pyc",
            ])
        );
        assert_eq!(
            parts[1],
            paths(&["shared/__pycache__/two.cpython-311.pyc", "shared/two.py", "two-2.0.dist-info/RECORD"])
        );
    }

    #[test]
    fn a_directory_that_cannot_be_told_apart_stays_whole() {
        let with = |path: &'static str, text: &'static str| {
            let mut files = TWO.to_vec();
            files.retain(|(other, _)| *other != path);
            files.push((path, text));
            Unpacked::new(&files)
        };
        for unpacked in [
            with("nobodys.py", ""),
            with("two-2.0.dist-info/RECORD", "shared/two.py,,\none/__init__.py,,\n"),
            with("two-2.0.dist-info/RECORD", "\"shared/two.py\",,\n"),
            with("two-2.0.dist-info/RECORD", "shared/../one/x,,\nshared/two.py,,\n"),
            with("three-1.dist-info/RECORD", ""),
        ] {
            assert_eq!(unpacked.split(&["one-a", "two"]), None);
            assert!(unpacked.0.path().join("all/one/__init__.py").exists());
        }
        assert_eq!(Unpacked::new(&TWO).split(&["one-a", "two", "three"]), None);
    }
}
