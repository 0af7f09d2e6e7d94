//! Pins the JSON that other programs read. A change to it shows up as a diff of a snapshot. Test
//! code only.
//!
//! `doctor --json` belongs to the command and is pinned there.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use proptest::prelude::*;

use crate::{
    Collected, CollectedFile, Decision, Display, Event, EventKind, ExecutionId, ExecutionMode,
    ExecutionRequest, ExecutionResult, Intermediate, Json, LogLevel, LogLine, NetworkVerdict, OutputStream,
    ToolCallRecord, Usage, Verdict,
};

/// A result with something in every field.
pub(crate) fn result() -> ExecutionResult {
    let denied = NetworkVerdict::Denied { rule: "not in allowed_hosts".into() };
    let failed = NetworkVerdict::Failed { reason: "connection refused".into() };
    ExecutionResult {
        execution_id: ExecutionId::new("e1"),
        verdict: Verdict::Exited { code: 3 },
        final_data: Json::parse(r#"{"b":1.50,"a":[null]}"#).ok(),
        intermediates: vec![Intermediate::new("part", Json::parse("[1, 2]").unwrap())],
        displays: vec![shown()],
        tool_calls: vec![called()],
        logs: vec![LogLine::new(LogLevel::Warning, "look")],
        stdout: "out\n".into(),
        stderr: "err".into(),
        files: vec![
            CollectedFile::new("out/chart.png", 3, "ba7816bf", Collected::Bytes("abc".into())),
            CollectedFile::new("a.csv", 9, "8e35c2cd", Collected::Path("/home/me/out/a.csv".into())),
        ],
        error: Some("the process exited with code 3".into()),
        traceback: Some("Traceback …".into()),
        warnings: vec!["2 processes were killed".into()],
        network: vec![
            Decision {
                count: 2,
                bytes_sent: 10,
                bytes_received: 20,
                ms: 1.5,
                ..decision(NetworkVerdict::Allowed)
            },
            decision(denied),
            decision(failed),
        ],
        output_bytes: 7,
        usage: Usage {
            wall_ms: 12.5,
            cpu_ms: Some(10.25),
            peak_memory_bytes: Some(1 << 20),
            oom_kills: Some(0),
            forks_refused: None,
        },
        engine: "docker".into(),
        place: Some("3f4e9a".into()),
    }
}

fn called() -> ToolCallRecord {
    let mut call = ToolCallRecord::new(7, "search");
    (call.duration_ms, call.bytes_in, call.bytes_out) = (1.5, 13, 4);
    call
}

fn shown() -> Display {
    crate::display::tests::display(
        r#"{"application/json":{"b":1.50},"image/png":"iVBORw0KGgo=","text/plain":"<Figure>"}"#,
    )
}

fn decision(verdict: NetworkVerdict) -> Decision {
    Decision::new("api.example.com", 443, verdict)
}

/// One event of each kind.
fn kinds() -> Vec<EventKind> {
    vec![
        EventKind::Stdout { text: "out\n".into() },
        EventKind::Stderr { text: "err".into() },
        EventKind::Log { level: LogLevel::Info, message: "m".into() },
        EventKind::Intermediate { label: "part".into(), data: Json::parse("[1, 2]").unwrap() },
        EventKind::FinalResult { data: Json::parse("null").unwrap() },
        EventKind::Display { display: shown() },
        EventKind::ToolCall {
            call_id: 7,
            tool: "search".into(),
            args: Json::parse(r#"{"query":"x"}"#).unwrap(),
        },
        EventKind::ToolProgress {
            call_id: 7,
            tool: "search".into(),
            progress: 1.0,
            total: Some(3.0),
            message: "page 1".into(),
        },
        EventKind::ToolResult { call: called(), message: "nothing found".into() },
        EventKind::Error { message: "ValueError: no".into(), traceback: Some("Traceback …".into()) },
        EventKind::Error { message: "no".into(), traceback: None },
        EventKind::Denied { target: "evil.example:443".into(), rule: "not in allowed_hosts".into() },
        EventKind::ScriptDone,
        EventKind::Leftover { stream: OutputStream::Stderr, text: "late".into() },
        EventKind::Warning { message: "w".into() },
        EventKind::Ended { result: Arc::new(result()) },
    ]
}

fn events() -> Vec<Event> {
    let id = ExecutionId::new("e1");
    kinds().into_iter().zip(0..).map(|(kind, seq)| Event::new(id.clone(), seq, kind)).collect()
}

fn request() -> ExecutionRequest {
    ExecutionRequest {
        required_secrets: vec!["API_KEY".into()],
        ..ExecutionRequest::new("emit_result(1)\n")
            .with_execution_id("e1")
            .with_mode(ExecutionMode::Interactive)
            .with_timeout(Duration::from_millis(2500))
    }
}

#[test]
fn a_result_looks_like_this() {
    assert_snapshot!(serde_json::to_string_pretty(&result()).unwrap());
}

#[test]
fn each_verdict_looks_like_this() {
    let lines = Verdict::examples().map(|verdict| {
        let result = ExecutionResult::new(ExecutionId::new("e1"), verdict, "native");
        let json = serde_json::to_string(&result).unwrap();
        json[..json.find(",\"final_data\"").unwrap()].to_owned() + ",…"
    });
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn each_event_looks_like_this() {
    let lines: Vec<_> = events().iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_request_looks_like_this() {
    let least = serde_json::to_string(&ExecutionRequest::new("1")).unwrap();
    assert_snapshot!(format!("{least}\n{}", serde_json::to_string(&request()).unwrap()));
}

#[test]
fn a_set_of_tools_looks_like_this() {
    let set = crate::tool::tests::several();
    assert_snapshot!(serde_json::to_string_pretty(&set).unwrap());
}

#[test]
fn each_example_is_read_back_as_it_was() {
    for event in events() {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
    }
    for verdict in Verdict::examples() {
        let result = ExecutionResult { verdict, ..result() };
        let text = serde_json::to_string(&result).unwrap();
        assert_eq!(serde_json::from_str::<ExecutionResult>(&text).unwrap(), result, "{text}");
    }
    let text = serde_json::to_string(&request()).unwrap();
    assert_eq!(serde_json::from_str::<ExecutionRequest>(&text).unwrap(), request());
}

#[test]
fn what_is_not_an_event_is_refused_by_its_reason() {
    for (text, said) in [
        (r#"{"type":"party","execution_id":"e","seq":1}"#, "\"party\" is not an event"),
        (r#"{"type":"stdout","execution_id":"e","seq":1}"#, "missing field `text`"),
        (r#"{"type":"stdout","seq":1,"text":""}"#, "missing field `execution_id`"),
        (r#"{"type":"ended","execution_id":"e","seq":1}"#, "missing field `verdict`"),
        (r#"{"type":"final_result","execution_id":"e","seq":1}"#, "missing field `data`"),
        (r#"{"type":"display","execution_id":"e","seq":1}"#, "missing field `data`"),
        (
            r#"{"type":"display","execution_id":"e","seq":1,"data":{"image/png":"?"}}"#,
            "\"image/png\" is not written as its type demands",
        ),
    ] {
        let error = serde_json::from_str::<Event>(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn fields_of_a_later_version_do_not_keep_a_result_from_being_read() {
    let mut json = serde_json::to_value(result()).unwrap();
    json["artifacts"] = serde_json::json!([1]);
    assert_eq!(serde_json::from_str::<ExecutionResult>(&json.to_string()).unwrap().verdict, result().verdict);
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        ".{0,12}".prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
    ];
    let tree = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    });
    tree.prop_map(|value| Json::of(&value).unwrap())
}

/// Milliseconds as they are measured: whole microseconds, which the JSON reader restores exactly.
fn milliseconds() -> impl Strategy<Value = f64> {
    (0u64..1 << 40).prop_map(|micros| micros as f64 / 1e3)
}

fn decisions() -> impl Strategy<Value = Vec<Decision>> {
    let verdict = prop_oneof![
        Just(NetworkVerdict::Allowed),
        ".{0,9}".prop_map(|rule| NetworkVerdict::Denied { rule }),
        ".{0,9}".prop_map(|reason| NetworkVerdict::Failed { reason }),
    ];
    let one = (".{0,9}", any::<u16>(), verdict, any::<[u64; 3]>(), milliseconds()).prop_map(
        |(host, port, verdict, [count, bytes_sent, bytes_received], ms)| Decision {
            host,
            port,
            verdict,
            count,
            bytes_sent,
            bytes_received,
            ms,
        },
    );
    prop::collection::vec(one, 0..3)
}

fn verdicts() -> impl Strategy<Value = Verdict> {
    (any::<prop::sample::Index>(), any::<i32>()).prop_map(|(which, number)| {
        match which.get(&Verdict::examples()) {
            Verdict::Exited { .. } => Verdict::Exited { code: number },
            Verdict::Signaled { .. } => Verdict::Signaled { signal: number },
            other => other.clone(),
        }
    })
}

fn usages() -> impl Strategy<Value = Usage> {
    let counts = any::<[Option<u64>; 3]>();
    (milliseconds(), prop::option::of(milliseconds()), counts).prop_map(|(wall_ms, cpu_ms, counts)| {
        let [peak_memory_bytes, oom_kills, forks_refused] = counts;
        Usage { wall_ms, cpu_ms, peak_memory_bytes, oom_kills, forks_refused }
    })
}

fn results() -> impl Strategy<Value = ExecutionResult> {
    let said = (
        prop::option::of(json().prop_filter("null is read as nothing", |json| json.as_str() != "null")),
        prop::collection::vec((".{0,9}", json()), 0..3),
        prop::collection::vec(".{0,9}", 0..3),
        prop::option::of(".{0,9}"),
    );
    let known = (verdicts(), ".{0,9}", any::<u64>(), decisions(), usages());
    (said, known).prop_map(
        |((final_data, parts, texts, maybe), (verdict, text, output_bytes, network, usage))| {
            ExecutionResult {
                execution_id: ExecutionId::new(text.clone()),
                verdict,
                final_data,
                intermediates: parts
                    .into_iter()
                    .map(|(label, data)| Intermediate::new(label, data))
                    .collect(),
                displays: texts.iter().map(|_| shown()).collect(),
                tool_calls: texts.iter().map(|_| called()).collect(),
                logs: texts.iter().map(|text| LogLine::new(LogLevel::Debug, text)).collect(),
                stdout: text.clone(),
                stderr: texts.concat(),
                files: Vec::new(),
                error: maybe.clone(),
                traceback: maybe.clone(),
                warnings: texts,
                network,
                output_bytes,
                usage,
                engine: text,
                place: maybe,
            }
        },
    )
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    let data = json();
    prop_oneof![
        (any::<prop::sample::Index>()).prop_map(|which| which.get(&kinds()).clone()),
        ".{0,20}".prop_map(|text| EventKind::Stdout { text }),
        (".{0,9}", data).prop_map(|(label, data)| EventKind::Intermediate { label, data }),
        json().prop_map(|data| EventKind::FinalResult { data }),
        (".{0,9}", prop::option::of(".{0,9}"))
            .prop_map(|(message, traceback)| EventKind::Error { message, traceback }),
        results().prop_map(|result| EventKind::Ended { result: Arc::new(result) }),
    ]
}

proptest! {
    #[test]
    fn any_result_is_read_back_as_it_was(result in results()) {
        let text = serde_json::to_string(&result).unwrap();
        prop_assert_eq!(serde_json::from_str::<ExecutionResult>(&text).unwrap(), result);
    }

    #[test]
    fn any_event_is_read_back_as_it_was(seq in any::<u64>(), id in ".{0,9}", kind in any_kind()) {
        // The result inside names the same execution: there is only one `execution_id` in the JSON.
        let kind = match kind {
            EventKind::Ended { result } => {
                let result = ExecutionResult { execution_id: ExecutionId::new(&*id), ..(*result).clone() };
                EventKind::Ended { result: Arc::new(result) }
            }
            other => other,
        };
        let event = Event::new(ExecutionId::new(id), seq, kind);
        let text = serde_json::to_string(&event).unwrap();
        prop_assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }

    #[test]
    fn any_request_is_read_back_as_it_was(
        script in ".{0,40}",
        id in prop::option::of(".{0,9}"),
        interactive in prop::option::of(any::<bool>()),
        // Up to twelve days. Past fifty days, seconds in a double lose their nanoseconds.
        millis in prop::option::of(0u64..1 << 30),
        required_secrets in prop::collection::vec("[A-Z]{1,5}", 0..3),
        stdin in prop::collection::vec(any::<u8>(), 1..9),
        file in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let mode = interactive.map(|yes| if yes { ExecutionMode::Interactive } else { ExecutionMode::Plan });
        let request = ExecutionRequest {
            script,
            execution_id: id.map(ExecutionId::new),
            mode,
            timeout: millis.map(Duration::from_millis),
            args: vec!["-v".into()],
            name: Some("chart.py".into()),
            env: [("LANG".to_owned(), "C".to_owned())].into(),
            stdin: stdin.into(),
            max_output_bytes: millis,
            required_secrets,
            ..ExecutionRequest::new("").with_file("a/b", file)
        };
        let text = serde_json::to_string(&request).unwrap();
        prop_assert_eq!(serde_json::from_str::<ExecutionRequest>(&text).unwrap(), request);
    }
}
