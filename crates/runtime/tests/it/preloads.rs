//! What is imported ahead of all scripts: it may fail, die, or leave something behind, and no
//! script finds a trace of that.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use belljar_engine::native::Native;
use belljar_runtime::{Blueprint, FileResource, Runtime, Sandbox, SandboxConfig, ToolSource};
use belljar_testing::{about_the_run, config, data, engine, needs_isolation, run, run_one, runtime};

/// A tool file that brings modules: they need no installer, so this works on every engine.
fn tool_with_modules(modules: &[(&str, &str)]) -> ToolSource {
    let table: std::collections::BTreeMap<_, _> = modules.iter().copied().collect();
    let source = format!(
        r#"
import importlib.abc, importlib.util, json, sys

class _Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    sources = json.loads({table:?})
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name in self.sources else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(self.sources[module.__name__], module.__dict__)

sys.meta_path.append(_Modules())
"#,
        table = serde_json::to_string(&table).unwrap(),
    );
    ToolSource { file_name: "modules.py".into(), source }
}

/// A sandbox that preloads all of these modules.
async fn sandbox_that_preloads(runtime: &Runtime, modules: &[(&str, &str)], named: &[&str]) -> Sandbox {
    let preload = Some(named.iter().map(|&name| name.to_owned()).collect());
    let tools = vec![tool_with_modules(modules)];
    let blueprint = Blueprint { tools, ..Blueprint::new(SandboxConfig { preload, ..config() }) };
    runtime.prepare(blueprint, &mut |_| {}).await.expect("the sandbox can be made ready")
}

#[tokio::test]
async fn a_preload_that_fails_leaves_no_module_behind() {
    let Some(runtime) = runtime() else { return };
    let half = "import half_part, os\n\
                if not os.path.exists(os.environ['HOME'] + '/go'): raise OSError('not yet')\n\
                half_part.whole = True";
    let modules = [("half", half), ("half_part", "whole = False"), ("fine", "VALUE = 1")];
    let sandbox = sandbox_that_preloads(&runtime, &modules, &["half", "fine"]).await;
    let script = "import sys\n\
                  before = [name in sys.modules for name in ('half', 'half_part', 'fine')]\n\
                  open('go', 'w').close()\n\
                  import half, half_part\n\
                  emit_result([before, half_part.whole])";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), "[[false,false,true],true]");
    let warnings = result.warnings.join("\n");
    assert!(warnings.contains("preloading half failed: OSError: not yet"), "{warnings}");
    assert!(!warnings.contains("fine"), "{warnings}");
}

#[tokio::test]
async fn a_module_that_leaves_something_behind_is_left_to_the_scripts() {
    let Some(runtime) = runtime() else { return };
    let modules = [
        (
            "a_thread",
            "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
        ),
        ("a_child", "import os, signal\nif os.fork() == 0:\n    signal.pause()\n    os._exit(0)"),
        ("a_socket", "import socket; pair = socket.socketpair()"),
        ("a_file", "import os; kept = open(os.environ['HOME'] + '/kept', 'w')"),
        ("a_timer", "import threading; timer = threading.Timer(600, print); timer.start(); timer.cancel()"),
    ];
    let named = modules.map(|(name, _)| name);
    let sandbox = sandbox_that_preloads(&runtime, &modules, &named).await;
    let script = format!("import sys\nemit_result([name in sys.modules for name in {named:?}])");
    let result = run(&sandbox, &script).await;
    // A timer that was cancelled is gone in a moment.
    assert_eq!(data(&result), "[false,false,false,false,true]");
    for left in ["a thread", "a child process", "an open socket", "/kept open"] {
        assert!(result.warnings.iter().any(|warning| warning.contains(left)), "{left}: {result:#?}");
    }
    let again = "import a_thread, a_socket, threading\nemit_result(threading.active_count())";
    assert_eq!(data(&run(&sandbox, again).await), "2");
}

