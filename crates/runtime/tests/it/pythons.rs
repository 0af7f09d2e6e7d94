//! Every supported interpreter found on this machine runs the harness.

use belljar_runtime::SandboxConfig;
use belljar_testing::{config, data, run, runtime, sandbox_with};

#[tokio::test]
async fn every_supported_interpreter_found_here_runs_scripts() {
    let Some(runtime) = runtime() else { return };
    let mut ran = Vec::new();
    for minor in 9..=13 {
        let version = format!("3.{minor}");
        let python_version = Some(version.parse().unwrap());
        let Ok(sandbox) = runtime.sandbox(SandboxConfig { python_version, ..config() }).await else {
            println!("python {version}: skipped (not installed, or not readable by guests)");
            continue;
        };
        let script = "import sys, ssl, sqlite3, subprocess\nemit_intermediate('v', list(sys.version_info[:2]))\n\
                      child = subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True)\n\
                      emit_result(child.stdout.strip() or child.stderr)";
        let result = run(&sandbox, script).await;
        assert_eq!(data(&result), "\"42\"", "{result:#?}");
        assert_eq!(result.intermediates[0].data.as_str(), format!("[3,{minor}]"));
        let failed = run(&sandbox, "1 / 0").await;
        assert_eq!(failed.error.as_deref(), Some("ZeroDivisionError: division by zero"));
        ran.push(version);
    }
    assert!(!ran.is_empty(), "no supported interpreter was found");
}

#[tokio::test]
async fn a_version_that_is_not_installed_is_an_error_that_lists_those_that_are() {
    let Some(runtime) = runtime() else { return };
    let python_version = Some("3.99".parse().unwrap());
    let error =
        runtime.sandbox(SandboxConfig { python_version, ..config() }).await.err().expect("there is no 3.99");
    let text = error.to_string();
    assert!(text.contains("3.99") && text.contains("3."), "{text}");
    let default = sandbox_with(&runtime, config()).await;
    assert!(default.report().python.starts_with("3."));
}
