//! Packages: from options, from files, from the script itself, and what is kept of them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tempfile::TempDir;

use crate::belljar::{Outcome, belljar, command, finish};

/// Makes wheels in a directory. Each is a package with one value.
const MAKE_WHEELS: &str = r#"
import sys, zipfile
for name in sys.argv[2:]:
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": "VALUE = 42\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}-1.0-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
"#;

/// A cache of its own, and a place with wheels.
struct Place(TempDir);

impl Place {
    /// `None` if there is no pip. It prints the reason.
    fn new() -> Option<Self> {
        let has_pip = Command::new("/usr/bin/python3").args(["-m", "pip", "--version"]).output();
        if !has_pip.is_ok_and(|pip| pip.status.success()) {
            println!("dependencies: skipped (needs pip for /usr/bin/python3)");
            return None;
        }
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("wheels")).unwrap();
        let mut make = Command::new("/usr/bin/python3");
        make.args(["-c", MAKE_WHEELS]).arg(place.path("wheels")).args(["sample_one", "sample_two"]);
        assert!(make.status().unwrap().success());
        Some(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The command with this cache, without uv and without an index.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("BELLJAR_CACHE", self.path("cache")).env("PATH", "/usr/bin:/bin").env("HOME", "/nowhere");
        command.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", self.path("wheels"));
        command.env_remove("BELLJAR_PYTHON").env_remove("PYENV_ROOT");
        command
    }

    fn belljar(&self, arguments: &[&str]) -> Outcome {
        finish(self.command(arguments), "")
    }

    fn layers(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("cache/layers")).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    }

    /// Makes all layers look as if they were last used so long ago.
    fn age(&self, days: u32) {
        for layer in self.layers() {
            let mark = layer.with_extension("use.lock");
            let file = File::options().write(true).open(mark).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(24 * 60 * 60) * days).unwrap();
        }
    }
}

#[track_caller]
fn assert_refused(outcome: &Outcome, words: &[&str]) {
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:#?}");
    for word in words {
        assert!(outcome.stderr.contains(word), "{word:?} is not in {outcome:#?}");
    }
}

#[test]
fn an_install_nobody_watches_is_two_lines() {
    let Some(place) = Place::new() else { return };
    let run = ["run", "--dep", "sample_one", "--dep", "sample_two", "-c", "print('ran')"];
    let outcome = place.belljar(&run);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "ran\n"), "{outcome:#?}");
    let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.starts_with("belljar: ")).collect();
    assert_eq!(lines.len(), 2, "{outcome:#?}");
    assert_eq!(lines[0], "belljar: installing sample_one, sample_two (pip) …");
    assert!(
        lines[1].starts_with("belljar: installed 2 packages in ") && lines[1].ends_with(" s"),
        "{lines:?}"
    );
    let again = place.belljar(&run);
    assert_eq!((again.code, again.stderr.contains("install")), (Some(0), false), "{again:#?}");
}

#[test]
fn a_requirements_file_is_installed() {
    let Some(place) = Place::new() else { return };
    place.write("more.txt", "sample_two == 1.0\n");
    let file = place.write("requirements.txt", "# ours\nsample_one \\\n  >= 1  # the first\n-r more.txt\n");
    let code = "import sample_one, sample_two; print(sample_one.VALUE + sample_two.VALUE)";
    let outcome = place.belljar(&["run", "-r", &file, "-c", code]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "84\n"), "{outcome:#?}");

    place.write("more.txt", "\n--index-url https://evil.example\n");
    for command in [&["run", "-c", "1"][..], &["shell"], &["build"]] {
        let outcome = place.belljar(&[command, &["--requirements", &file]].concat());
        assert_refused(&outcome, &["requirements.txt:4: -r more.txt: ", "more.txt:2: ", "set PIP_INDEX_URL"]);
    }
}

#[test]
fn a_script_brings_its_own_packages_in_every_mode() {
    let Some(place) = Place::new() else { return };
    let script = place.write(
        "own.py",
        "# /// script\n# dependencies = ['sample_one']\n# requires-python = '>=3.9'\n# ///\n\
         import sample_one\nprint(sample_one.VALUE)\nemit_result(1)\n",
    );
    let outcome = place.belljar(&["run", &script]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "42\n1\n"), "{outcome:#?}");
    let outcome = place.belljar(&["run", "--mode", "plan", "--dep", "sample_two", &script]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "42\n1\n"), "{outcome:#?}");
    let outcome = finish(place.command(&["run", "-"]), fs::read(&script).unwrap());
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "42\n1\n"), "{outcome:#?}");
}

#[test]
fn a_script_that_describes_itself_badly_is_refused_with_the_line() {
    let Some(place) = Place::new() else { return };
    for (block, words) in [
        (
            "# dependencies = ['-r x']\n# ///\n",
            &["script own.py: line 2: dependency \"-r x\" is refused"][..],
        ),
        ("# dependencies = [\n# ///\n", &["script own.py: line 2: ", "cannot be read: unclosed array"]),
        ("import os\n", &["script own.py: line 1: ", "has no end"]),
        ("# dependencies = ['./here']\n# ///\n", &["script own.py: dependencies[0]", "allow_source_builds"]),
        (
            "#\n# requires-python = '>=3.99'\n# ///\n",
            &["line 3: requires-python is \">=3.99\"", "no such Python"],
        ),
    ] {
        let script = place.write("own.py", &format!("# /// script\n{block}"));
        assert_refused(&place.belljar(&["run", &script]), words);
    }
    let script = place.write("own.py", "# /// script\n# requires-python = '<3.10'\n# ///\n");
    let outcome = place.belljar(&["run", "--python", "3.11", &script]);
    assert_refused(&outcome, &["script own.py: line 2: requires-python is \"<3.10\"", "Python 3.11"]);
}

