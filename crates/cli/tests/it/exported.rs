//! Spans of `belljar serve` and `belljar mcp`, as a collector gets them.

use std::io::Write as _;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::belljar::{command, finish};
use crate::collector::{Collector, Manner, Span};
use crate::serve::Server;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// Everything that no span may have in it.
const PRIVATE: [&str; 5] = ["s3cr3t-value", "marker_of_the_script", "printed-by-it", "argument-of-it", "bj_"];

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans
        .iter()
        .find(|span| span.name == name && span.trace == TRACE)
        .unwrap_or_else(|| panic!("{name}: {spans:#?}"))
}

fn ended_within(server: &mut Server, most: Duration) {
    let began = Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(server.process.wait().unwrap().code(), Some(0));
    assert!(began.elapsed() < most, "{:?}: {}", began.elapsed(), server.said());
}

#[test]
fn a_request_and_its_run_are_below_the_callers_span_and_say_nothing_private() {
    let (place, collector) = (tempfile::tempdir().unwrap(), Collector::start(Manner::Takes));
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=k-1"),
        ("OTEL_SERVICE_NAME", "the-jar"),
        ("API_KEY", PRIVATE[0]),
    ];
    let mut server = Server::start_with(place.path(), &["--secret", "API_KEY"], &variables);
    let script = "import os, sys\nmarker_of_the_script = 1\nprint('printed-' + 'by-it', os.environ['API_KEY'])\n\
                  emit_result(os.environ['TRACEPARENT'])";
    let body = json!({"script": script, "args": ["argument-of-it"]}).to_string();
    let sent = |flags: &str| format!("traceparent: 00-{TRACE}-{CALLER}-{flags}");
    let traced = sent("01");
    let headers = ["-H", &traced, "-H", "tracestate: a=1", "-i", "--json", &body];
    let answer = server.ask("/v1/runs?with=a-query", &headers);
    let (head, result) = answer.split_once("\r\n\r\n").unwrap();
    let result: Value = serde_json::from_str(result).unwrap();
    let untraced = sent("00").replace(TRACE, &"c".repeat(32));
    server.ask("/v1/runs", &["-H", &untraced, "--json", r#"{"script": "1"}"#]);
    server.ask("/healthz", &[]);
    ended_within(&mut server, Duration::from_secs(20));

    let (spans, received) = (collector.spans(), collector.received());
    let request = named(&spans, "POST /v1/runs");
    let (run, wait) = (named(&spans, "server.run"), named(&spans, "queue.wait"));
    let script = named(&spans, "exec.run");
    assert_eq!((request.parent.as_str(), request.kind, request.state.as_str()), (CALLER, 2, "a=1"));
    assert_eq!((&run.parent, &wait.parent, &script.parent), (&request.id, &run.id, &run.id), "{spans:#?}");
    for (key, value) in
        [("http.request.method", "POST"), ("http.route", "/v1/runs"), ("http.response.status_code", "200")]
    {
        assert_eq!(request.attributes.get(key).map(String::as_str), Some(value), "{request:?}");
    }
    assert_eq!(script.attributes["verdict"], "ok");
    assert_eq!(run.attributes["trace_id"], TRACE);
    assert_eq!(result["final_data"], format!("00-{TRACE}-{}-01", run.id), "the script is below the run");
    let said = format!("traceresponse: 00-{TRACE}-{}-01", request.id);
    assert!(head.contains(&said), "{said}: {head}");
    assert!(
        spans.iter().all(|span| !span.trace.starts_with("ccc")),
        "its caller does not record: {spans:#?}"
    );
    assert!(spans.iter().all(|span| !span.name.contains("healthz")), "{spans:#?}");
    for it in &received {
        assert!(it.head.starts_with("post /v1/traces ") && it.head.contains("x-key: k-1"), "{}", it.head);
        let text = String::from_utf8_lossy(&it.body);
        assert!(text.contains("the-jar"), "{text}");
        for private in PRIVATE.into_iter().chain(["a-query", &server.token]) {
            assert!(!text.contains(private), "{private} was exported: {text}");
        }
    }
    assert!(!result["stdout"].as_str().unwrap().is_empty(), "{result}");
}

#[test]
fn a_collector_that_is_down_or_never_answers_holds_up_nothing_and_is_told_of_once() {
    let silent = Collector::start(Manner::Silent);
    for (url, is_told) in [("http://127.0.0.1:1", true), (silent.url.as_str(), false)] {
        let place = tempfile::tempdir().unwrap();
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
            ("BELLJAR_LOG", "warn"),
        ];
        let mut server = Server::start_with(place.path(), &[], &variables);
        let began = Instant::now();
        for _ in 0..10 {
            let answer = server.ask("/v1/runs", &["--json", r#"{"script": "emit_result(7)"}"#]);
            assert!(answer.contains("\"final_data\":7"), "{answer}");
            std::thread::sleep(Duration::from_millis(60));
        }
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        ended_within(&mut server, Duration::from_secs(15));
        let told = server.said().matches("spans cannot be exported").count();
        assert_eq!(told, usize::from(is_told), "{url}: {}", server.said());
    }
}

#[test]
fn an_address_that_is_none_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let mut serve = command(&["serve", "--state", place.path().to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    serve.env("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318");
    let outcome = finish(serve, "");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("must begin with http:// or https://"), "{outcome:?}");
}

#[test]
fn a_call_over_a_pipe_is_in_the_trace_that_its_client_names() {
    let (place, collector) = (tempfile::tempdir().unwrap(), Collector::start(Manner::Takes));
    let mut mcp = command(&["mcp", "--state", place.path().to_str().unwrap()]);
    mcp.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("{}/its/own/path", collector.url));
    let mut process = mcp.spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let meta = json!({"traceparent": format!("00-{TRACE}-{CALLER}-01")});
    let code = "import os; os.environ['TRACEPARENT']";
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "run_code", "arguments": {"code": code}, "_meta": meta
        }}),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    let mut answers = std::io::BufReader::new(process.stdout.take().unwrap());
    let mut answer = String::new();
    while !answer.contains("\"id\":2") {
        answer.clear();
        assert!(std::io::BufRead::read_line(&mut answers, &mut answer).unwrap() > 0, "it ended");
    }
    drop(stdin);
    assert!(process.wait().unwrap().success());
    let spans = collector.spans();
    let (call, run) = (named(&spans, "server.call"), named(&spans, "server.run"));
    assert_eq!((call.parent.as_str(), &run.parent), (CALLER, &call.id), "{spans:#?}");
    assert_eq!(call.attributes["tool"], "run_code");
    assert_eq!(named(&spans, "exec.run").parent, run.id);
    assert!(answer.contains(&run.id), "{answer}");
    assert!(collector.received().iter().all(|it| it.head.starts_with("post /its/own/path ")));
}
