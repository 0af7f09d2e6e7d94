//! Real installers make layers from wheels that the tests build. They use no network.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;

use tempfile::TempDir;

use super::*;
use crate::Progress;
use crate::python::{self, Interpreter, Search};

/// Makes a wheel (name, version, requirements) in a directory. A wheel is a zip with some metadata.
const MAKE_WHEEL: &str = r#"
import sys, zipfile
directory, name, version, *requires = sys.argv[1:]
info = f'{name}-{version}.dist-info'
metadata = f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n'
metadata += ''.join(f'Requires-Dist: {other}\n' for other in requires)
with zipfile.ZipFile(f'{directory}/{name}-{version}-py3-none-any.whl', 'w') as wheel:
    wheel.writestr(f'{name}/__init__.py', f'VERSION = {version!r}\n')
    wheel.writestr(f'{info}/METADATA', metadata)
    wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    names = [f'{name}/__init__.py', f'{info}/METADATA', f'{info}/WHEEL', f'{info}/RECORD']
    wheel.writestr(f'{info}/RECORD', ''.join(f'{name},,\n' for name in names))
"#;

/// Makes a source release. If its build ever ran, it would leave a file.
const MAKE_SOURCE: &str = r#"
import io, sys, tarfile
directory, name, version, trap = sys.argv[1:]
with tarfile.open(f'{directory}/{name}-{version}.tar.gz', 'w:gz') as archive:
    for path, text in [('setup.py', f'open({trap!r}, "w")'), ('PKG-INFO', f'Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n')]:
        member = tarfile.TarInfo(f'{name}-{version}/{path}')
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
"#;

/// An interpreter with pip, and a directory of wheels.
pub(super) struct Bench {
    pub(super) dir: TempDir,
    pub(super) interpreter: Interpreter,
}

impl Bench {
    /// `None` if no Python of this machine has pip. It prints the reason.
    pub(super) fn new() -> Option<Self> {
        static WITH_PIP: OnceLock<Option<Interpreter>> = OnceLock::new();
        let Some(interpreter) = WITH_PIP.get_or_init(python_with_pip) else {
            println!("skipped: no python with pip on this machine");
            return None;
        };
        let bench = Self { dir: tempfile::tempdir().unwrap(), interpreter: interpreter.clone() };
        fs::create_dir(bench.shelf()).unwrap();
        bench.wheel("parcel", "1.0", &["cordage>=2"]);
        bench.wheel("parcel", "1.1", &["cordage>=2"]);
        bench.wheel("cordage", "2.5", &[]);
        Some(bench)
    }

    pub(super) fn shelf(&self) -> PathBuf {
        self.dir.path().join("shelf")
    }

    pub(super) fn root(&self) -> PathBuf {
        self.dir.path().join("layers")
    }

    pub(super) fn wheel(&self, name: &str, version: &str, requires: &[&str]) {
        self.make(MAKE_WHEEL, &[&[name, version], requires].concat());
    }

    pub(super) fn make(&self, how: &str, arguments: &[&str]) {
        let mut python = Command::new(&self.interpreter.executable);
        let made = python.args(["-I", "-c", how]).arg(self.shelf()).args(arguments).status().unwrap();
        assert!(made.success());
    }

    /// A store that installs only from that directory, with pip.
    pub(super) fn store(&self) -> LayerStore {
        self.store_in(self.root())
    }

    /// The same store in another place.
    pub(super) fn store_in(&self, root: PathBuf) -> LayerStore {
        let shelf = self.shelf().into_os_string();
        let variables =
            [("PIP_NO_INDEX", "1".into()), ("PIP_FIND_LINKS", shelf), ("PATH", "/nowhere".into())];
        LayerStore::new(root).with_env(variables)
    }

    pub(super) fn spec(&self, requirements: &[&str]) -> LayerSpec {
        LayerSpec {
            requirements: requirements.iter().map(|&requirement| requirement.into()).collect(),
            interpreter: self.interpreter.clone(),
            allow_source_builds: false,
        }
    }

