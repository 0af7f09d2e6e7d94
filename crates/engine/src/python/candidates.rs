//! Files that look like a Python 3, before any of them is run.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::search::Search;

/// A file worth probing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Its real path.
    pub path: PathBuf,
    /// The minor version in its name (`python3.11`). It only decides what is probed first.
    pub minor: Option<u8>,
}

/// The directories that a search reads, in order, each once.
pub(super) fn places(search: &Search) -> Vec<PathBuf> {
    let home = |below: &str| search.home.as_ref().map(|home| home.join(below));
    let roots = search.installations.iter().cloned();
    let roots = roots.chain(home(".pyenv/versions")).chain(home(".local/share/uv/python"));

    let mut seen = HashSet::new();
    let mut places = search.path.clone();
    places.extend(roots.flat_map(|root| installations_in(&root)));
    // Version managers keep scripts there that are named after programs. What such a script runs
    // depends on the current directory.
    places.retain(|place| !place.ends_with("shims"));
    places.retain(|place| fs::canonicalize(place).is_ok_and(|real| real.is_dir() && seen.insert(real)));
    places
}

/// Every candidate in `places`, in order, each real file once. A place that this machine lacks the
/// means to look into is told; one that is not there, or may not be read, has none.
pub(super) fn candidates(places: &[PathBuf], mut unread: impl FnMut(&Path, io::Error)) -> Vec<Candidate> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for place in places {
        let names = python_names(place).unwrap_or_else(|error| {
            if error.raw_os_error().is_some_and(|number| belljar_jail::shortage(number).is_some()) {
                unread(place, error);
            }
            Vec::new()
        });
        for name in names {
            let Ok(path) = fs::canonicalize(place.join(&name)) else {
                continue;
            };
            if is_program(&path) && seen.insert(path.clone()) {
                let minor = minor_in(&path).or_else(|| minor_in(Path::new(&name)));
                found.push(Candidate { path, minor });
            }
        }
    }
    found
}

/// The file that the user meant. A path stays as it is. A bare name is looked up in `path`.
pub(super) fn named(explicit: &Path, path: &[PathBuf]) -> Option<PathBuf> {
    if explicit.components().count() > 1 || explicit.is_absolute() {
        return fs::canonicalize(explicit).ok();
    }
    let there = path.iter().filter(|place| !place.ends_with("shims"));
    there.filter_map(|place| fs::canonicalize(place.join(explicit)).ok()).find(|file| is_program(file))
}

fn installations_in(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    let mut bins: Vec<PathBuf> = entries.flatten().map(|entry| entry.path().join("bin")).collect();
    bins.sort();
    bins
}

/// `python3` and `python3.N`, sorted. So `python3`, which the owner of the directory prefers, comes
/// first.
fn python_names(place: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(place)?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| name == "python3" || minor_in(Path::new(name)).is_some()).collect();
    names.sort();
    Ok(names)
}

fn minor_in(path: &Path) -> Option<u8> {
    let digits = path.file_name()?.to_str()?.strip_prefix("python3.")?;
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_interpreter_names_carry_a_minor() {
        let cases = [("python3.11", Some(11)), ("python3.14", Some(14)), ("python3", None)];
        let oddities =
            ["python3.11-config", "python3.", "python3.13t", "python3.+1", "python2.7"].map(|n| (n, None));
        for (name, minor) in cases.into_iter().chain(oddities) {
            assert_eq!(minor_in(Path::new(name)), minor, "{name}");
        }
    }
}
