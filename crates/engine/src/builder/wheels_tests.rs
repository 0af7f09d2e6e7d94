//! Layers that share unpacked wheels, and layers that go.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::inventory::Prune;
use super::tests::{Bench, quiet};
use super::*;
use crate::Progress;

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Bench {
    fn wheels(&self) -> PathBuf {
        self.dir.path().join("wheels")
    }

    /// A store that keeps wheels, with pip.
    fn sharing(&self) -> LayerStore {
        self.store().with_wheels(self.wheels())
    }

    /// The same with pip and, if there is one, with uv.
    fn sharing_with_each(&self) -> Vec<LayerStore> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = || std::env::split_paths(&path).map(|place| place.join("uv"));
        let mut stores = vec![self.sharing()];
        if places().any(|uv| uv.is_file()) {
            let cache: OsString = self.dir.path().join("uv-cache").into();
            let (root, wheels) = (self.dir.path().join("uv-layers"), self.dir.path().join("uv-wheels"));
            let variables = [("PATH", path.clone()), ("UV_CACHE_DIR", cache)];
            stores.push(self.store_in(root).with_wheels(wheels).with_env(variables));
        } else {
            println!("uv: skipped (there is none on this machine)");
        }
        stores
    }

    fn layer(&self, requirements: &[&str]) -> Layer {
        self.sharing().ensure(&self.spec(requirements), &mut quiet()).unwrap()
    }

    /// Makes a layer look as if it was last used so long ago.
    fn age(&self, key: &str, days: u32) {
        let file = File::options().write(true).open(self.root().join(format!("{key}.use.lock"))).unwrap();
        file.set_modified(SystemTime::now() - days * A_DAY).unwrap();
    }

    fn kept_wheels(&self) -> Vec<String> {
        let entries = fs::read_dir(self.wheels()).unwrap().map(|entry| entry.unwrap().path());
        let names = entries.filter(|path| path.is_dir()).flat_map(|wheel| {
            let files =
                fs::read_dir(wheel).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            files.filter(|name| name.ends_with(".dist-info")).collect::<Vec<_>>()
        });
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

fn number(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[test]
fn a_layer_with_one_package_more_links_what_is_there_and_unpacks_the_rest() {
    let Some(bench) = Bench::new() else { return };
    for store in bench.sharing_with_each() {
        let mut installer = String::new();
        let mut watch = |step| {
            if let Progress::Started { installer: chosen, .. } = step {
                installer = chosen;
            }
        };
        let first = store.ensure(&bench.spec(&["cordage"]), &mut watch).unwrap();
        let second = store.ensure(&bench.spec(&["cordage", "parcel==1.0"]), &mut watch).unwrap();
        assert!(!second.cached);
        for file in ["cordage/__init__.py", "cordage-2.5.dist-info/METADATA"] {
            assert_eq!(
                number(&first.path.join(file)),
                number(&second.path.join(file)),
                "{installer}: {file}"
            );
        }
        let compiled =
            fs::read_dir(second.path.join("cordage/__pycache__")).unwrap().next().unwrap().unwrap();
        let before = first.path.join("cordage/__pycache__").join(compiled.file_name());
        assert_eq!(number(&before), number(&compiled.path()), "{installer}");
        assert_eq!(bench.import(&second, "parcel.VERSION, cordage.VERSION"), "1.0 2.5", "{installer}");
        let names: Vec<_> = second.distributions().unwrap().into_iter().map(|each| each.name).collect();
        assert_eq!(names, ["cordage", "parcel"], "{installer}");
        let mode = fs::metadata(second.path.join("parcel/__init__.py")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o444, "{installer}: a shared file is writable by nobody");
        assert!(!second.path.join(".lock").exists());
    }
}

#[test]
fn pip_is_asked_once_if_nothing_is_there_and_for_the_rest_if_something_is() {
    let Some(bench) = Bench::new() else { return };
    let asked = |requirements: &[&str]| {
        let mut lines = Vec::new();
        let mut watch = |step| {
            if let Progress::Line(line) = step {
                lines.push(line);
            }
        };
        bench.sharing().ensure(&bench.spec(requirements), &mut watch).unwrap();
        let installed = lines.iter().filter(|line| line.starts_with("Successfully installed"));
        let resolved = lines.iter().any(|line| line.starts_with("Would install"));
        (installed.cloned().collect::<Vec<_>>().join(" and "), resolved)
    };
    assert_eq!(asked(&["cordage"]), ("Successfully installed cordage-2.5".into(), false));
    assert_eq!(
        asked(&["parcel==1.0"]),
        ("Successfully installed cordage-2.5 parcel-1.0".into(), false),
        "what is asked for is not kept, and pip finds out alone what it needs"
    );
    assert_eq!(asked(&["cordage", "parcel==1.1"]), ("Successfully installed parcel-1.1".into(), true));
    assert_eq!(asked(&["cordage", "parcel"]), (String::new(), true), "all is there");
    assert_eq!(
        bench.kept_wheels(),
        ["cordage-2.5.dist-info", "parcel-1.0.dist-info", "parcel-1.1.dist-info"]
    );
}

#[test]
fn another_wheel_of_the_same_name_and_version_is_another_wheel() {
    let Some(bench) = Bench::new() else { return };
    let first = bench.layer(&["cordage"]);
    let wheel = bench.shelf().join("cordage-2.5-py3-none-any.whl");
    let before = fs::read(&wheel).unwrap();
    bench.wheel("cordage", "2.5", &["parcel==1.0"]);
    assert_ne!(fs::read(&wheel).unwrap(), before);
    let second = bench.layer(&["cordage", "parcel==1.0"]);
    let file = "cordage/__init__.py";
    assert_ne!(number(&first.path.join(file)), number(&second.path.join(file)));
}

/// Makes a wheel that has a module of its own and one that others have too.
const MAKE_QUARREL: &str = r#"
import sys, zipfile
directory, name = sys.argv[1:]
info = f'{name}-1.0.dist-info'
files = {
    f'{name}.py': '',
    'quarrel.py': f'WINNER = {name!r}\n',
    f'{info}/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n',
    f'{info}/WHEEL': 'Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
}
files[f'{info}/RECORD'] = ''.join(f'{path},,\n' for path in [*files, f'{info}/RECORD'])
with zipfile.ZipFile(f'{directory}/{name}-1.0-py3-none-any.whl', 'w') as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
"#;

#[test]
fn wheels_that_have_the_same_file_are_left_to_the_installer() {
    let Some(bench) = Bench::new() else { return };
    for name in ["cat", "dog"] {
        bench.make(MAKE_QUARREL, &[name]);
    }
    // Both are new, so they are unpacked together and not told apart.
    let both = bench.layer(&["cat", "dog", "cordage"]);
    let winner = fs::read_to_string(both.path.join("quarrel.py")).unwrap();
    assert!(["WINNER = 'cat'\n", "WINNER = 'dog'\n"].contains(&winner.as_str()), "{winner}");
    assert_eq!(bench.kept_wheels(), [""; 0]);
    // Each is kept by itself, so that they meet only in the layer.
    bench.layer(&["cat"]);
    bench.layer(&["dog"]);
    assert_eq!(bench.kept_wheels(), ["cat-1.0.dist-info", "dog-1.0.dist-info"]);
    let again = bench.layer(&["cat", "dog"]);
    assert_eq!(fs::read_to_string(again.path.join("quarrel.py")).unwrap(), winner);
    assert_eq!(again.distributions().unwrap().len(), 2);
}

#[test]
fn a_pip_that_cannot_report_installs_in_one_go() {
    let Some(bench) = Bench::new() else { return };
    let old = bench.dir.path().join("old-python");
    let python = bench.interpreter.executable.display();
    let text = format!(
        "#!/bin/sh\nfor word in \"$@\"; do\n\
         [ \"$word\" = --report ] && echo 'no such option: --report' && exit 2\ndone\nexec {python} \"$@\"\n"
    );
    fs::write(&old, text).unwrap();
    fs::set_permissions(&old, Permissions::from_mode(0o755)).unwrap();
    let mut spec = bench.spec(&["parcel"]);
    spec.interpreter.executable = old;
    let layer = bench.sharing().ensure(&spec, &mut quiet()).unwrap();
    assert_eq!(bench.import(&layer, "parcel.VERSION"), "1.1");
    assert_eq!(bench.kept_wheels(), [""; 0]);
}

#[test]
fn a_failure_to_resolve_is_explained_once() {
    let Some(bench) = Bench::new() else { return };
    for store in bench.sharing_with_each() {
        let mut lines = Vec::new();
        let mut watch = |step| {
            if let Progress::Line(line) = step {
                lines.push(line);
            }
        };
        let error = store.ensure(&bench.spec(&["no-such-parcel"]), &mut watch).unwrap_err();
        let told = lines
            .iter()
            .filter(|line| line.contains("No matching distribution") || line.contains("No solution"));
        assert_eq!(told.count(), 1, "{lines:#?}");
        assert!(
            matches!(&error, LayerError::Install { hint: Some(Hint::NoWheelOrName | Hint::NoMatch), .. }),
            "{error}"
        );
    }
}

#[test]
fn a_hash_that_the_caller_gave_is_checked() {
    let Some(bench) = Bench::new() else { return };
    let wheel = fs::read(bench.shelf().join("cordage-2.5-py3-none-any.whl")).unwrap();
    let right = super::spec::hex(&Sha256::digest(wheel));
    for store in bench.sharing_with_each() {
        let ask = |hash: &str| {
            let requirement = format!("cordage==2.5 --hash=sha256:{hash}");
            store.ensure(&bench.spec(&[&requirement]), &mut quiet())
        };
        let refused = ask(&right.replace(|digit: char| digit.is_ascii_digit(), "a"));
        assert!(matches!(refused, Err(LayerError::Install { .. })), "{refused:?}");
        assert_eq!(ask(&right).unwrap().distributions().unwrap().len(), 1);
    }
}

#[test]
fn a_kept_wheel_that_others_can_change_is_not_used() {
    let Some(bench) = Bench::new() else { return };
    bench.layer(&["cordage"]);
    assert_eq!(fs::metadata(bench.wheels()).unwrap().permissions().mode() & 0o777, 0o700);
    let wheel = fs::read_dir(bench.wheels()).unwrap().map(|entry| entry.unwrap().path());
    let module = wheel.into_iter().find(|path| path.is_dir()).unwrap().join("cordage/__init__.py");
    fs::set_permissions(&module, Permissions::from_mode(0o666)).unwrap();
    let error = bench.sharing().ensure(&bench.spec(&["cordage", "parcel"]), &mut quiet()).unwrap_err();
    assert!(matches!(error, LayerError::Untrusted { .. }), "{error}");
}

#[test]
fn old_layers_go_with_the_next_install_and_those_in_use_stay() {
    let Some(bench) = Bench::new() else { return };
    let (old, held) = (bench.layer(&["cordage"]).key, bench.layer(&["parcel==1.0"]));
    let young = bench.layer(&["cordage>=2"]).key;
    for (key, days) in [(&old, 31), (&held.key, 31), (&young, 29)] {
        bench.age(key, days);
    }
    let new = bench.layer(&["parcel==1.1"]).key;
    let mut expected = vec![held.key.clone(), young, new];
    expected.sort();
    let mut contents = bench.contents();
    contents.sort();
    assert_eq!(contents, expected);
}

#[test]
fn what_is_kept_is_counted_and_pruned() {
    let Some(bench) = Bench::new() else { return };
    let store = bench.sharing();
    let empty = store.inventory().unwrap();
    assert_eq!((empty.layers.len(), empty.wheels, empty.bytes), (0, 0, 0));

    let (one, two) = (bench.layer(&["cordage"]), bench.layer(&["cordage", "parcel"]));
    bench.age(&one.key, 3);
    let kept = store.inventory().unwrap();
    let asked: Vec<_> = kept.layers.iter().map(|layer| layer.requirements.join(" ")).collect();
    assert_eq!(asked, ["cordage parcel", "cordage"], "the last used comes first");
    assert_eq!(kept.layers[0].distributions.len(), 2);
    assert_eq!(kept.layers[1].python, bench.interpreter.dotted());
    assert!(kept.layers.iter().all(|layer| layer.in_use));
    assert_eq!(kept.wheels, 2);
    let apart: u64 = kept.layers.iter().map(|layer| layer.bytes).sum();
    assert!(kept.bytes > 0 && kept.layers[0].bytes < kept.bytes, "{kept:#?}");

    let all = Prune { unused_for: Duration::ZERO, at_most: usize::MAX, dry_run: false };
    let (old, dry) = (Prune { unused_for: 2 * A_DAY, ..all }, Prune { dry_run: true, ..all });
    let refused = store.prune(all).unwrap();
    assert_eq!((refused.layers.len(), refused.in_use, refused.wheels), (0, 2, 0));
    drop((one, two));
    let would = store.prune(dry).unwrap();
    assert_eq!((would.layers.len(), would.wheels, would.bytes), (2, 2, kept.bytes));
    assert!(would.bytes < apart + kept.bytes);
    assert_eq!(store.inventory().unwrap().layers.len(), 2, "a dry run removes nothing");

    let pruned = store.prune(old).unwrap();
    assert_eq!((pruned.layers.len(), pruned.wheels), (1, 0), "the other layer still needs the wheel");
    assert_eq!(pruned.layers[0].requirements, ["cordage"]);
    assert_eq!(store.inventory().unwrap().bytes, kept.bytes - pruned.bytes);
    store.prune(all).unwrap();
    assert_eq!(store.inventory().unwrap(), empty);
    assert_eq!(bench.kept_wheels(), [""; 0]);
    assert!(!bench.layer(&["cordage"]).cached, "and can be made again");
}
