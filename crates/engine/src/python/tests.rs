//! Searches among fake interpreters (shell scripts with a fixed answer) and among this machine's
//! own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use belljar_core::config::PythonVersion;
use tempfile::TempDir;

use super::*;

/// A directory of fake interpreters.
struct Fakes {
    dir: TempDir,
}

impl Fakes {
    fn new() -> Self {
        let fakes = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(fakes.root().join("bin")).unwrap();
        fs::create_dir(fakes.root().join("lib")).unwrap();
        fakes
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap()
    }

    fn search(&self) -> Search {
        Search { path: vec![self.root().join("bin")], ..Search::default() }
    }

    /// A program that claims to be CPython `version`, and leaves a mark each time it runs.
    fn python(&self, name: &str, version: Version) -> PathBuf {
        self.answering(name, "cpython", version)
    }

    fn answering(&self, name: &str, implementation: &str, version: Version) -> PathBuf {
        let interpreter = Interpreter {
            executable: self.root().join("bin").join(name),
            version,
            prefix: self.root(),
            exec_prefix: self.root(),
            stdlib: self.root().join("lib"),
            platstdlib: self.root().join("lib"),
            shared_library: None,
            abi: "cpython".into(),
            libc: String::new(),
        };
        let answer = serde_json::json!({ "implementation": implementation, "interpreter": interpreter });
        self.script(
            name,
            &format!("echo ran >> {}\ncat <<'END'\n{answer}\nEND\n", self.marks(name).display()),
        )
    }

    /// `cp` puts the script there. If this process had the script open for writing, a fork in
    /// another test could keep it open (ETXTBSY).
    fn script(&self, name: &str, body: &str) -> PathBuf {
        let (draft, script) = (self.root().join(format!("{name}.txt")), self.root().join("bin").join(name));
        fs::write(&draft, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{body}")).unwrap();
        let place = r#"cp "$1" "$2.new" && chmod 755 "$2.new" && mv "$2.new" "$2""#;
        let placed = Command::new("sh").args(["-c", place, "sh"]).args([&draft, &script]).status().unwrap();
        assert!(placed.success());
        script
    }

    fn marks(&self, name: &str) -> PathBuf {
        self.root().join(format!("{name}.marks"))
    }

    fn runs(&self, name: &str) -> usize {
        fs::read_to_string(self.marks(name)).map_or(0, |marks| marks.lines().count())
    }
}

fn version(text: &str) -> PythonVersion {
    text.parse().unwrap()
}

fn this_machine() -> Search {
    Search { explicit: None, ..Search::from_env(None) }
}

#[test]
fn without_a_wish_a_three_eleven_is_taken_and_nothing_else_is_run() {
    let fakes = Fakes::new();
    for minor in [9, 10, 11, 12, 13, 14] {
        fakes.python(&format!("python3.{minor}"), (3, minor, 1));
    }
    let chosen = find(None, &fakes.search()).unwrap();
    assert_eq!(chosen.version, (3, 11, 1));
    for minor in [9, 10, 12, 13, 14] {
        assert_eq!(fakes.runs(&format!("python3.{minor}")), 0, "3.{minor} was run for nothing");
    }
}

#[test]
fn without_a_three_eleven_the_nearest_is_taken() {
    for (minors, nearest) in [(vec![9, 10, 12], 12), (vec![9, 10, 14], 10), (vec![9, 13], 13), (vec![15], 15)]
    {
        let fakes = Fakes::new();
        for minor in &minors {
            fakes.python(&format!("python3.{minor}"), (3, *minor, 0));
        }
        assert_eq!(find(None, &fakes.search()).unwrap().version.1, nearest, "{minors:?}");
    }
}

#[test]
fn a_name_that_tells_no_version_is_asked_before_a_worse_one_is_taken() {
    let fakes = Fakes::new();
    fakes.python("python3", (3, 11, 4));
    fakes.python("python3.12", (3, 12, 0));
    assert_eq!(find(None, &fakes.search()).unwrap().version, (3, 11, 4));
    assert_eq!(fakes.runs("python3.12"), 0);
}

#[test]
fn a_wanted_minor_gets_its_newest_micro() {
    let fakes = Fakes::new();
    fakes.python("python3", (3, 12, 9));
    fakes.python("python3.12", (3, 12, 3));
    fakes.python("python3.11", (3, 11, 7));
    assert_eq!(find(Some(&version("3.12")), &fakes.search()).unwrap().version, (3, 12, 9));
    assert_eq!(find(Some(&version("3.12.3")), &fakes.search()).unwrap().version, (3, 12, 3));
    assert_eq!(fakes.runs("python3.11"), 0, "its name rules it out");
}

#[test]
fn a_name_that_lies_does_not_hide_the_wanted_version() {
    let fakes = Fakes::new();
    fakes.python("python3.10", (3, 13, 2));
    assert_eq!(find(Some(&version("3.13")), &fakes.search()).unwrap().version, (3, 13, 2));
}

#[test]
fn a_missing_version_is_an_error_that_lists_what_there_is_and_what_to_do() {
    let fakes = Fakes::new();
    let eleven = fakes.python("python3.11", (3, 11, 7));
    let twelve = fakes.python("python3.12", (3, 12, 1));
    let old = fakes.python("python3.8", (3, 8, 18));
    let error = find(Some(&version("3.10.4")), &fakes.search()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "python 3.10.4 is not installed; found 3.12.1 ({}), 3.11.7 ({}); \
             set aside {} (is python 3.8.18, older than 3.9); \
             install it (apt install python3.10, pyenv install 3.10.4, or uv python install 3.10.4), \
             set BELLJAR_PYTHON to its path, or drop python_version from the config",
            twelve.display(),
            eleven.display(),
            old.display(),
        )
    );
}