/// It needs a second Python beside the usual one.
#[test]
fn a_script_gets_a_python_that_it_runs_on() {
    let code =
        "# /// script\n# requires-python = '>=3.12'\n# ///\nimport sys\nprint(sys.version_info >= (3, 12))\n";
    let outcome = belljar(&["run", "-"], code);
    if outcome.code == Some(2) && outcome.stderr.contains("no such Python") {
        println!("requires-python: skipped (there is no Python 3.12 or newer)");
        return;
    }
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "True\n"), "{outcome:#?}");
}

#[test]
fn a_missing_module_is_answered_with_the_option_that_installs_it() {
    for (module, help) in [
        ("sklearn.cluster", "help: install it with --dep scikit-learn\n"),
        (
            "no_such_helper",
            "help: if no_such_helper is a package that you trust, install it with --dep no_such_helper\n",
        ),
    ] {
        let outcome = belljar(&["run", "-c", &format!("import {module}")], "");
        assert_eq!(outcome.code, Some(1), "{outcome:#?}");
        assert!(outcome.stderr.contains(help), "{outcome:#?}");
    }
}

#[test]
fn the_cache_is_listed_measured_pruned_and_cleared() {
    let Some(place) = Place::new() else { return };
    let empty = place.belljar(&["cache", "ls", "--json"]);
    assert_eq!((empty.code, empty.json()), (Some(0), json!({"layers": [], "wheels": 0, "bytes": 0})));
    assert!(!place.path("cache").exists(), "a look makes nothing");
    for dependencies in [&["--dep", "sample_one"][..], &["--dep", "sample_one", "--dep", "sample_two"]] {
        assert_eq!(place.belljar(&[&["run", "-c", "1"], dependencies].concat()).code, Some(0));
    }
    let kept = place.belljar(&["cache", "ls", "--json"]).json();
    assert_eq!((kept["layers"].as_array().unwrap().len(), &kept["wheels"]), (2, &json!(2)));
    assert_eq!(kept["layers"][0]["requirements"], json!(["sample_one", "sample_two"]));
    assert_eq!(kept["layers"][0]["packages"], json!(["sample_one==1.0", "sample_two==1.0"]));
    assert_eq!(kept["layers"][0]["in_use"], json!(false));
    assert_eq!(place.belljar(&["cache", "size", "--json"]).json()["bytes"], kept["bytes"]);
    assert!(place.belljar(&["cache", "size"]).stdout.contains("KiB"));
    let listed = place.belljar(&["cache", "ls"]).stdout;
    assert!(
        listed.lines().any(|line| line.starts_with("today ") && line.ends_with("sample_one, sample_two")),
        "{listed}"
    );

    assert_eq!(place.belljar(&["cache", "prune", "--json"]).json()["removed"], json!([]));
    place.age(31);
    let would = place.belljar(&["cache", "prune", "--dry-run", "--json"]).json();
    assert_eq!((would["removed"].as_array().unwrap().len(), &would["bytes"]), (2, &kept["bytes"]));
    assert_eq!(place.layers().len(), 2);
    assert_eq!(place.belljar(&["cache", "prune", "--older-than", "5w"]).stdout, "");
    let pruned = place.belljar(&["cache", "prune"]);
    assert!(pruned.stdout.contains("removed sample_one, sample_two (Python 3."), "{pruned:#?}");
    assert!(place.layers().is_empty());

    assert_eq!(place.belljar(&["run", "-c", "1", "--dep", "sample_one"]).code, Some(0));
    assert_refused(&place.belljar(&["cache", "clear"]), &["--yes"]);
    assert_eq!(place.layers().len(), 1);
    assert_eq!(place.belljar(&["cache", "clear", "--yes"]).code, Some(0));
    assert_eq!(place.belljar(&["cache", "size", "--json"]).json()["bytes"], json!(0));
    assert_refused(&place.belljar(&["cache", "prune", "--older-than", "30"]), &["such as 12h, 30d or 8w"]);
}

#[test]
fn packages_that_a_sandbox_of_another_process_has_are_not_removed() {
    let Some(place) = Place::new() else { return };
    let mut shell = place.command(&["shell", "--dep", "sample_one"]).spawn().unwrap();
    let mut stdin = shell.stdin.take().unwrap();
    let mut stdout = BufReader::new(shell.stdout.take().unwrap());
    let mut step = |code: &str| {
        stdin.write_all(code.as_bytes()).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        line
    };
    assert_eq!(step("print('ready')\n"), "ready\n");
    place.age(40);
    let cleared = place.belljar(&["cache", "clear", "--yes"]);
    assert!(cleared.stderr.contains("1 set of packages is in use and stays"), "{cleared:#?}");
    assert!(place.belljar(&["cache", "ls"]).stdout.contains("in use "));
    assert_eq!(step("import sample_one; print(sample_one.VALUE)\n"), "42\n");
    drop(stdin);
    assert!(shell.wait().unwrap().success());
    let cleared = place.belljar(&["cache", "clear", "--yes", "--json"]).json();
    assert_eq!((cleared["removed"].as_array().unwrap().len(), &cleared["in_use"]), (1, &json!(0)));
}
