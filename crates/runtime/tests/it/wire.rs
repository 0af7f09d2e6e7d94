//! What the real harness sends, held to the types and to the schema that is rendered from them.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;

use belljar_core::config::ExecutionMode::{self, Interactive, Plan};
use belljar_core::wire::{Ask, Envelope, Execute, GuestFrame, HostFrame, Lines, PROTOCOL, Question};
use belljar_core::{ExecutionId, Secret, layout};
use belljar_engine::docker::Docker;
use belljar_engine::guest::{PYTHON, Spawn, template_settings};
use belljar_engine::local::Local;
use belljar_engine::native::Native;
use belljar_engine::{Blueprint, Cell, Engine, IntoEngine, Need, Output, Template, ToolSource};
use belljar_testing::{HANG, cache, config, engine, runtime};
use serde_json::{Value, json};

use crate::json_schema;

const SEAL: &str = "00112233445566778899aabbccddeeff";
const SCHEMA: &str = include_str!("../../../core/schema/wire-1.json");
const TOOL: &str = "def double(x):\n    emit_log(f'doubling {x}')\n    return 2 * x\n\
                    async def later(x):\n    return x\n";

/// Scripts by how they should end: the types of their frames, `log` and `intermediate` too.
const SCRIPTS: &[(ExecutionMode, &str, &[&str])] = &[
    (Plan, "emit_result({'a': [1, 2.5, None, 'é😀\\u2028', 10**40]})", &["final_result", "script_done"]),
    (Plan, "emit_result(None)", &["final_result", "script_done"]),
    (
        Plan,
        "print('é'); emit_log('a', level='WARN'); emit_log('\\ud800', 'loud')",
        &["log", "log", "script_done"],
    ),
    (
        Plan,
        "emit_intermediate('p', {'x': 1}); emit_intermediate(3, None); emit_result(1)",
        &["intermediate", "intermediate", "final_result", "script_done"],
    ),
    (Plan, "emit_result(double(21) + later(1))", &["log", "final_result", "script_done"]),
    (Plan, "x = 1", &["script_done"]),
    (Plan, "1 / 0", &["error", "script_done"]),
    (Plan, "if x\n", &["error", "script_done"]),
    (Plan, "import sys; sys.exit(3)", &["error", "script_done"]),
    (Plan, "emit_result(object())", &["error", "script_done"]),
    (Plan, "emit_result({1, 2}, strict=True)", &["error", "script_done"]),
    (Plan, "emit_result({'when': {1, 2}})", &["final_result", "script_done"]),
    (
        Plan,
        "display(1)\nclass Picture:\n    def _repr_png_(self): return b'x' * 2_000_000\ndisplay(Picture())",
        &["display", "display", "script_done"],
    ),
    (Plan, "emit_log('x' * 100_000); emit_result('y' * 100_000)", &["log", "final_result", "script_done"]),
    (Interactive, "x = 20\nprint(x)", &["script_done"]),
    (Interactive, "emit_intermediate('x', x); x + 1", &["intermediate", "script_done"]),
    (Interactive, "emit_result(x)", &["final_result", "script_done"]),
    (Interactive, "raise KeyError('k')", &["error", "script_done"]),
];

fn schema(side: &str) -> Value {
    let document: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(document["protocol"], PROTOCOL);
    document["$defs"][side].clone()
}

/// A cell, and what must live as long as it.
async fn cell() -> Option<(Box<dyn Cell>, (Arc<dyn Template>, Arc<dyn Engine>))> {
    runtime()?;
    let made: Arc<dyn Engine> = match engine() {
        "docker" => Docker::new().into_engine().await.unwrap(),
        "local" => Local::new().cache_dir(cache()).into_engine().await.unwrap(),
        _ => Native::new().cache_dir(cache()).into_engine().await.unwrap(),
    };
    let tools = vec![ToolSource { file_name: "tool.py".into(), source: TOOL.into() }];
    let blueprint = Blueprint { tools, ..Blueprint::new(config()) };
    let template = made.prepare(&blueprint, &mut |_| {}).await.unwrap();
    Some((template.spawn(Need::Now).await.unwrap(), (template, made)))
}

/// Sends one request; every line that comes back until the script is over. Empty ones only separate
/// others.
async fn converse(cell: &mut dyn Cell, request: &[u8]) -> Vec<Vec<u8>> {
    cell.begin().await.unwrap();
    cell.send(request.to_vec().into());
    poll_fn(|cx| cell.poll_flush(cx)).await.unwrap();
    let mut lines = Lines::with_limit(1 << 20);
    let mut heard: Vec<Vec<u8>> = Vec::new();
    loop {
        match poll_fn(|cx| cell.poll_output(cx)).await {
            Output::Burst(burst) => lines.push(&burst.channel),
            Output::Closed => {
                let heard: Vec<_> = heard.iter().map(|line| String::from_utf8_lossy(line)).collect();
                panic!("the cell ended: {:?} {heard:#?}", cell.autopsy().await)
            }
        }
        while let Some(line) = lines.next_line().unwrap() {
            if !line.is_empty() {
                heard.push(line.to_vec());
            }
        }
        let last = heard.last().and_then(|line| Envelope::parse(line));
        if last.is_some_and(|last| matches!(last.frame, GuestFrame::ScriptDone | GuestFrame::Answer { .. })) {
            return heard;
        }
    }
}

