//! The Python guest by itself: its unit tests, and one cell without an engine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use belljar_core::config::SandboxConfig;
use belljar_core::layout;
use belljar_engine::Blueprint;
use belljar_engine::guest::{PYTHON, Spawn, template_settings};
use belljar_engine::python::{self, Interpreter, Search};

/// One interpreter of each supported version that is on this machine.
fn interpreters() -> Vec<Interpreter> {
    let search = Search { explicit: None, ..Search::from_env(None) };
    let found: Vec<_> = (9..=14)
        .filter_map(|minor| python::find(Some(&format!("3.{minor}").parse().unwrap()), &search).ok())
        .collect();
    assert!(!found.is_empty(), "no supported interpreter was found");
    found
}

#[test]
fn unit_tests_of_the_package_pass_on_every_interpreter_found_here() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/harness/python");
    for interpreter in interpreters() {
        let tested = Command::new(&interpreter.executable)
            .args(["-I", "-B", "-m", "unittest", "discover", "--start-directory"])
            .arg(&home)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&tested.stderr);
        assert!(tested.status.success(), "{}:\n{said}", interpreter.executable.display());
        // A directory in which nothing is found would pass, too.
        let ran = said.lines().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok());
        assert!(ran.is_some_and(|ran: usize| ran > 40), "{said}");
    }
}

/// A cell that is a plain process, and the host's end of its channel.
struct Single {
    child: Child,
    channel: BufReader<UnixStream>,
}

impl Single {
    fn start(interpreter: &Interpreter, home: &Path) -> Self {
        let blueprint = Blueprint::new(SandboxConfig::default());
        let mut settings = template_settings(&blueprint);
        let workspace = home.join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        settings["layout"]["workspace"] = workspace.to_str().into();
        std::fs::write(home.join(layout::TEMPLATE_SETTINGS), settings.to_string()).unwrap();
        for file in PYTHON.files {
            let path = home.join(file.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file.text).unwrap();
        }
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let program = interpreter.executable.to_str().unwrap();
        let command = PYTHON.command(program, home.to_str().unwrap(), Spawn::Exec { channel: 0 });
        let child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child, channel: BufReader::new(ours) }
    }

    fn frame(&mut self) -> serde_json::Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.channel.read_line(&mut line).unwrap(), 0, "the cell has hung up");
            if !line.trim().is_empty() {
                return serde_json::from_str(&line).unwrap();
            }
        }
    }

    fn run(&mut self, script: &str) -> serde_json::Value {
        let request = serde_json::json!({
            "type": "execute", "execution_id": "e", "seal": "s", "script": script, "mode": "plan",
            "timeout": 30.0, "max_output_bytes": 1 << 20, "required_secrets": [], "secrets": {},
        });
        writeln!(self.channel.get_mut(), "{request}").unwrap();
        let outcome = self.frame();
        assert_eq!(self.frame()["type"], "script_done");
        outcome
    }
}

#[test]
fn a_cell_without_a_zygote_serves_until_the_host_hangs_up() {
    for interpreter in interpreters() {
        let home = tempfile::tempdir().unwrap();
        let mut cell = Single::start(&interpreter, home.path());
        let ready = cell.frame();
        assert_eq!((&ready["type"], &ready["protocol"]), (&"ready".into(), &1.into()), "{ready}");
        assert_eq!(ready["python"], interpreter.dotted());
        assert_eq!(cell.run("emit_result(6 * 7)")["data"], 42);
        // Its arguments are none, its stdin is empty, and its channel is where every guest has it.
        let found = cell.run(
            "import sys\nemit_result([sys.argv[1:], sys.stdin.read(), os.path.realpath('.'), sorted(map(int, os.listdir('/proc/self/fd')))[-1]])",
        );
        let workspace = home.path().join("workspace").canonicalize().unwrap();
        assert_eq!(found["data"], serde_json::json!([[], "", workspace, layout::CHANNEL]), "{found}");
        drop(cell.channel);
        assert!(cell.child.wait().unwrap().success());
    }
}

/// A script that shares its interpreter with the harness finds it in `sys.modules` and nowhere
/// else: no module of it can be imported by a plain name, and none takes the name of a module of
/// the script's own.
#[test]
fn a_script_finds_the_harness_under_its_own_name_only() {
    let interpreter = interpreters().remove(0);
    let home = tempfile::tempdir().unwrap();
    let mut cell = Single::start(&interpreter, home.path());
    cell.frame();
    let found = cell.run(
        "import importlib.util, sys\npackage = sys.modules['belljar_harness']\n\
         home = os.path.dirname(package.__file__)\n\
         names = [name[:-3] for name in os.listdir(home) if name.endswith('.py') and name != '__init__.py'] + ['harness']\n\
         found = [name for name in names if importlib.util.find_spec(name) is not None]\n\
         led = [path for path in sys.path if path.startswith(os.path.dirname(home)) and path != os.getcwd()]\n\
         for name in names:\n    open(f'{name}.py', 'w').write(f'MINE = {name!r}')\n\
         importlib.invalidate_caches()\n\
         own = [name for name in names if importlib.import_module(name).MINE != name]\n\
         emit_result([found, led, own, sys.modules['__main__'].__dict__ is globals()])",
    );
    assert_eq!(found["data"], serde_json::json!([[], [], [], true]), "{found}");
}
