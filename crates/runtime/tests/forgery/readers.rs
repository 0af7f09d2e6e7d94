//! The events and results of hostile scripts, given to the parsers that people use.

use std::io::Write;
use std::process::{Command, Stdio};

use belljar_runtime::{Event, Intermediate, Json, json_line};
use belljar_testing::{HANG, config, runtime, sandbox_with};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::attack::PRELUDE;

/// Each reads lines from its input and fails on the first that it cannot read, or could not write
/// again.
const READERS: [(&str, &[&str]); 3] = [
    (
        "python3",
        &[
            "-c",
            "import json, sys\nfor line in sys.stdin.buffer.read().decode().splitlines():\n    json.dumps(json.loads(line), ensure_ascii=False).encode()",
        ],
    ),
    (
        "node",
        &[
            "-e",
            "for (const line of require('fs').readFileSync(0, 'utf8').split('\\n').filter(x => x)) JSON.parse(line)",
        ],
    ),
    ("jq", &["-c", "."]),
];

/// A value that each of the readers, or one of them, refuses. `D` is what the frame holds.
const DATA: [&str; 9] = [
    "b'[' * 200_000 + b']' * 200_000",
    "b'{\"a\":' * 2_000 + b'1' + b'}' * 2_000",
    "b'9' * 100_000",
    "b'[1e999999,-1e400]'",
    r#"rb'["\ud800","\udc00 \ud83d","\ud83d\ude00"]'"#,
    r#"rb'{"\ud800":1,"\udfff":2,"a":3,"a":4}'"#,
    r#"b'{"' + b'n' * 100_000 + b'":1}'"#,
    r#"rb'["\u0000","\u009b2J","\u2028","\ufeff"]'"#,
    "'[\"\\u2028\\x85\\x9b\\u202e\\U000e0041\"]'.encode()",
];

#[tokio::test]
async fn every_parser_reads_every_event_and_every_result() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut lines = Vec::new();
    for data in DATA {
        let script = format!(
            "{PRELUDE}\nfor kind in ('intermediate', 'final_result'):\n    raw(sealed(kind, label='l\\x9b', data='D').replace(b'\"D\"', {data}))"
        );
        let mut events: Vec<Event> = Vec::new();
        let running = sandbox.run_with(script.as_str(), |event| events.push(event));
        let result = tokio::time::timeout(HANG, running).await.expect("the host waits for ever").unwrap();
        assert!(result.success(), "{data}: {result:#?}");
        lines.extend(events.iter().map(|event| json_line(event).unwrap()));
        lines.push(json_line(&result).unwrap());
        // Wherever a library's user puts it.
        lines.push(json_line(&serde_json::json!({ "results": result })).unwrap());
    }
    for (program, arguments) in READERS {
        read_by(program, arguments, &lines);
    }
}

fn read_by(program: &str, arguments: &[&str], lines: &[String]) {
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut reader) = started else {
        println!("{program}: skipped (not installed)");
        return;
    };
    let (mut input, text) = (reader.stdin.take().unwrap(), lines.join("\n") + "\n");
    let feeder = std::thread::spawn(move || drop(input.write_all(text.as_bytes())));
    let output = reader.wait_with_output().unwrap();
    feeder.join().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} cannot read it: {words}");
}

/// JSON by the rules of the grammar and no others.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "null".to_owned(),
        "-0".to_owned(),
        "1e400".to_owned(),
        "-17976931348623157e292".to_owned(),
        "9".repeat(400),
        format!("0.{}", "7".repeat(1200)),
        r#""\ud800\u0000\udc00""#.to_owned(),
        r#""\ud83d\ude00\u2028""#.to_owned(),
        "\"\u{9b}\u{2028}é\"".to_owned(),
    ]);
    let name = prop::sample::select(vec![r#""a""#, r#""\u0061""#, r#""\ud800""#, r#""\udc01""#, r#""""#]);
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let fields = prop::collection::vec((name.clone(), inner.clone()), 0..5);
        let object = fields.prop_map(|fields| {
            let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}\n:{value}")).collect();
            format!("{{{}}}", fields.join(",\r"))
        });
        let list =
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(" , ")));
        let deep = (inner, 1..1_200_usize)
            .prop_map(|(inner, levels)| format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels)));
        prop_oneof![object, list, deep]
    })
}

#[test]
fn every_parser_reads_whatever_the_grammar_allows_once_it_is_repaired() {
    let mut runner = TestRunner::deterministic();
    let lines: Vec<_> = (0..500)
        .map(|_| {
            let text = any_json().new_tree(&mut runner).unwrap().current();
            let (data, _) = Json::parse_repaired(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            json_line(&Intermediate::new("x", data)).unwrap()
        })
        .collect();
    for (program, arguments) in READERS {
        read_by(program, arguments, &lines);
    }
    assert!(lines.iter().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}
