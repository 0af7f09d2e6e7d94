//! Packages are installed once, mounted read-only and imported ahead. An installer ends when nobody
//! waits for it any more.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use belljar_engine::local::Local;
use belljar_engine::native::Native;
use belljar_runtime::{Runtime, RuntimeError, SandboxConfig};
use belljar_testing::{HANG, config, data, run, runtime, sandbox_with};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

/// A wheel is a zip with a known layout; this one needs no index and no network.
const MAKE_WHEEL: &str = r#"
import sys, zipfile
out, name, body = sys.argv[1:4]
info = f"{name}-1.0.dist-info"
files = {
    f"{name}/__init__.py": body,
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(f"{out}/{name}-1.0-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
"#;

fn make_wheel(directory: &Path, name: &str, body: &str) {
    let made =
        Command::new("python3").args(["-c", MAKE_WHEEL]).arg(directory).args([name, body]).status().unwrap();
    assert!(made.success());
}

/// A python with pip, since installing needs one.
fn python_with_pip() -> Option<PathBuf> {
    let script = "import sys, pip; print(sys.executable)";
    for name in ["python3", "/usr/bin/python3"] {
        let output = Command::new(name).args(["-c", script]).output();
        if let Some(output) = output.ok().filter(|output| output.status.success()) {
            return Some(String::from_utf8(output.stdout).unwrap().trim().into());
        }
    }
    println!("pip: skipped (no python3 here has it)");
    None
}

#[tokio::test]
async fn a_dependency_is_installed_mounted_and_preloaded() {
    if runtime().is_none() {
        return;
    }
    let Some(python) = python_with_pip() else { return };
    let wheels = tempfile::tempdir().unwrap();
    make_wheel(
        wheels.path(),
        "belljar_sample",
        "import sys\nVALUE = 42\nLOADED_BY = 'zygote' if 'belljar_harness' in sys.modules else 'else'\n",
    );
    make_wheel(wheels.path(), "belljar_broken", "raise RuntimeError('cannot load me')\n");
    let cache = empty_cache();
    let native = Native::new()
        .cache_dir(cache.path())
        .python(python)
        .installer_env([("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", &wheels.path().display().to_string())]);
    let runtime = Runtime::builder().engine(native).build().await.unwrap();
    let dependencies = vec!["belljar_sample".into(), "belljar_broken".into()];
    let sandbox = sandbox_with(&runtime, SandboxConfig { dependencies, ..config() }).await;
    let script = "import sys\nahead = 'belljar_sample' in sys.modules\nimport belljar_sample\n\
                  try: open('/opt/pydeps/x', 'w'); wrote = True\nexcept OSError: wrote = False\n\
                  emit_result([ahead, belljar_sample.VALUE, wrote])";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), "[true,42,false]");
    let warnings = result.warnings.join("\n");
    assert!(
        warnings.contains("preloading belljar_broken failed: RuntimeError: cannot load me"),
        "{warnings}"
    );
}

fn empty_cache() -> TempDir {
    let cache = tempfile::tempdir().unwrap();
    std::fs::set_permissions(cache.path(), PermissionsExt::from_mode(0o755)).unwrap();
    cache
}

/// A source release that brings its own build backend. The build connects to a port, and waits
/// there for good. Ctrl-C does not end it.
const MAKE_ENDLESS_BUILD: &str = r#"
import io, sys, tarfile
directory, port = sys.argv[1:]
backend = f"""
import signal, socket
signal.signal(signal.SIGINT, signal.SIG_IGN)
connection = socket.create_connection(("127.0.0.1", {port}))
connection.sendall(b"building")
connection.recv(1)
"""
files = {
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    "backend.py": backend,
    "PKG-INFO": "Metadata-Version: 2.1\nName: endless\nVersion: 1.0\n",
}
with tarfile.open(f"{directory}/endless-1.0.tar.gz", "w:gz") as archive:
    for path, text in files.items():
        member = tarfile.TarInfo(f"endless-1.0/{path}")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
"#;

/// Something that takes forever: a host that an installer connects to and that never answers.
struct Silence {
    listener: TcpListener,
    cache: TempDir,
    sources: TempDir,
    python: PathBuf,
}

/// What the installer waits for.
#[derive(Debug, Clone, Copy)]
enum Waits {
    /// pip itself, for its index.
    ForTheIndex,
    /// A process that pip has started, and that ignores Ctrl-C.
    InABuild,
}