#[test]
fn with_nothing_usable_the_error_says_where_it_looked_and_why_each_was_refused() {
    let fakes = Fakes::new();
    fakes.script("python3.11", "echo Python 3.11, of course\n");
    fakes.script("python3.12", "echo oh no >&2; exit 3\n");
    fakes.answering("python3.10", "pypy", (3, 10, 0));
    fakes.script("python3.9", "kill -SEGV $$\n");
    let error = find(None, &fakes.search()).unwrap_err().to_string();
    for expected in [
        &format!("looked in {}", fakes.root().join("bin").display()),
        "python3.11 (did not answer as Python does)",
        "python3.12 (failed with exit status: 3: oh no)",
        "python3.10 (is pypy, not CPython)",
        "python3.9 (failed with signal: 11",
        "3.9 or newer is needed",
        "set BELLJAR_PYTHON",
    ] {
        assert!(error.contains(expected), "{expected:?} is not in {error}");
    }
    let nowhere = find(None, &Search::default()).unwrap_err().to_string();
    assert!(nowhere.contains("looked in no directory at all"), "{nowhere}");
}

#[test]
fn a_broken_interpreter_does_not_hide_a_good_one() {
    let fakes = Fakes::new();
    fakes.script("python3.11", "echo '{}'\n");
    fakes.script("python3.12", "head -c 1000000 /dev/zero; exit 0\n");
    fakes.python("python3.13", (3, 13, 0));
    assert_eq!(find(None, &fakes.search()).unwrap().version, (3, 13, 0));
}

