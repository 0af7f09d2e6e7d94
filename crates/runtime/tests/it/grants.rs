//! Places that scripts may write to: whose is what they leave there?

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use belljar_runtime::{
    ExecutionMode, ExecutionRequest, ExecutionResult, FileResource, Runtime, SandboxConfig, Verdict,
};
use belljar_testing::{HANG, config, data, only_on, runtime, sandbox_with};

const WHY: &str = "only native cells have mounts of their own";

/// A directory that nobody but its owner may enter, below one that all may.
fn private(here: &Path, name: &str, owner: Option<(u32, u32)>) -> PathBuf {
    fs::set_permissions(here, fs::Permissions::from_mode(0o755)).unwrap();
    let place = here.join(name);
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
    if let Some((user, group)) = owner {
        chown(&place, Some(user), Some(group)).unwrap();
    }
    place
}

fn to_write(path: &Path, inside: &str) -> FileResource {
    FileResource { read_only: false, ..FileResource::new(path, inside) }
}

async fn run_with(runtime: &Runtime, resources: Vec<FileResource>, script: &str) -> ExecutionResult {
    let sandbox = sandbox_with(runtime, SandboxConfig { resources, ..config() }).await;
    let request = ExecutionRequest::new(script).with_mode(ExecutionMode::Script);
    tokio::time::timeout(HANG, sandbox.run(request)).await.expect("the run hangs").unwrap()
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("other owners: skipped (only root can make files of others)");
    }
    is_root
}