#[tokio::test]
async fn a_module_that_ends_its_process_ends_no_sandbox() {
    let Some(runtime) = runtime() else { return };
    let modules = [
        ("killed", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        ("gone", "import os; os._exit(3)"),
        ("left", "raise SystemExit(4)"),
        ("fine", "VALUE = 1"),
    ];
    let sandbox = sandbox_that_preloads(&runtime, &modules, &modules.map(|(name, _)| name)).await;
    let result = run(&sandbox, "import sys\nemit_result('fine' in sys.modules)").await;
    assert_eq!(data(&result), "true");
    for told in [
        "preloading killed failed: it was ended by SIGKILL",
        "preloading gone failed: it ended the process with code 3",
        "preloading left failed: SystemExit: 4",
    ] {
        assert!(result.warnings.iter().any(|warning| warning == told), "{told}: {:#?}", result.warnings);
    }
}

#[tokio::test]
async fn what_a_module_prints_or_reads_while_it_is_preloaded_reaches_no_script() {
    let Some(runtime) = runtime() else { return };
    let loud = "import os, sys\nprint('hello'); os.write(1, b'raw'); print('oh', file=sys.stderr)\n\
                READ = sys.__stdin__ and os.read(0, 100)";
    let sandbox = sandbox_that_preloads(&runtime, &[("loud", loud)], &["loud"]).await;
    for _ in 0..2 {
        let result = run(&sandbox, "import loud\nprint('mine')\nemit_result(not loud.READ)").await;
        assert_eq!(data(&result), "true");
        let warnings: Vec<String> = about_the_run(&result.warnings).into_iter().map(str::to_owned).collect();
        assert_eq!((result.stdout.as_str(), warnings), ("mine\n", own_warnings(&runtime)));
    }
}

/// Warnings that every result of this engine has.
fn own_warnings(runtime: &Runtime) -> Vec<String> {
    match runtime.engine_name() {
        "local" => vec!["no isolation: the local engine runs scripts as plain subprocesses, which can do whatever this program can do".into()],
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn files_written_while_modules_are_preloaded_are_in_no_cell_and_that_is_said() {
    if needs_isolation("each cell preloads for itself, in its own workspace") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let writes = "import os\nfor place in (os.environ['HOME'], '/tmp', '/dev/shm'):\n    \
                  open(place + '/notes.txt', 'w').close()\n    open(place + '/.hidden', 'w').close()";
    let sandbox = sandbox_that_preloads(&runtime, &[("writes", writes)], &["writes"]).await;
    let script = "import os, sys\nemit_result(['writes' in sys.modules] + [os.listdir(p) for p in ('.', '/tmp', '/dev/shm')])";
    for _ in 0..2 {
        let result = run(&sandbox, script).await;
        assert_eq!(data(&result), "[true,[],[],[]]");
        let told = "written while tools and packages were loaded, and not in any cell: notes.txt";
        assert_eq!(about_the_run(&result.warnings), [told]);
    }
}

#[tokio::test]
async fn what_is_granted_inside_the_workspace_is_not_taken_for_a_packages_file() {
    if needs_isolation("it grants nothing") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let (shared, preload) = (open_directory(), Some(vec!["writes".to_owned()]));
    std::fs::write(shared.path().join("kept"), "kept").unwrap();
    let resource = FileResource { read_only: false, ..FileResource::new(shared.path(), "/workspace/shared") };
    let config = SandboxConfig { preload, resources: vec![resource], ..config() };
    let tools = vec![tool_with_modules(&[("writes", "open('/tmp/notes', 'w').close()")])];
    let blueprint = Blueprint { tools, ..Blueprint::new(config) };
    let sandbox = runtime.prepare(blueprint, &mut |_| {}).await.unwrap();
    for _ in 0..2 {
        let result = run(&sandbox, "import os\nemit_result(os.listdir('shared'))").await;
        assert_eq!((data(&result), &about_the_run(&result.warnings)[..]), (r#"["kept"]"#, &[][..]));
    }
    assert_eq!(std::fs::read_to_string(shared.path().join("kept")).unwrap(), "kept");
}

#[tokio::test]
async fn packages_have_places_to_write_to_that_are_not_among_the_scripts_files() {
    let result = run_one!(
        r"
import os
places = ['XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME']
for name in places:
    os.makedirs(os.environ[name])
    open(os.environ[name] + '/file', 'w').close()
emit_result([os.listdir(), os.environ['HOME'] == os.getcwd(), os.environ['MPLBACKEND']])
"
    );
    assert_eq!(data(&result), r#"[[],true,"agg"]"#);
}

#[tokio::test]
async fn a_config_can_choose_another_backend() {
    let Some(runtime) = runtime() else { return };
    let env = [("MPLBACKEND".to_owned(), "svg".to_owned())].into();
    let sandbox = belljar_testing::sandbox_with(&runtime, SandboxConfig { env, ..config() }).await;
    let result = run(&sandbox, "import os\nemit_result(os.environ['MPLBACKEND'])").await;
    assert_eq!(data(&result), r#""svg""#);
}

/// The interpreter of a cell starts isolated. Those that a script starts must find its packages.
#[tokio::test]
async fn interpreters_that_multiprocessing_spawns_are_not_isolated() {
    let result = run_one!(
        r#"
import multiprocessing
with multiprocessing.get_context('spawn').Pool(1) as pool:
    flags = pool.apply(eval, ("__import__('sys').flags.isolated, __import__('sys').flags.no_site",))
emit_result(flags)
"#
    );
    assert_eq!(data(&result), "[0,0]");
}

/// A wheel whose module counts its imports in a granted file, and whose second module fails.
const MAKE_WHEEL: &str = r#"
import sys, zipfile
info = "belljar_counted-1.0.dist-info"
files = {
    "belljar_counted.py": "with open('/data/imports', 'a') as file: file.write('x')\n",
    "belljar_counted_extra.py": "import something_that_is_not_installed\n",
    f"{info}/METADATA": "Metadata-Version: 2.1\nName: belljar-counted\nVersion: 1.0\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(f"{sys.argv[1]}/belljar_counted-1.0-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
"#;

fn python_with_pip() -> Option<PathBuf> {
    let output =
        Command::new("python3").args(["-c", "import sys, pip; print(sys.executable)"]).output().ok()?;
    let found = output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().into());
    if found.is_none() {
        println!("pip: skipped (python3 has none)");
    }
    found
}

fn open_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o777)).unwrap();
    directory
}

async fn count_imports(cache: &Path, wheels: &Path, granted: &Path, python: &Path) -> (usize, Vec<String>) {
    let native = Native::new()
        .cache_dir(cache)
        .python(python)
        .installer_env([("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", &wheels.display().to_string())]);
    let runtime = Runtime::builder().engine(native).build().await.unwrap();
    let resource = FileResource { read_only: false, ..FileResource::new(granted, "/data") };
    let config =
        SandboxConfig { dependencies: vec!["belljar-counted".into()], resources: vec![resource], ..config() };
    let sandbox = runtime.sandbox(config).await.unwrap();
    let result = run(&sandbox, "import sys\nemit_result('belljar_counted' in sys.modules)").await;
    assert_eq!(data(&result), "true");
    runtime.shutdown().await;
    let warnings = about_the_run(&result.warnings).into_iter().map(str::to_owned).collect();
    (std::fs::read(granted.join("imports")).unwrap().len(), warnings)
}

#[tokio::test]
async fn a_layer_is_tried_once_and_what_a_package_brings_besides_may_fail_silently() {
    if engine() != "native" || runtime().is_none() {
        println!("{}: skipped (it is about the native engine's cache)", engine());
        return;
    }
    let Some(python) = python_with_pip() else { return };
    let (wheels, granted, cache) = (open_directory(), open_directory(), tempfile::tempdir().unwrap());
    std::fs::set_permissions(cache.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let made = Command::new(&python).args(["-c", MAKE_WHEEL]).arg(wheels.path()).status().unwrap();
    assert!(made.success());
    let again = || count_imports(cache.path(), wheels.path(), granted.path(), &python);
    assert_eq!(again().await, (2, Vec::new()), "once to try it, and once for all cells");
    assert_eq!(again().await, (3, Vec::new()), "it is known to work");
    let layers = std::fs::read_dir(cache.path().join("layers")).unwrap().map(|entry| entry.unwrap().path());
    let bytecode = layers.filter_map(|layer| std::fs::read_dir(layer.join("__pycache__")).ok()).flatten();
    assert_eq!(bytecode.count(), 2, "no cell compiles what a layer has");
    std::fs::remove_dir_all(cache.path().join("preloads")).unwrap();
    assert_eq!(again().await, (5, Vec::new()), "it is tried again");
}
