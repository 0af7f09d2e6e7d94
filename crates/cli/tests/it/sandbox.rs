use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
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

#[test]
fn secrets_come_from_files_programs_and_other_variables() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, text: &str, mode: u32| {
        fs::write(path(name), text).unwrap();
        fs::set_permissions(path(name), Permissions::from_mode(mode)).unwrap();
    };
    write("one", "from-a-file\n", 0o600);
    write(
        "list",
        "# keys\nLISTED=from-the-list\nBELLJAR_TEST_KEY=also-from-the-list\nUNUSED=not-wanted\n",
        0o600,
    );
    let options = [
        format!("--secret=A=file:{}", path("one")),
        "--secret=B=cmd:printf '%s\\n' 'from a program'".to_owned(),
        "--secret=C=env:BELLJAR_TEST_OTHER".to_owned(),
        "--secret=LISTED".to_owned(),
        "--secret=BELLJAR_TEST_KEY".to_owned(),
        format!("--secrets-file={}", path("list")),
    ];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let run = |script: &str| {
        let mut run = command(&[&["run"], options.as_slice(), &["-"]].concat());
        run.env("BELLJAR_TEST_OTHER", "from-a-variable").env("BELLJAR_TEST_KEY", "from-the-environment");
        finish(run, script)
    };
    let names = "['A', 'B', 'C', 'LISTED', 'BELLJAR_TEST_KEY', 'UNUSED']";
    let outcome = run(&format!("emit_result([os.environ.get(name, '')[::-1] for name in {names}])"));
    let expected =
        ["from-a-file", "from a program", "from-a-variable", "from-the-list", "also-from-the-list", ""]
            .map(|value| value.chars().rev().collect::<String>());
    assert_eq!(outcome.json(), serde_json::json!(expected), "{outcome:#?}");
    assert!(!outcome.stderr.contains("every user"), "{outcome:#?}");
    let outcome = run(
        "import base64\nfor name in ('A', 'B', 'C'): print(base64.b64encode(os.environb[name.encode()]))",
    );
    assert!(outcome.stdout.lines().all(|line| line.starts_with("b'***")), "{outcome:#?}");
    write("one", "from-a-file\n", 0o644);
    let outcome = run("print(1)");
    assert!(outcome.stderr.contains("one (mode 644), which has secrets: chmod 600 it"), "{outcome:#?}");
    write("one", "from-a-file\n", 0o666);
    let outcome = run("print(1)");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:#?}");
    assert!(outcome.stderr.contains("secret A: ") && outcome.stderr.contains("(mode 666)"), "{outcome:#?}");
}

#[test]
fn a_secret_without_a_source_is_told_and_no_value_is() {
    let directory = tempfile::tempdir().unwrap();
    let tool = directory.path().join("weather.py");
    let block =
        "# /// script\n# [tool.belljar]\n# secrets = ['BELLJAR_TEST_TOOL']\n# ///\ndef f(): return 1\n";
    fs::write(&tool, block).unwrap();
    let tool = tool.to_str().unwrap();
    let refusal = |options: &[&str]| {
        let mut run = command(&[&["run"], options, &["-"]].concat());
        run.env("BELLJAR_TEST_TOOL", "hunter2-hunter2");
        let outcome = finish(run, "print(f(), os.environ['BELLJAR_TEST_TOOL'])");
        assert!(!format!("{outcome:?}").contains("hunter2"), "{outcome:#?}");
        outcome
    };
    // A tool file does not choose among the variables of whoever uses it.
    let outcome = refusal(&["--tool", tool, "--secret", "BELLJAR_TEST_ONE"]);
    let said = "no value for secret BELLJAR_TEST_ONE, secret BELLJAR_TEST_TOOL (tool file weather.py): ";
    assert!(outcome.code == Some(2) && outcome.stderr.contains(said), "{outcome:#?}");
    let outcome = refusal(&["--tool", tool, "--secret", "BELLJAR_TEST_TOOL"]);
    assert_eq!(outcome.stdout, "1 ***\n", "{outcome:#?}");
    for (option, said) in [
        ("K=hunter2", "--secret K: its source must be env:VARIABLE, file:PATH or cmd:COMMAND"),
        ("K=file:/no/such/file", "secret K: cannot read /no/such/file: No such file"),
        ("K=cmd:/no/such/program hunter2", "secret K: the command \"/no/such/program\" cannot be started"),
        ("K=cmd:sh -c 'echo hunter2; echo it is hunter2 >&2; exit 3'", "failed (exit status: 3): it is ***"),
        ("K=env:BELLJAR_TEST_NOT_SET", "secret K: the variable BELLJAR_TEST_NOT_SET is not set"),
    ] {
        let outcome = refusal(&["--secret", option]);
        assert!(outcome.code == Some(2) && outcome.stderr.contains(said), "{option}: {outcome:#?}");
    }
    // Whatever is wrong is told at once.
    let outcome =
        refusal(&["--secret", "A=file:/no/a", "--secret", "B=cmd:false", "--secret", "BELLJAR_TEST_C"]);
    for said in
        ["secret A: cannot read /no/a", "secret B: the command \"false\" failed", "secret BELLJAR_TEST_C"]
    {
        assert!(outcome.code == Some(2) && outcome.stderr.contains(said), "{outcome:#?}");
    }
}
