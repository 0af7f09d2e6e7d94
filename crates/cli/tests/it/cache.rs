//! Several users share one cache. Each one is a real user, so the tests need root.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::belljar::{Outcome, belljar, command, finish};

const ANN: u32 = 54_001;
const EVE: u32 = 54_002;

/// A wheel is a zip with a known layout.
const MAKE_WHEEL: &str = r#"
import sys, zipfile
info = "belljar_sample-1.0.dist-info"
files = {
    "belljar_sample/__init__.py": "VALUE = 42\n",
    f"{info}/METADATA": "Metadata-Version: 2.1\nName: belljar_sample\nVersion: 1.0\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(f"{sys.argv[1]}/belljar_sample-1.0-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
"#;

struct Machine {
    directory: TempDir,
}

impl Machine {
    /// `None` if this process cannot become these users. It prints the reason.
    fn new() -> Option<Self> {
        let has_pip = Command::new("/usr/bin/python3").args(["-m", "pip", "--version"]).output();
        if !rustix::process::geteuid().is_root() || !has_pip.is_ok_and(|pip| pip.status.success()) {
            println!("users: skipped (needs root, and pip for /usr/bin/python3)");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        open(directory.path(), 0o755);
        let wheels = directory.path().join("wheels");
        fs::create_dir(&wheels).unwrap();
        let made = Command::new("/usr/bin/python3").args(["-c", MAKE_WHEEL]).arg(&wheels).status().unwrap();
        assert!(made.success());
        Some(Self { directory })
    }

    fn directory(&self, name: &str, owner: u32, mode: u32) -> std::path::PathBuf {
        let path = self.directory.path().join(name);
        fs::create_dir(&path).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
        open(&path, mode);
        path
    }

    /// Uses the package as one of the users, with this cache.
    fn run_as(&self, user: u32, cache: &Path) -> Outcome {
        let mut run = command(&["run", "--dep", "belljar_sample", "-"]);
        run.env("BELLJAR_CACHE", cache).env("PATH", "/usr/bin:/bin").env("HOME", "/nowhere");
        run.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", self.directory.path().join("wheels"));
        run.env_remove("BELLJAR_PYTHON").env_remove("PYENV_ROOT");
        run.uid(user).gid(user);
        finish(run, "import belljar_sample\nemit_result(belljar_sample.VALUE)")
    }
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn assert_ran(outcome: &Outcome) {
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "42\n"), "{outcome:#?}");
}

#[track_caller]
fn assert_refused(outcome: &Outcome, why: &str) {
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:#?}");
    assert!(outcome.stderr.contains("the cache of packages is not used"), "{outcome:#?}");
    assert!(outcome.stderr.contains(why) && outcome.stderr.contains("BELLJAR_CACHE"), "{outcome:#?}");
}

#[test]
fn nobody_uses_a_cache_that_another_user_could_change() {
    let Some(machine) = Machine::new() else { return };
    let anns = machine.directory("anns", ANN, 0o755);
    assert_ran(&machine.run_as(ANN, &anns));
    assert_ran(&machine.run_as(ANN, &anns));
    for user in [EVE, 0] {
        assert_refused(&machine.run_as(user, &anns), &format!("anns belongs to user {ANN}"));
    }
    // Nobody uses a cache with a file that she owns either.
    let roots = machine.directory("roots", 0, 0o755);
    assert_ran(&machine.run_as(0, &roots));
    let layers: Vec<_> =
        fs::read_dir(roots.join("layers")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let layer = layers.iter().find(|path| path.is_dir()).expect("a layer was made");
    chown(layer.join("belljar_sample/__init__.py"), Some(ANN), None).unwrap();
    assert_refused(&machine.run_as(0, &roots), &format!("__init__.py belongs to user {ANN}"));
    assert_refused(&machine.run_as(EVE, &roots), &format!("__init__.py belongs to user {ANN}"));
}

#[test]
fn what_root_keeps_is_good_enough_for_everybody() {
    let Some(machine) = Machine::new() else { return };
    let roots = machine.directory("roots", 0, 0o755);
    assert_ran(&machine.run_as(0, &roots));
    assert_ran(&machine.run_as(ANN, &roots));
    assert_ran(&machine.run_as(EVE, &roots));
}

#[test]
fn whoever_may_only_read_a_cache_can_list_it_and_removes_nothing() {
    let Some(machine) = Machine::new() else { return };
    let roots = machine.directory("roots", 0, 0o755);
    assert_ran(&machine.run_as(0, &roots));
    let cache = |arguments: &[&str], user: u32| {
        let mut cache = command(&[&["cache"], arguments].concat());
        cache.env("BELLJAR_CACHE", &roots).uid(user).gid(user);
        finish(cache, "")
    };
    let listed = cache(&["ls", "--json"], ANN).json();
    assert_eq!(listed["layers"][0]["requirements"], serde_json::json!(["belljar_sample"]));
    let refused = cache(&["clear", "--yes"], ANN);
    assert!(refused.code == Some(3) && refused.stderr.contains("Permission denied"), "{refused:#?}");
    assert_ran(&machine.run_as(ANN, &roots));
    let anns = machine.directory("anns", ANN, 0o755);
    assert_ran(&machine.run_as(ANN, &anns));
    let mut stranger = command(&["cache", "clear", "--yes"]);
    stranger.env("BELLJAR_CACHE", &anns);
    assert_refused(&finish(stranger, ""), &format!("anns belongs to user {ANN}"));
    assert_eq!(cache(&["clear", "--yes"], 0).code, Some(0));
    assert_eq!(cache(&["ls", "--json"], 0).json()["layers"], serde_json::json!([]));
}

#[test]
fn whoever_comes_first_in_a_shared_place_is_believed_by_themselves_only() {
    let Some(machine) = Machine::new() else { return };
    let shared = machine.directory("shared", 0, 0o1777);
    assert_ran(&machine.run_as(EVE, &shared.join("cache")));
    assert_ran(&machine.run_as(EVE, &shared.join("cache")));
    assert_refused(&machine.run_as(ANN, &shared.join("cache")), &format!("cache belongs to user {EVE}"));
    let open = machine.directory("open", 0, 0o777);
    assert_refused(&machine.run_as(ANN, &open.join("cache")), "open can be written by others (mode 777)");
}

#[test]
fn interpreters_that_another_user_remembers_are_not_believed() {
    let Some(machine) = Machine::new() else { return };
    let eves = machine.directory("eves", EVE, 0o755);
    // A fake interpreter that she wants others to use, with a stamp that fits.
    let mut find = command(&["run", "-"]);
    find.env("BELLJAR_CACHE", &eves).env("PATH", "/usr/bin:/bin").env("HOME", "/nowhere").uid(EVE).gid(EVE);
    assert_eq!(finish(find, "emit_result(1)").code, Some(0));
    let pythons = eves.join("pythons.json");
    let evil =
        fs::read_to_string(&pythons).unwrap().replace("\"stdlib\": \"/usr/lib", "\"stdlib\": \"/no/such");
    assert!(evil.contains("/no/such"), "{evil}");
    fs::write(&pythons, evil.replace("/no/such", "/etc/../usr/lib")).unwrap();
    let mut other = command(&["run", "-"]);
    other
        .env("BELLJAR_CACHE", &eves)
        .env("BELLJAR_LOG", "debug")
        .env("PATH", "/usr/bin:/bin")
        .uid(ANN)
        .gid(ANN);
    let outcome = finish(other, "emit_result(1)");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "1\n"), "{outcome:#?}");
    assert!(outcome.stderr.contains("no interpreters are remembered there"), "{outcome:#?}");
}

