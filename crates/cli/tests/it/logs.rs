//! What is logged is asked for in the environment, and the guide's examples work as they stand.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::belljar::{Outcome, command, finish};
use crate::serve::Server;

const RUN: [&str; 4] = ["run", "--engine", "local", "-"];

fn logged(variables: &[(&str, &str)]) -> Outcome {
    let mut run = command(&RUN);
    run.envs(variables.iter().copied());
    finish(run, "emit_result(1)")
}

#[test]
fn both_variables_are_heard_and_belljars_own_wins() {
    for (variables, is_logged) in [
        (&[][..], false),
        (&[("BELLJAR_LOG", "debug")], true),
        (&[("RUST_LOG", "debug")], true),
        (&[("BELLJAR_LOG", "off"), ("RUST_LOG", "debug")], false),
        (&[("BELLJAR_LOG", "debug"), ("RUST_LOG", "off")], true),
        (&[("BELLJAR_LOG", ""), ("RUST_LOG", "debug")], true),
    ] {
        let outcome = logged(variables);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "1\n"), "{outcome:#?}");
        let has_run = outcome.stderr.contains("exec.run{") && outcome.stderr.contains("the run ended");
        assert_eq!(has_run, is_logged, "{variables:?}: {outcome:#?}");
    }
}

#[test]
fn a_filter_that_is_none_is_an_error_in_ours_and_left_alone_in_everybodys() {
    let ours = logged(&[("BELLJAR_LOG", "belljar=loud")]);
    assert_eq!(ours.code, Some(2), "{ours:#?}");
    assert!(ours.stderr.contains("BELLJAR_LOG=belljar=loud is not a log filter"), "{ours:#?}");
    let everybodys = logged(&[("RUST_LOG", "belljar=loud")]);
    assert_eq!((everybodys.code, everybodys.stdout.as_str()), (Some(0), "1\n"), "{everybodys:#?}");
}

#[test]
fn the_help_of_run_names_the_variables() {
    let help = finish(command(&["run", "--help"]), "").stdout;
    assert!(help.contains("BELLJAR_LOG") && help.contains("RUST_LOG"), "{help}");
}

/// Every line of the guide that begins with `$` is typed into a shell, and the line after it must
/// be part of what that shows.
#[test]
fn the_examples_of_the_operating_guide_work() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/operating.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_belljar"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut typed = 0;
    let lines: Vec<_> = guide.lines().collect();
    for pair in lines.windows(2) {
        let Some(line) = pair[0].strip_prefix("$ ") else { continue };
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).env("PATH", &path);
        // The guide is about every engine; the machine that tests it may have no other.
        shell.env("BELLJAR_ENGINE", "local");
        shell.env("BELLJAR_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        let output = shell.output().unwrap();
        let shown = [output.stdout, output.stderr].concat();
        let shown = String::from_utf8_lossy(&shown);
        assert!(output.status.success() && shown.contains(pair[1]), "{line}: {shown}");
        typed += 1;
    }
    assert!(typed >= 2, "the guide shows {typed} commands");
    let names = metrics_named_in(&guide);
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/metrics.md");
    let reference = std::fs::read_to_string(reference).unwrap();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        assert!(reference.contains(&format!("| `{name}` |")), "the guide names {name}, which is not kept");
    }
}

/// The metrics that a text names, without their labels.
fn metrics_named_in(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|word| word.split('{').next()).filter(|word| word.starts_with("belljar_")).collect()
}

#[test]
fn a_log_of_json_has_an_object_on_each_line_and_the_trace_on_each_of_a_request() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    let place = tempfile::tempdir().unwrap();
    let variables = [("BELLJAR_LOG", "debug,hyper=off,rustls=off"), ("BELLJAR_LOG_FORMAT", "json")];
    let mut server = Server::start_with(place.path(), &[], &variables);
    let parent = format!("traceparent: 00-{TRACE}-b7ad6b7169203331-01");
    let body = r#"{"script": "emit_result('a-value')"}"#;
    let answer = server.ask("/v1/runs?token=not-for-logs", &["-H", &parent, "--json", body]);
    assert!(answer.contains("a-value"), "{answer}");
    server.ask("/v1/nothing", &[]);
    server.signal(rustix::process::Signal::TERM);
    server.process.wait().unwrap();
    let said = server.said();
    let is_note = |line: &&str| !line.starts_with("the server ends");
    let lines: Vec<Value> =
        said.lines().filter(is_note).map(|line| serde_json::from_str(line).expect(line)).collect();
    let find = |message: &str| {
        let found = lines.iter().filter(|line| line["message"] == message).collect::<Vec<_>>();
        assert!(!found.is_empty(), "{message}: {said}");
        found
    };
    let [ran, missing] = find("answered")[..] else { panic!("one line for each request: {said}") };
    for (field, value) in [
        ("level", json!("info")),
        ("method", json!("POST")),
        ("path", json!("/v1/runs")),
        ("status", json!(200)),
        ("trace_id", json!(TRACE)),
        ("token", json!(server.token.split('_').nth(1))),
    ] {
        assert_eq!(ran[field], value, "{ran}");
    }
    assert!(ran["ms"].as_f64().is_some_and(|ms| ms > 0.0) && ran["time"].as_str().is_some(), "{ran}");
    assert_eq!((&missing["status"], &missing["path"]), (&json!(404), &json!("/v1/nothing")));
    assert_ne!(missing["trace_id"], TRACE);
    let ended = find("the run ended")[0];
    assert_eq!(
        (&ended["trace_id"], &ended["spans"][0]["name"]),
        (&json!(TRACE), &json!("server.run")),
        "{ended}"
    );
    assert_eq!(ended["spans"][1]["verdict"], "ok", "{ended}");
    for private in ["not-for-logs", "a-value", &server.token] {
        assert!(!said.contains(private), "{private} is in the log");
    }
}

#[test]
fn a_form_of_the_log_that_is_none_is_an_error() {
    let outcome = logged(&[("BELLJAR_LOG", "debug"), ("BELLJAR_LOG_FORMAT", "xml")]);
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("BELLJAR_LOG_FORMAT=xml is no format"), "{outcome:#?}");
}

#[test]
#[cfg(not(feature = "otlp"))]
fn a_build_that_cannot_export_spans_says_so() {
    let place = tempfile::tempdir().unwrap();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")];
    let server = Server::start_with(place.path(), &[], &variables);
    let warning = "was built without the feature `otlp`";
    crate::serve::eventually("it says so", || server.said().contains(warning));
    assert!(!logged(&variables).stderr.contains(warning), "only those who serve export anything");
}
