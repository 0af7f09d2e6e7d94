use std::fs;

use crate::belljar::{Outcome, belljar, run_json};

/// The command refused the input before anything ran: code 2, nothing on stdout, and all these
/// words on stderr.
fn assert_refused(outcome: &Outcome, words: &[&str]) {
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:#?}");
    for word in words {
        assert!(outcome.stderr.contains(word), "{word:?} is not in {:?}", outcome.stderr);
    }
}

#[test]
fn a_missing_script_is_named() {
    assert_refused(&belljar(&["run", "/no/such.py"], ""), &["error: script /no/such.py: No such file"]);
}

#[test]
fn a_directory_is_no_script() {
    assert_refused(&belljar(&["run", "/usr"], ""), &["script /usr", "directory"]);
}

#[test]
fn an_empty_plan_is_refused() {
    for nothing in ["", " \n\t\n"] {
        let outcome = belljar(&["run", "--mode", "plan", "-"], nothing);
        assert_refused(&outcome, &["script from stdin", "empty"]);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_with_the_place() {
    assert_refused(
        &belljar(&["run", "--json"], b"x = 1\n\xff\xfe"),
        &["stdin", "not UTF-8", "0xff", "line 2"],
    );
    assert_refused(&belljar(&["run", "-"], b"x = 1\ny = '\0'"), &["stdin", "NUL byte at line 2"]);
}

#[test]
fn a_syntax_error_shows_the_line() {
    let (outcome, result) = run_json(&[], "x = 1\ny = = 2\n");
    assert_eq!((outcome.code, &result["verdict"]), (Some(1), &"exception".into()));
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("SyntaxError") && error.contains("line 2") && error.contains("y = = 2"),
        "{error}"
    );
}

#[test]
fn five_megabytes_of_script_run() {
    let mut script = "# a long comment that says nothing at all\n".repeat(125_000);
    assert!(script.len() > 5 << 20);
    script.push_str("emit_result('end')\n");
    let (outcome, result) = run_json(&[], &script);
    assert_eq!((outcome.code, &result["final_data"]), (Some(0), &"end".into()), "{:?}", result["error"]);
}

#[test]
fn limits_that_are_none_are_refused_by_option_and_rule() {
    for (options, words) in [
        (["--timeout", "-1"], ["--timeout", "must be greater than 0"]),
        (["--timeout", "0"], ["--timeout", "must be greater than 0"]),
        (["--timeout", "nan"], ["--timeout", "must be greater than 0"]),
        (["--timeout", "1e300"], ["--timeout", "at most 86400"]),
        (["--timeout", "soon"], ["--timeout", "soon"]),
        (["--memory", "-5"], ["--memory", "whole number"]),
        (["--memory", "1"], ["--memory", "must be from 16"]),
        (["--memory", "99999999999"], ["--memory", "must be from 16"]),
        (["--python", "2.7"], ["--python", "2.7"]),
    ] {
        let outcome = belljar(&[&["run"], &options[..], &["-"]].concat(), "emit_result(1)");
        assert_refused(&outcome, &words);
    }
}

#[test]
fn a_python_that_is_not_there_is_refused_with_what_there_is() {
    let outcome = belljar(&["run", "--python", "3.99", "-"], "emit_result(1)");
    assert_refused(&outcome, &["python 3.99 is not installed", "found"]);
}

#[test]
fn a_bad_sandbox_file_is_refused_by_file_key_and_rule() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("box.toml");
    let path = file.to_str().unwrap();
    for (text, words) in [
        ("[resource_limits]\nmemroy_mb = 1", ["unknown key `resource_limits.memroy_mb`", "memory_mb"]),
        (
            "[resource-limits]\nmemory-mb = 64\nmemory-swap-mb = 64",
            ["memory_swap_mb = 64", "greater than memory_mb (64)"],
        ),
        ("[resource_limits]\npids_limit = -3", ["resource_limits.pids_limit", "line 2"]),
        ("pool_size = 'two'", ["pool_size", "line 1"]),
        ("name = ", ["syntax error at line 1", ""]),
    ] {
        fs::write(&file, text).unwrap();
        let outcome = belljar(&["run", "--sandbox", path, "-"], "emit_result(1)");
        assert_refused(&outcome, &[&[path], &words[..]].concat());
    }
    assert_refused(&belljar(&["run", "--sandbox", "/no/box.toml", "-"], "x"), &["sandbox file /no/box.toml"]);
}

#[test]
fn a_resource_that_is_not_there_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("box.toml");
    fs::write(&file, "[[resources]]\nhost_path = '/no/such/data'\ncontainer_path = '/data'").unwrap();
    let outcome = belljar(&["run", "--sandbox", file.to_str().unwrap(), "-"], "emit_result(1)");
    assert_refused(&outcome, &["/no/such/data", "/data"]);
    let outcome = belljar(&["run", "--mount", "/no/such/data:/data", "-"], "emit_result(1)");
    assert_refused(&outcome, &["--mount", "/no/such/data"]);
}

#[test]
fn a_host_that_is_none_is_refused() {
    let outcome = belljar(&["run", "--allow-host", "exa mple.com:443", "-"], "emit_result(1)");
    assert_refused(&outcome, &["--allow-host", "exa mple.com"]);
}

#[test]
fn a_credential_that_nobody_has_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("box.toml");
    let policy = "[network_policy]\nallowed_hosts = ['api.example']\ninject = [{ host = 'api.example', header = 'Authorization', secret = 'NOBODY_HAS_THIS', terminate_tls = true }]";
    fs::write(&file, policy).unwrap();
    let outcome = belljar(&["run", "--sandbox", file.to_str().unwrap(), "-"], "emit_result(1)");
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("NOBODY_HAS_THIS"), "{}", outcome.stderr);
}

#[test]
fn a_tool_that_does_not_compile_is_named_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("bad.py"), "def broken():\n    return (1\n").unwrap();
    fs::write(path("good.py"), "def double(x):\n    return 2 * x\n").unwrap();
    let options = ["run", "--tool", &path("bad.py"), "--tool", &path("good.py"), "-"];
    let outcome = belljar(&options, "emit_result(double(21))");
    assert_refused(&outcome, &["tool file bad.py did not load: line 2: SyntaxError"]);
    assert_refused(&belljar(&["run", "--tool", "/no/tool.py", "-"], "x"), &["tool file /no/tool.py"]);
}

#[test]
fn missing_secrets_are_all_listed() {
    let options = ["run", "--secret", "BELLJAR_TEST_ONE", "--secret", "BELLJAR_TEST_TWO", "-"];
    let outcome = belljar(&options, "emit_result('ran')");
    assert_refused(
        &outcome,
        &["secret BELLJAR_TEST_ONE, secret BELLJAR_TEST_TWO", "set it in the environment"],
    );
}