impl Silence {
    async fn begin() -> Option<Self> {
        let python = python_with_pip()?;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Some(Self { listener, cache: empty_cache(), sources: tempfile::tempdir().unwrap(), python })
    }

    /// The config, and what the installer is told.
    fn asks(&self, waits: Waits) -> (SandboxConfig, Vec<(&'static str, String)>) {
        let port = self.listener.local_addr().unwrap().port();
        // No uv, whose own timeout could not be set by pip's variable, and no proxy.
        let mut told = vec![("PATH", "/nowhere".into()), ("PIP_DEFAULT_TIMEOUT", "3600".into())];
        told.extend(["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"].map(|name| (name, String::new())));
        let config = SandboxConfig { dependencies: vec!["endless".into()], ..config() };
        match waits {
            Waits::ForTheIndex => {
                told.push(("PIP_INDEX_URL", format!("http://127.0.0.1:{port}/simple")));
                (config, told)
            }
            Waits::InABuild => {
                let mut make = Command::new(&self.python);
                make.args(["-c", MAKE_ENDLESS_BUILD]).arg(self.sources.path()).arg(port.to_string());
                assert!(make.status().unwrap().success());
                told.push(("PIP_NO_INDEX", "1".into()));
                told.push(("PIP_FIND_LINKS", self.sources.path().display().to_string()));
                (SandboxConfig { allow_source_builds: true, ..config }, told)
            }
        }
    }

    async fn local(&self, told: &[(&'static str, String)]) -> Runtime {
        let told = told.iter().map(|(name, value)| (*name, value.as_str()));
        let local = Local::new().cache_dir(self.cache.path()).python(&self.python).installer_env(told);
        Runtime::builder().engine(local).build().await.unwrap()
    }

    async fn native(&self, told: &[(&'static str, String)]) -> Runtime {
        let told = told.iter().map(|(name, value)| (*name, value.as_str()));
        let native = Native::new().cache_dir(self.cache.path()).python(&self.python).installer_env(told);
        Runtime::builder().engine(native).build().await.unwrap()
    }

    /// The connection of an installer that is at work now. It closes when whoever made it ends.
    async fn heard(&self) -> TcpStream {
        let (mut connection, _) =
            tokio::time::timeout(HANG, self.listener.accept()).await.expect("it connects").unwrap();
        let mut first = [0];
        connection.read_exact(&mut first).await.unwrap();
        connection
    }

    /// What installers have left in the cache, but for their empty locks.
    fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.cache.path().join("layers")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".lock")).collect()
    }
}

/// Waits until nobody has the other end any more.
async fn is_over(mut connection: TcpStream) {
    let mut rest = Vec::new();
    // A killed process may leave a reset behind, which is an end too.
    let _ = tokio::time::timeout(HANG, connection.read_to_end(&mut rest)).await.expect("the installer ends");
}

#[tokio::test]
async fn shutdown_ends_an_installer_that_would_take_forever() {
    for waits in [Waits::ForTheIndex, Waits::InABuild] {
        let Some(silence) = Silence::begin().await else { return };
        let (config, told) = silence.asks(waits);
        let mut runtimes = vec![silence.local(&told).await];
        if belljar_testing::runtime().is_some() {
            runtimes.push(silence.native(&told).await);
        }
        for runtime in runtimes {
            let engine = runtime.engine_name();
            let opening = tokio::spawn({
                let (runtime, config) = (runtime.clone(), config.clone());
                async move { runtime.sandbox(config).await.map(drop) }
            });
            let connection = silence.heard().await;
            tokio::time::timeout(HANG, runtime.shutdown()).await.expect("shutdown does not wait for it");
            assert_eq!(silence.left(), [""; 0], "{waits:?} on {engine}");
            let opened = opening.await.unwrap();
            assert!(matches!(opened, Err(RuntimeError::ShutDown)), "{waits:?} on {engine}: {opened:?}");
            is_over(connection).await;
        }
    }
}

#[tokio::test]
async fn a_caller_who_gives_up_ends_the_installer_that_only_they_waited_for() {
    let Some(silence) = Silence::begin().await else { return };
    let (config, told) = silence.asks(Waits::ForTheIndex);
    let runtime = silence.local(&told).await;
    let connection = tokio::select! {
        opened = runtime.sandbox(config) => panic!("it opened: {:?}", opened.map(drop)),
        connection = silence.heard() => connection,
    };
    is_over(connection).await;
    runtime.shutdown().await;
    assert_eq!(silence.left(), [""; 0]);
}