#[test]
fn doctor_says_when_a_cache_will_not_be_used() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path(), 0o777);
    let mut doctor = command(&["doctor"]);
    doctor.env("BELLJAR_CACHE", directory.path());
    let outcome = finish(doctor, "");
    assert!(outcome.stdout.contains("can be written by others (mode 777)"), "{outcome:#?}");
    assert!(belljar(&["doctor"], "").stdout.contains("cache"));
}

#[test]
fn a_full_disk_is_not_the_callers_fault() {
    let Some(machine) = Machine::new() else { return };
    let small = machine.directory("small", 0, 0o755);
    let run = command(&["run", "--dep", "belljar_sample", "-"]);
    // In a mount namespace of its own, so that the small disk goes with it.
    let mut unshared = Command::new("unshare");
    let script = "mount -t tmpfs -o size=4k,mode=755 small \"$1\" && shift && exec \"$@\"";
    unshared
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(&small)
        .arg(run.get_program())
        .args(run.get_args());
    unshared
        .env("BELLJAR_CACHE", &small)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/nowhere");
    unshared.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", machine.directory.path().join("wheels"));
    unshared.env_remove("BELLJAR_PYTHON").env_remove("PYENV_ROOT");
    unshared.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let outcome = finish(unshared, "emit_result(1)");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""), "{outcome:#?}");
    let said = ["the disk is full", "No space left on device"];
    assert!(said.iter().any(|words| outcome.stderr.contains(words)), "{outcome:#?}");
}