    /// What is in the store besides lock files.
    pub(super) fn contents(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root()) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".lock")).collect()
    }

    pub(super) fn import(&self, layer: &Layer, expression: &str) -> String {
        let code = format!(
            "import sys; sys.path.insert(0, sys.argv[1]); import parcel, cordage; print({expression})"
        );
        let output = Command::new(&self.interpreter.executable)
            .args(["-I", "-S", "-c", &code])
            .arg(&layer.path)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

fn python_with_pip() -> Option<Interpreter> {
    let search = Search { explicit: None, ..Search::from_env(None) };
    let wanted = ["3.11", "3.12", "3.10", "3.13", "3.9", "3.14"].map(|text| text.parse().ok());
    let found = wanted.into_iter().flatten().filter_map(|version| python::find(Some(&version), &search).ok());
    found.into_iter().find(|interpreter| {
        let answer = Command::new(&interpreter.executable).args(["-m", "pip", "--version"]).output();
        answer.is_ok_and(|answer| answer.status.success())
    })
}

pub(super) fn quiet() -> impl FnMut(Progress) {
    |_| {}
}

fn modes_below(path: &Path, check: &mut dyn FnMut(&Path, u32)) {
    let meta = fs::symlink_metadata(path).unwrap();
    check(path, meta.permissions().mode());
    if meta.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            modes_below(&entry.unwrap().path(), check);
        }
    }
}

#[test]
fn a_layer_is_installed_once_and_found_again() {
    let Some(bench) = Bench::new() else { return };
    let mut seen = Vec::new();
    let made = bench.store().ensure(&bench.spec(&["parcel==1.0"]), &mut |step| seen.push(step)).unwrap();
    assert!(!made.cached);
    assert_eq!(made.path, bench.root().join(&made.key));
    assert_eq!(bench.contents(), [made.key.as_str()]);
    assert_eq!(
        seen.first(),
        Some(&Progress::Started { installer: "pip".into(), requirements: vec!["parcel==1.0".into()] })
    );
    assert!(
        seen.iter().any(|step| matches!(step, Progress::Line(line) if line.contains("parcel"))),
        "{seen:?}"
    );
    assert!(matches!(seen.last(), Some(Progress::Done { .. })), "{seen:?}");

    assert_eq!(bench.import(&made, "parcel.VERSION, parcel.__cached__ is not None"), "1.0 True");
    let versions: Vec<_> = made.distributions().unwrap().into_iter().map(|d| (d.name, d.version)).collect();
    assert_eq!(versions, [("cordage".into(), "2.5".into()), ("parcel".into(), "1.0".into())]);

    let mut seen = Vec::new();
    let again =
        bench.store().ensure(&bench.spec(&["parcel==1.0", "parcel==1.0 "]), &mut |step| seen.push(step));
    let again = again.unwrap();
    assert!(again.cached);
    assert_eq!((again.path, again.key), (made.path, made.key));
    assert_eq!(seen, [], "a layer that is there has nothing to report");
}

#[test]
fn a_layer_is_compiled_and_readable_by_everyone_whatever_the_umask() {
    let Some(bench) = Bench::new() else { return };
    let store = bench.store().with_env([
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PIP_TARGET", "/nowhere"),
        ("PIP_USER", "1"),
    ]);
    let layer = store.ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap();
    let mut compiled = 0;
    modes_below(&layer.path, &mut |path, mode| {
        let needed = if path.is_dir() { 0o555 } else { 0o444 };
        assert_eq!(mode & needed, needed, "{} has mode {mode:o}", path.display());
        assert_eq!(mode & 0o7022, 0, "{} has mode {mode:o}", path.display());
        compiled += usize::from(path.extension().is_some_and(|extension| extension == "pyc"));
    });
    assert_eq!(compiled, 2);
}