#[test]
fn an_interpreter_that_hangs_is_ended_with_its_children() {
    let fakes = Fakes::new();
    let pid_file = fakes.root().join("pid");
    fakes.script("python3.11", &format!("sleep 1000 &\necho $! > {}\nwait\n", pid_file.display()));
    let search = Search { probe_limit: Duration::from_secs(1), ..fakes.search() };
    let error = find(None, &search).unwrap_err().to_string();
    assert!(error.contains("python3.11 (gave no answer in 1s)"), "{error}");

    let Ok(pid) = fs::read_to_string(&pid_file) else {
        return;
    };
    let stat = PathBuf::from("/proc").join(pid.trim()).join("stat");
    let patience = Instant::now() + Duration::from_secs(30);
    let lives = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() {
        assert!(Instant::now() < patience, "the child of a hanging interpreter outlives the probe");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn shims_are_never_run_and_links_count_once() {
    let fakes = Fakes::new();
    let real = fakes.python("python3.12", (3, 12, 0));
    let shims = fakes.root().join("shims");
    fs::create_dir(&shims).unwrap();
    let shim = fakes.python("python3.11", (3, 11, 0));
    fs::rename(shim, shims.join("python3.11")).unwrap();
    std::os::unix::fs::symlink(&real, fakes.root().join("bin/python3")).unwrap();

    let search = Search { path: vec![shims, fakes.root().join("bin")], ..Search::default() };
    assert_eq!(find(None, &search).unwrap().executable, real);
    assert_eq!((fakes.runs("python3.11"), fakes.runs("python3.12")), (0, 1));
}

#[test]
fn installations_of_version_managers_are_found_under_home() {
    let fakes = Fakes::new();
    fakes.python("python3.11", (3, 11, 0));
    fakes.python("python3.12", (3, 12, 0));
    let home = tempfile::tempdir().unwrap();
    for (manager, name) in
        [(".pyenv/versions/3.12.0", "python3.12"), (".local/share/uv/python/cpython-3.11", "python3.11")]
    {
        let bin = home.path().join(manager).join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::rename(fakes.root().join("bin").join(name), bin.join(name)).unwrap();
    }
    let search = Search { home: Some(home.path().into()), ..Search::default() };
    assert_eq!(find(None, &search).unwrap().version, (3, 11, 0));
    assert_eq!(find(Some(&version("3.12")), &search).unwrap().version, (3, 12, 0));
}

#[test]
fn a_forced_interpreter_is_the_only_candidate() {
    let fakes = Fakes::new();
    let twelve = fakes.python("python3.12", (3, 12, 0));
    fakes.python("python3.11", (3, 11, 0));
    fakes.python("python3.8", (3, 8, 0));
    let forced = |name: &Path| Search { explicit: Some(name.into()), ..fakes.search() };

    assert_eq!(find(None, &forced(&twelve)).unwrap().executable, twelve);
    assert_eq!(find(None, &forced(Path::new("python3.12"))).unwrap().executable, twelve);
    assert_eq!(fakes.runs("python3.11"), 0);

    let mismatch = find(Some(&version("3.11")), &forced(&twelve)).unwrap_err().to_string();
    assert!(mismatch.contains("is python 3.12.0, but the config asks for 3.11;"), "{mismatch}");
    let old = find(None, &forced(Path::new("python3.8"))).unwrap_err().to_string();
    assert!(old.contains("is python 3.8.0, older than 3.9"), "{old}");
    let missing = find(None, &forced(Path::new("/nowhere/python"))).unwrap_err().to_string();
    assert!(
        missing.starts_with("/nowhere/python cannot be used as the interpreter: no such program"),
        "{missing}"
    );
}

#[test]
fn a_second_search_runs_nothing_until_the_interpreter_changes() {
    let fakes = Fakes::new();
    let cache = tempfile::tempdir().unwrap();
    fakes.python("python3.11", (3, 11, 3));
    let search = Search { cache: Some(cache.path().join("made/when/needed")), ..fakes.search() };

    let first = find(None, &search).unwrap();
    assert_eq!(find(None, &search).unwrap(), first);
    assert_eq!(find(Some(&version("3.11")), &search).unwrap(), first);
    assert_eq!(fakes.runs("python3.11"), 1);

    fakes.python("python3.11", (3, 11, 4));
    assert_eq!(find(None, &search).unwrap().version, (3, 11, 4));
    assert_eq!(fakes.runs("python3.11"), 2);
}

#[test]
fn a_cache_that_is_corrupt_or_cannot_be_written_is_ignored() {
    let fakes = Fakes::new();
    let cache = tempfile::tempdir().unwrap();
    fakes.python("python3.11", (3, 11, 3));
    for rubbish in ["", "{", r#"{"format":999,"entries":{}}"#, "\0\0"] {
        fs::write(cache.path().join("pythons.json"), rubbish).unwrap();
        let search = Search { cache: Some(cache.path().into()), ..fakes.search() };
        assert_eq!(find(None, &search).unwrap().version, (3, 11, 3), "{rubbish:?}");
    }
    assert_eq!(fakes.runs("python3.11"), 4);
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1, "no drafts are left");

    // Not even root can make a directory below a file.
    let blocked = Search { cache: Some(cache.path().join("pythons.json/below")), ..fakes.search() };
    assert_eq!(find(None, &blocked).unwrap().version, (3, 11, 3));
}

#[test]
fn what_is_found_on_this_machine_describes_itself_truthfully() {
    let Ok(python) = find(None, &this_machine()) else {
        println!("skipped: no python on this machine");
        return;
    };
    assert!(python.version >= (3, 9, 0));
    assert!(python.stdlib.join("os.py").is_file());
    for path in [&python.executable, &python.prefix, &python.exec_prefix, &python.stdlib, &python.platstdlib]
    {
        assert_eq!(fs::canonicalize(path).unwrap(), *path, "paths are real");
    }
    let linked = Command::new("ldd").arg(&python.executable).output();
    if let Ok(linked) = linked.map(|output| String::from_utf8_lossy(&output.stdout).contains("libpython")) {
        assert_eq!(python.shared_library.is_some(), linked);
    }
}

#[test]
fn every_version_pyenv_keeps_can_be_asked_for() {
    let search = this_machine();
    let versions = search.home.as_ref().and_then(|home| fs::read_dir(home.join(".pyenv/versions")).ok());
    let names =
        versions.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut asked = 0;
    for name in names {
        let numbers: Vec<u8> = name.split('.').map_while(|number| number.parse().ok()).collect();
        let [major, minor, micro] = numbers[..] else {
            continue;
        };
        if (major, minor) < OLDEST {
            continue;
        }
        let python = find(Some(&version(&name)), &search).unwrap();
        assert_eq!(python.version, (major, minor, micro));
        readable_by_others(&python).unwrap();
        asked += 1;
    }
    if asked == 0 {
        println!("skipped: pyenv keeps no supported python here");
    }
}

#[test]
fn a_virtual_environment_is_traded_for_its_base() {
    let Ok(base) = find(None, &this_machine()) else {
        println!("skipped: no python on this machine");
        return;
    };
    for style in ["--copies", "--symlinks"] {
        let dir = tempfile::tempdir().unwrap();
        let venv = dir.path().join("venv");
        let made =
            Command::new(&base.executable).args(["-m", "venv", "--without-pip", style]).arg(&venv).output();
        if !made.is_ok_and(|made| made.status.success()) {
            println!("skipped: this python cannot make virtual environments");
            return;
        }
        let search = Search { explicit: Some(venv.join("bin/python3")), ..Search::default() };
        assert_eq!(find(None, &search).unwrap(), base, "{style}");
    }
}
