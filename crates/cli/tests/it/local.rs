//! `--engine local`: plain subprocesses. It must be asked for by name, and always warns.

use serde_json::json;

use crate::belljar::{belljar, run_json};

const LOCAL: [&str; 2] = ["--engine", "local"];

#[test]
fn a_script_runs_without_isolation_and_everybody_is_told() {
    let (outcome, result) = run_json(&LOCAL, "print('hello'); emit_result(6 * 7)");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!((&result["final_data"], &result["engine"]), (&json!(42), &json!("local")));
    assert!(outcome.stderr.contains("no isolation"), "{outcome:#?}");
    let warnings = result["warnings"].as_array().expect("a list");
    assert!(warnings.iter().any(|line| line.as_str().unwrap().contains("no isolation")), "{result:#}");
    let outcome = belljar(&["run", "--engine", "local", "-"], "emit_result(1)");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "1\n"), "{outcome:#?}");
    assert!(outcome.stderr.contains("no isolation"), "{outcome:#?}");
}

#[test]
fn endings_are_told_as_on_every_engine() {
    let (outcome, result) = run_json(&[&LOCAL[..], &["--timeout", "1"]].concat(), "while True: pass");
    assert_eq!((outcome.code, &result["verdict"]), (Some(124), &json!("timeout_wall")), "{result:#}");
    let (outcome, result) = run_json(&LOCAL, "os._exit(3)");
    assert_eq!((outcome.code, &result["verdict"]), (Some(3), &json!("exited")), "{result:#}");
}

#[test]
fn what_it_cannot_enforce_is_refused() {
    for option in [["--allow-host", "example.com"], ["--memory", "64"], ["--mount", "/usr:/data"]] {
        let arguments = [&["run", "--engine", "local"][..], &option, &["-"]].concat();
        let outcome = belljar(&arguments, "emit_result(1)");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:#?}");
        assert!(outcome.stderr.contains("the local engine cannot enforce"), "{outcome:#?}");
    }
}

#[test]
fn doctor_finds_no_protection_on_it() {
    let outcome = belljar(&["doctor", "--engine", "local", "--json"], "");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let report = outcome.json();
    let protections = report["protections"].as_array().unwrap();
    assert!(!protections.is_empty());
    assert!(protections.iter().all(|row| row["state"] == "missing"), "{report:#}");
}