#[test]
fn makers_at_the_same_time_install_once() {
    let Some(bench) = Bench::new() else { return };
    let starts = Mutex::new(0);
    let layers: Vec<Layer> = thread::scope(|scope| {
        let one = || {
            let count =
                &mut |step| *starts.lock().unwrap() += usize::from(matches!(step, Progress::Started { .. }));
            bench.store().ensure(&bench.spec(&["parcel"]), count).unwrap()
        };
        let makers: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    assert_eq!(*starts.lock().unwrap(), 1);
    assert_eq!(layers.iter().filter(|layer| !layer.cached).count(), 1);
    assert_eq!(bench.contents(), [layers[0].key.as_str()]);
}

/// `flock(1)` plays the other process. It holds the lock until its input ends.
#[test]
fn a_layer_another_process_is_making_is_waited_for() {
    let Some(bench) = Bench::new() else { return };
    let spec = bench.spec(&["parcel"]);
    fs::create_dir(bench.root()).unwrap();
    let lock = bench.root().join(format!("{}.lock", spec.key()));
    let held = Command::new("flock")
        .arg(&lock)
        .args(["sh", "-c", "echo held; cat"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut holder) = held else {
        println!("skipped: no flock program on this machine");
        return;
    };
    let mut word = [0; 5];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut word).unwrap();

    let (told, steps) = mpsc::channel();
    thread::scope(|scope| {
        let maker = scope.spawn(|| bench.store().ensure(&spec, &mut move |step| told.send(step).unwrap()));
        assert_eq!(steps.recv().unwrap(), Progress::Waiting);
        assert!(steps.try_recv().is_err(), "nothing starts while the lock is held");
        drop(holder.stdin.take());
        assert!(!maker.join().unwrap().unwrap().cached);
    });
    holder.wait().unwrap();
}

#[test]
fn a_wait_for_another_maker_can_be_stopped() {
    let Some(bench) = Bench::new() else { return };
    let spec = bench.spec(&["parcel"]);
    fs::create_dir(bench.root()).unwrap();
    let lock = fs::File::create(bench.root().join(format!("{}.lock", spec.key()))).unwrap();
    lock.lock().unwrap();
    let (stopper, stop) = Stop::pair().unwrap();
    let mut stopper = Some(stopper);
    let outcome = bench.store().ensure_unless(&stop, &spec, &mut |step| {
        assert_eq!(step, Progress::Waiting);
        drop(stopper.take());
    });
    assert!(matches!(outcome, Err(LayerError::Stopped)), "{outcome:?}");
}

#[test]
fn a_requirement_that_cannot_be_had_is_explained_and_leaves_nothing() {
    let Some(bench) = Bench::new() else { return };
    for (requirement, hint) in [("no-such-parcel", Hint::NoWheelOrName), ("parcel==9.9", Hint::NoWheelOrName)]
    {
        let error = bench.store().ensure(&bench.spec(&["cordage", requirement]), &mut quiet()).unwrap_err();
        let text = error.to_string();
        let LayerError::Install { hint: given, requirements, tail, status, .. } = error else {
            panic!("{text}")
        };
        assert_eq!(given, Some(hint), "{text}");
        assert_eq!(requirements.len(), 2);
        assert!(!status.success());
        assert!((1..=20).contains(&tail.len()));
        assert!(text.starts_with("pip could not install ") && text.contains(&hint.to_string()), "{text}");
    }
    assert!(bench.contents().is_empty(), "{:?}", bench.contents());
}

#[test]
fn requirements_that_contradict_each_other_are_called_so() {
    let Some(bench) = Bench::new() else { return };
    let error = bench.store().ensure(&bench.spec(&["parcel", "cordage<2"]), &mut quiet()).unwrap_err();
    assert!(
        matches!(error, LayerError::Install { hint: Some(Hint::NoWheelOrName | Hint::Conflict), .. }),
        "{error}"
    );
    bench.wheel("cordage", "1.0", &[]);
    let error = bench.store().ensure(&bench.spec(&["parcel", "cordage<2"]), &mut quiet()).unwrap_err();
    assert!(matches!(error, LayerError::Install { hint: Some(Hint::Conflict), .. }), "{error}");
}

#[test]
fn source_is_not_built_without_leave() {
    let Some(bench) = Bench::new() else { return };
    let trap = bench.dir.path().join("built");
    bench.make(MAKE_SOURCE, &["rawhide", "1.0", trap.to_str().unwrap()]);
    let store = bench.store().with_env([("PIP_NO_BINARY", ":all:")]);
    let error = store.ensure(&bench.spec(&["rawhide"]), &mut quiet()).unwrap_err().to_string();
    assert!(error.contains("set allow_source_builds = true"), "{error}");
    assert!(!trap.exists(), "the package's code ran on the host");
}

#[test]
fn a_requirement_like_an_option_is_refused_before_anything_starts() {
    let Some(bench) = Bench::new() else { return };
    let spec = bench.spec(&["parcel", "--index-url=https://evil.example"]);
    let error = bench.store().ensure(&spec, &mut |step| panic!("{step:?}")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "requirement \"--index-url=https://evil.example\" is refused: it must not hold a word that begins with `-`, because the installer would take it for an option"
    );
    let error = bench.store().ensure(&bench.spec(&[]), &mut quiet()).unwrap_err();
    assert!(matches!(error, LayerError::NoRequirements));
    assert!(!bench.root().exists());
}

#[test]
fn what_an_interrupted_maker_left_is_swept_and_never_taken_for_a_layer() {
    let Some(bench) = Bench::new() else { return };
    let spec = bench.spec(&["parcel"]);
    let (key, other, busy) = (spec.key(), "a".repeat(64), "b".repeat(64));
    let left = |name: &str| {
        fs::create_dir_all(bench.root().join(name).join("layer/parcel")).unwrap();
        fs::write(bench.root().join(name).join("layer/parcel/__init__.py"), "half a fi").unwrap();
    };
    let own = format!(".tmp-{key}-{}", std::process::id());
    let names = [
        own,
        format!(".tmp-{key}-1"),
        format!(".tmp-{other}-1"),
        format!(".tmp-{busy}-1"),
        ".tmp-mine".into(),
    ];
    names.iter().for_each(|name| left(name));
    // A directory without a manifest is not a layer either.
    left(&key);
    let at_work = fs::File::create(bench.root().join(format!("{busy}.lock"))).unwrap();
    at_work.lock().unwrap();

    let layer = bench.store().ensure(&spec, &mut quiet()).unwrap();
    assert!(!layer.cached);
    assert_eq!(bench.import(&layer, "parcel.VERSION"), "1.1");
    let mut contents = bench.contents();
    contents.sort();
    let mut expected = vec![format!(".tmp-{busy}-1"), ".tmp-mine".into(), key];
    expected.sort();
    assert_eq!(contents, expected, "what is being made, and what is not ours, stays");
}

#[test]
fn a_python_without_pip_gets_advice() {
    let Some(bench) = Bench::new() else { return };
    let venv = bench.dir.path().join("venv");
    let made =
        Command::new(&bench.interpreter.executable).args(["-m", "venv", "--without-pip"]).arg(&venv).output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("skipped: this python cannot make virtual environments");
        return;
    }
    let mut spec = bench.spec(&["parcel"]);
    spec.interpreter.executable = venv.join("bin/python3");
    let error = bench.store().ensure(&spec, &mut quiet()).unwrap_err().to_string();
    assert!(error.contains("python -m pip is missing: install python3-pip or uv"), "{error}");

    spec.interpreter.executable = "/nowhere/python3".into();
    let error = bench.store().ensure(&spec, &mut quiet()).unwrap_err().to_string();
    assert_eq!(error, "cannot start pip (/nowhere/python3)");
}

#[test]
fn an_index_that_cannot_be_reached_is_called_so() {
    let Some(bench) = Bench::new() else { return };
    // Nobody listens on port 9 of the loopback, and nothing leaves the machine.
    let variables =
        [("PIP_INDEX_URL", "http://127.0.0.1:9/simple"), ("PIP_RETRIES", "1"), ("PATH", "/nowhere")];
    let proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"].map(|name| (name, ""));
    let store = LayerStore::new(bench.root()).with_env(variables).with_env(proxies);
    let error = store.ensure(&bench.spec(&["parcel"]), &mut quiet()).unwrap_err();
    assert!(matches!(error, LayerError::Install { hint: Some(Hint::Network), .. }), "{error}");
}

#[test]
fn uv_makes_the_same_layer_as_pip() {
    let Some(bench) = Bench::new() else { return };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cache = bench.dir.path().join("cache").into_os_string();
    let store = bench.store().with_env([("PATH", path), ("UV_CACHE_DIR", cache)]);
    let mut installer = None;
    let mut watch = |step| {
        if let Progress::Started { installer: chosen, .. } = step {
            installer = Some(chosen);
        }
    };
    let layer = store.ensure(&bench.spec(&["parcel==1.0"]), &mut watch).unwrap();
    if installer.as_deref() == Some("pip") {
        println!("skipped: no uv on this machine");
        return;
    }
    assert_eq!(bench.import(&layer, "parcel.VERSION, parcel.__cached__ is not None"), "1.0 True");
    assert_eq!(layer.distributions().unwrap().len(), 2);
    assert!(layer.path.join("parcel/__pycache__").is_dir());
    assert!(!layer.path.join(".lock").exists());

    for (requirement, hint) in [("no-such-parcel", Hint::NoMatch), ("parcel==9.9", Hint::NoMatch)] {
        let error = store.ensure(&bench.spec(&[requirement]), &mut quiet()).unwrap_err();
        assert!(matches!(&error, LayerError::Install { hint: Some(given), .. } if *given == hint), "{error}");
    }
    let trap = bench.dir.path().join("built");
    bench.make(MAKE_SOURCE, &["rawhide", "1.0", trap.to_str().unwrap()]);
    let error = store.ensure(&bench.spec(&["rawhide"]), &mut quiet()).unwrap_err();
    assert!(matches!(&error, LayerError::Install { hint: Some(Hint::NoWheel), .. }), "{error}");
    assert!(!trap.exists(), "the package's code ran on the host");
}