#[tokio::test]
async fn what_a_script_writes_belongs_to_the_owner_of_the_place() {
    if !only_on("native", WHY) {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let here = tempfile::tempdir().unwrap();
    let mut places = vec![private(here.path(), "own", None)];
    if is_root() {
        places.push(private(here.path(), "others", Some((12345, 23456))));
    }
    for place in places {
        let note = place.join("note");
        fs::write(&note, "old").unwrap();
        fs::set_permissions(&note, fs::Permissions::from_mode(0o600)).unwrap();
        let owner = fs::metadata(&place).unwrap();
        chown(&note, Some(owner.uid()), Some(owner.gid())).unwrap();
        for inside in ["/data/place", "/workspace/deep/place"] {
            let script = format!(
                "import os\nos.chdir('{inside}')\nopen('note', 'a').write('+')\nos.makedirs('a/b', exist_ok=True)\n\
                 open('a/b/new', 'a').write('new')\nos.symlink('new', 'a/b/link')\n\
                 assert os.stat('note').st_uid == os.stat('a/b/new').st_uid == os.getuid()\nos.rename('a', 'c')"
            );
            let result = run_with(&runtime, vec![to_write(&place, inside)], &script).await;
            assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
            for path in ["c", "c/b", "c/b/new", "c/b/link", "note"] {
                let found = fs::symlink_metadata(place.join(path)).unwrap();
                assert_eq!((found.uid(), found.gid()), (owner.uid(), owner.gid()), "{path}");
            }
            fs::remove_dir_all(place.join("c")).unwrap();
        }
        assert_eq!(fs::read_to_string(&note).unwrap(), "old++");
        let file = vec![to_write(&note, "/data/note")];
        let result = run_with(&runtime, file, "open('/data/note', 'a').write('!')").await;
        assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
        assert_eq!(fs::read_to_string(&note).unwrap(), "old++!");
    }
}

#[tokio::test]
async fn files_of_others_in_it_stay_theirs() {
    if !only_on("native", WHY) || !is_root() {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let here = tempfile::tempdir().unwrap();
    let place = private(here.path(), "place", None);
    for (name, mode) in [("closed", 0o600), ("open", 0o666)] {
        let path = place.join(name);
        fs::write(&path, name).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        chown(&path, Some(4242), Some(4242)).unwrap();
    }
    let script = "import os\nos.chdir('/data/place')\nopen('open', 'a').write('+')\n\
        def attempt(call, *arguments):\n    try:\n        call(*arguments)\n        return 'done'\n    except OSError as error:\n        return type(error).__name__\n\
        emit_result([attempt(open, 'closed'), attempt(os.chmod, 'open', 0o600), attempt(os.chown, 'open', 1000, 1000), \
        attempt(os.chown, 'mine', 4242, 4242) if open('mine', 'w') else 0, os.stat('open').st_uid])";
    let result = run_with(&runtime, vec![to_write(&place, "/data/place")], script).await;
    assert_eq!(
        data(&result),
        r#"["PermissionError","PermissionError","PermissionError","OSError",65534]"#,
        "{result:#?}"
    );
    let found = fs::metadata(place.join("open")).unwrap();
    assert_eq!((found.uid(), found.mode() & 0o777), (4242, 0o666));
    assert_eq!(fs::read_to_string(place.join("open")).unwrap(), "open+");
}

/// A message to the zygote carries only so many mounts. What is more is bound as if it were the
/// system's, and then it must be open to all.
#[tokio::test]
async fn many_places_can_be_written_to() {
    if !only_on("native", WHY) {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let here = tempfile::tempdir().unwrap();
    let places: Vec<PathBuf> =
        (0..20).map(|number| private(here.path(), &number.to_string(), None)).collect();
    for place in &places {
        fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let resources = places
        .iter()
        .enumerate()
        .map(|(number, place)| {
            let above = if number % 2 == 0 { "/data" } else { "/workspace/data" };
            to_write(place, &format!("{above}/{number}"))
        })
        .collect();
    let script = "for n in range(20):\n    open(f'{\"/data\" if n % 2 == 0 else \"/workspace/data\"}/{n}/new', 'w').write(str(n))";
    let result = run_with(&runtime, resources, script).await;
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    let not_lent = result.warnings.iter().filter(|warning| warning.contains("places are lent already"));
    assert_eq!(not_lent.count(), if rustix::process::geteuid().is_root() { 4 } else { 0 }, "{result:#?}");
    for (number, place) in places.iter().enumerate() {
        assert_eq!(fs::read_to_string(place.join("new")).unwrap(), number.to_string());
    }
}

/// A program that runs as its owner keeps doing so when it is changed through a mapping.
#[tokio::test]
async fn no_program_that_runs_as_its_owner_can_be_changed() {
    if !only_on("native", WHY) || !is_root() {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let here = tempfile::tempdir().unwrap();
    let place = private(here.path(), "place", None);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(place.join("deep")).unwrap();
    let tool = place.join("deep/tool");
    fs::write(&tool, vec![b'x'; 4096]).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o4755)).unwrap();
    let script = "import mmap, os\ntry:\n    mmap.mmap(os.open('/d/deep/tool', os.O_RDWR), 0)[:4] = b'evil'\nexcept OSError as error:\n    emit_result(type(error).__name__)";
    let result = run_with(&runtime, vec![to_write(&place, "/d")], script).await;
    assert_eq!(data(&result), "\"PermissionError\"", "{result:#?}");
    assert_eq!(fs::read(&tool).unwrap(), vec![b'x'; 4096]);
    let warned = result.warnings.join("\n");
    assert!(warned.contains("deep/tool") && warned.contains("what everybody can"), "{warned}");
}

/// What the host does to a place while its sandbox is there concerns no later cell.
#[tokio::test]
async fn a_granted_file_may_be_replaced_on_the_host() {
    if !only_on("native", WHY) {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let here = tempfile::tempdir().unwrap();
    let place = private(here.path(), "place", None);
    let file = place.join("file");
    fs::write(&file, "one").unwrap();
    for (path, mode) in [(&place, 0o755), (&file, 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let resources = vec![to_write(&file, "/data/file")];
    let sandbox = sandbox_with(&runtime, SandboxConfig { resources, ..config() }).await;
    for turn in 0..3 {
        let run = sandbox.run("emit_result(open('/data/file').read())");
        let result = tokio::time::timeout(HANG, run).await.expect("it hangs").unwrap();
        assert_eq!(data(&result), "\"one\"", "{turn}: {result:#?}");
        fs::write(place.join("new"), "two").unwrap();
        fs::rename(place.join("new"), &file).unwrap();
    }
}

/// A tool file may read a place when it is loaded, before there is any cell.
#[tokio::test]
async fn tools_see_a_place_that_scripts_may_write_to() {
    use belljar_runtime::{Blueprint, ToolSource};
    if !only_on("native", WHY) {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let here = tempfile::tempdir().unwrap();
    let place = private(here.path(), "place", None);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place.join("settings"), "42").unwrap();
    fs::set_permissions(place.join("settings"), fs::Permissions::from_mode(0o644)).unwrap();
    let resources = vec![to_write(&place, "/data/place")];
    let mut blueprint = Blueprint::new(SandboxConfig { resources, ..config() });
    let source = "SETTING = int(open('/data/place/settings').read())\ndef setting():\n    return SETTING\n";
    blueprint.tools = vec![ToolSource { file_name: "t.py".into(), source: source.into() }];
    let sandbox = runtime.prepare(blueprint, &mut |_| {}).await.unwrap();
    let script = "open('/data/place/new', 'w').write('x')\nemit_result(setting())";
    let result = tokio::time::timeout(HANG, sandbox.run(script)).await.expect("it hangs").unwrap();
    assert_eq!(data(&result), "42", "{result:#?}");
}