fn execute(script: &str, mode: ExecutionMode, timeout: f64, required_secrets: &[String]) -> Vec<u8> {
    HostFrame::Execute(Execute {
        execution_id: &ExecutionId::new("e"),
        seal: SEAL,
        script,
        mode,
        name: None,
        args: &[],
        env: &BTreeMap::new(),
        has_stdin: false,
        timeout,
        max_output_bytes: 1 << 20,
        required_secrets,
        secrets: &BTreeMap::from([("TOKEN".to_owned(), Secret::new("t0ken"))]),
    })
    .to_line()
}

fn name(frame: &GuestFrame<'_>) -> &'static str {
    match frame {
        GuestFrame::Ready { .. } => "ready",
        GuestFrame::Log { .. } => "log",
        GuestFrame::Intermediate { .. } => "intermediate",
        GuestFrame::FinalResult { .. } => "final_result",
        GuestFrame::Display { .. } => "display",
        GuestFrame::Error { .. } => "error",
        GuestFrame::ScriptDone => "script_done",
        other => panic!("a frame that this test does not know: {other:?}"),
    }
}

/// Holds lines to schema and types; the frames' names, which both must agree on.
fn names(schema: &Value, lines: &[Vec<u8>]) -> Vec<&'static str> {
    let check = |line: &Vec<u8>| {
        let shown = String::from_utf8_lossy(line);
        let value: Value = serde_json::from_slice(line).expect("the harness writes JSON");
        assert_eq!(json_schema::check(schema, &value), Ok(()), "{shown}");
        let envelope = Envelope::parse(line).unwrap_or_else(|| panic!("not a frame: {shown}"));
        assert!(envelope.is_sealed_with(SEAL), "{shown}");
        assert!(envelope.printed.stdout.is_some() && envelope.printed.stderr.is_some(), "{shown}");
        assert_eq!(value["type"], name(&envelope.frame));
        name(&envelope.frame)
    };
    lines.iter().map(check).collect()
}

#[tokio::test]
async fn what_the_harness_sends_fits_the_types_and_the_schema() {
    let Some((mut cell, _held)) = cell().await else { return };
    let (host, guest) = (schema("host_to_guest"), schema("guest_to_host"));
    let mut seen = BTreeSet::new();
    for (mode, script, expected) in SCRIPTS {
        let request = execute(script, *mode, 60.0, &[]);
        let sent = serde_json::from_slice(&request).unwrap();
        assert_eq!(json_schema::check(&host, &sent), Ok(()), "{script}");
        let lines = tokio::time::timeout(HANG, converse(&mut *cell, &request)).await.expect(script);
        let names = names(&guest, &lines);
        assert_eq!(names, *expected, "{script}");
        seen.extend(names);
    }
    assert_eq!(
        seen,
        BTreeSet::from(["display", "error", "final_result", "intermediate", "log", "script_done"])
    );
}

#[tokio::test]
async fn what_the_harness_says_of_its_own_fits_too() {
    let Some((mut cell, _held)) = cell().await else { return };
    let guest = schema("guest_to_host");
    let request = execute("emit_result(1)", Plan, 60.0, &["TOKEN".to_owned(), "ABSENT".to_owned()]);
    let lines = tokio::time::timeout(HANG, converse(&mut *cell, &request)).await.unwrap();
    assert_eq!(names(&guest, &lines), ["error", "script_done"]);
    let request = execute("while True: pass", Plan, 0.2, &[]);
    let lines = tokio::time::timeout(HANG, converse(&mut *cell, &request)).await.unwrap();
    assert_eq!(names(&guest, &lines), ["error", "script_done"]);
    let frame = Envelope::parse(&lines[0]).unwrap().frame;
    assert!(matches!(frame, GuestFrame::Error { timed_out: true, .. }), "{frame:?}");
}

#[tokio::test]
async fn questions_and_answers_fit_too() {
    let Some((mut cell, _held)) = cell().await else { return };
    let (host, guest) = (schema("host_to_guest"), schema("guest_to_host"));
    for question in [Question::Completions("emit_res"), Question::Completions("1."), Question::Variables] {
        let request = HostFrame::Ask(Ask { seal: SEAL, question, timeout: 60.0 }).to_line();
        let sent = serde_json::from_slice(&request).unwrap();
        assert_eq!(json_schema::check(&host, &sent), Ok(()), "{question:?}");
        let lines = tokio::time::timeout(HANG, converse(&mut *cell, &request)).await.unwrap();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        let answer: Value = serde_json::from_slice(line).unwrap();
        assert_eq!(json_schema::check(&guest, &answer), Ok(()), "{answer}");
        let envelope = Envelope::parse(line).unwrap();
        assert!(envelope.is_sealed_with(SEAL) && answer["type"] == "answer", "{answer}");
    }
}

