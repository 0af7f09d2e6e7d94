use std::fs;
use std::path::Path;

use crate::belljar::{belljar, command, finish, run_json};

#[test]
fn the_demo_runs_as_shipped() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/demo");
    let path = |name: &str| demo.join(name).to_str().unwrap().to_owned();
    let outcome = belljar(&["run", "--tool", &path("tools.py"), &path("report.py")], "");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(
        outcome.stdout.ends_with("{\"Oslo\":149.04,\"Lima\":74.06,\"Pune\":285.43}}\n"),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stderr.contains("· orders: 4\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("· log: warning: caught: no rate for 'XAU'\n"), "{}", outcome.stderr);
    let outcome = belljar(&["run", "--timeout", "1", &path("limit.py")], "");
    assert_eq!(outcome.code, Some(124), "{outcome:#?}");
}

#[test]
fn a_mount_is_read_only_unless_it_says_rw() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in ["in", "out"] {
        fs::create_dir(path(name)).unwrap();
        // A cell that root starts runs as nobody, so what it writes must be open to everybody.
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(path(name), everybody).unwrap();
    }
    let top = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(directory.path(), top).unwrap();
    fs::write(path("in/a.txt"), "from the host").unwrap();
    let read = format!("{}:/data/in", path("in").display());
    let write = format!("{}:/data/out:rw", path("out").display());
    let script = "open('/data/out/b.txt', 'w').write(open('/data/in/a.txt').read())\n\
                  try:\n    open('/data/in/c.txt', 'w')\nexcept OSError as error:\n    emit_result(error.strerror)";
    let (_, result) = run_json(&["--mount", &read, "--mount", &write], script);
    assert_eq!(result["final_data"], "Read-only file system", "{result:#}");
    assert_eq!(fs::read_to_string(path("out/b.txt")).unwrap(), "from the host");
}

#[test]
fn secrets_come_from_the_environment_and_variables_from_options() {
    let mut run = command(&["run", "--secret", "BELLJAR_TEST_KEY", "--env", "GREETING=a=b", "-"]);
    run.env("BELLJAR_TEST_KEY", "hunter2").env("BELLJAR_TEST_OTHER", "not granted");
    let script = "got = os.environ.get\nemit_result([got('BELLJAR_TEST_KEY')[::-1], got('GREETING'), got('BELLJAR_TEST_OTHER')])";
    let outcome = finish(run, script);
    assert_eq!(outcome.stdout, "[\"2retnuh\",\"a=b\",null]\n", "{outcome:#?}");
}

#[test]
fn a_secret_that_a_script_lets_slip_is_shown_nowhere() {
    let script = "import sys\nkey = os.environ['BELLJAR_TEST_KEY']\nprint(key)\nprint(key, file=sys.stderr)\nemit_log(key)\n\
                  emit_intermediate(key, key)\nraise ValueError(key)";
    for output in [&[][..], &["--json"], &["--events"]] {
        let mut run = command(&[&["run", "--secret", "BELLJAR_TEST_KEY"], output, &["-"]].concat());
        run.env("BELLJAR_TEST_KEY", "hunter2").env("RUST_LOG", "trace");
        let outcome = finish(run, script);
        assert_eq!(outcome.code, Some(1), "{outcome:#?}");
        let shown = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(shown.contains("***") && !shown.contains("hunter2"), "{outcome:#?}");
    }
}

#[test]
fn a_secret_too_short_to_hide_is_refused() {
    let mut run = command(&["run", "--secret", "BELLJAR_TEST_KEY", "-"]);
    run.env("BELLJAR_TEST_KEY", "on");
    let outcome = finish(run, "emit_result(1)");
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("the value of secret BELLJAR_TEST_KEY is too short"), "{outcome:#?}");
}

#[test]
fn options_win_over_the_environment_and_the_environment_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("box.toml");
    fs::write(&file, "[env]\nWHO = 'file'\n[resource_limits]\nexecution_timeout_sec = 0.3\n").unwrap();
    let seconds = |environment: Option<&str>, options: &[&str]| {
        let mut run = command(&[&["run"], options, &["-"]].concat());
        run.env("BELLJAR_SANDBOX", &file);
        if let Some(seconds) = environment {
            run.env("BELLJAR_TIMEOUT", seconds);
        }
        let stderr = finish(run, "print(os.environ['WHO'])\ntime.sleep(60)").stderr;
        let (_, after) = stderr.split_once("it may take ").unwrap_or_else(|| panic!("{stderr}"));
        after.split(' ').next().unwrap_or_default().to_owned()
    };
    assert_eq!(seconds(None, &[]), "0.3");
    assert_eq!(seconds(Some("0.2"), &[]), "0.2");
    assert_eq!(seconds(Some("0.2"), &["--timeout", "0.1"]), "0.1");
}

#[test]
fn a_script_from_a_file_runs_like_one_from_stdin() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("script.py");
    fs::write(&file, "emit_result({'größe': 1})").unwrap();
    let outcome = belljar(&["run", file.to_str().unwrap()], "");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "{\"größe\":1}\n"), "{outcome:#?}");
}
