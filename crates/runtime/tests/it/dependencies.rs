//! Packages are installed once, mounted read-only and imported ahead.

use std::path::Path;
use std::process::Command;

use belljar_engine::native::Native;
use belljar_runtime::{Runtime, SandboxConfig};
use belljar_testing::{config, data, run, runtime, sandbox_with};

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
fn python_with_pip() -> Option<std::path::PathBuf> {
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
    let cache = tempfile::tempdir().unwrap();
    std::fs::set_permissions(cache.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
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