/// The first line of a cell without a zygote, started as the local engine starts it.
fn greeting_of_a_single_cell() -> Vec<u8> {
    let home = tempfile::tempdir().unwrap();
    let inside = |name: &str| home.path().join(name);
    for file in PYTHON.files {
        std::fs::create_dir_all(inside(file.path).parent().unwrap()).unwrap();
        std::fs::write(inside(file.path), file.text).unwrap();
    }
    for directory in ["workspace", "tools"] {
        std::fs::create_dir(inside(directory)).unwrap();
    }
    std::fs::write(inside("tools/tool.py"), TOOL).unwrap();
    std::fs::write(inside("tools/broken.py"), "1 / 0").unwrap();
    let mut settings = template_settings(&Blueprint::new(config()));
    settings["layout"]["workspace"] = json!(inside("workspace"));
    settings["layout"]["scratch"] = json!([inside("workspace")]);
    settings["layout"]["tools"] = json!(inside("tools"));
    std::fs::write(inside(layout::TEMPLATE_SETTINGS), settings.to_string()).unwrap();

    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(HANG)).unwrap();
    let line = PYTHON.command("python3", home.path().to_str().unwrap(), Spawn::Exec { channel: 0 });
    let mut child = Command::new(&line[0]).args(&line[1..]).stdin(OwnedFd::from(theirs)).spawn().unwrap();
    let mut greeting = Vec::new();
    let mut lines = BufReader::new(ours);
    while greeting.is_empty() {
        lines.read_until(b'\n', &mut greeting).unwrap();
        assert_eq!(greeting.pop(), Some(b'\n'), "the cell ended");
    }
    // It ends when its host hangs up.
    drop(lines);
    child.wait().unwrap();
    greeting
}

#[test]
fn the_greeting_of_a_cell_without_a_zygote_fits_the_types_and_the_schema() {
    let line = greeting_of_a_single_cell();
    let shown = String::from_utf8_lossy(&line);
    let value: Value = serde_json::from_slice(&line).expect("the harness writes JSON");
    assert_eq!(json_schema::check(&schema("guest_to_host"), &value), Ok(()), "{shown}");
    let frame = Envelope::parse(&line).unwrap_or_else(|| panic!("not a frame: {shown}")).frame;
    let GuestFrame::Ready { protocol: PROTOCOL, report: Some(report) } = frame else { panic!("{frame:?}") };
    assert!(report.python.starts_with("3."), "{report:?}");
    assert_eq!(report.tools, ["double", "later"]);
    let warnings = report.warnings.join("\n");
    assert!(warnings.contains("broken.py") && warnings.contains("ZeroDivisionError"), "{warnings}");
}

#[tokio::test]
async fn the_local_engine_reports_what_its_first_cell_greets_with() {
    let local = Local::new().cache_dir(cache()).into_engine().await.unwrap();
    let tools = vec![ToolSource { file_name: "tool.py".into(), source: TOOL.into() }];
    let blueprint = Blueprint { tools, ..Blueprint::new(config()) };
    let template = local.prepare(&blueprint, &mut |_| {}).await.unwrap();
    let report = template.report();
    assert!(report.python.starts_with("3."), "{report:?}");
    assert_eq!(report.tools, ["double", "later"]);
    template.close();
    local.settle().await;
}

#[test]
fn the_schema_refuses_what_is_not_in_the_protocol() {
    let guest = schema("guest_to_host");
    for (frame, fits) in [
        (json!({ "type": "ready", "protocol": PROTOCOL }), true),
        (
            json!({ "type": "ready", "protocol": PROTOCOL, "python": "3.11.2", "tools": [], "warnings": ["w"] }),
            true,
        ),
        (json!({ "type": "ready", "protocol": PROTOCOL, "tools": "double" }), false),
        (json!({ "type": "ready", "protocol": PROTOCOL, "pythons": [] }), false),
        (json!({ "type": "script_done", "python": "3.11.2" }), false),
        (json!({ "type": "ready" }), false),
        (json!({ "type": "coup" }), false),
        (
            json!({ "type": "log", "level": "info", "message": "m", "seal": "s", "stdout": 0, "stderr": 0 }),
            true,
        ),
        (json!({ "type": "log", "level": "info", "message": 5 }), false),
        (json!({ "type": "script_done", "party": 1 }), false),
        (json!({ "type": "script_done", "data": 1 }), false),
        (json!({ "type": "final_result" }), false),
    ] {
        let checked = json_schema::check(&guest, &frame);
        assert_eq!(checked.is_ok(), fits, "{frame}: {checked:?}");
    }
}
