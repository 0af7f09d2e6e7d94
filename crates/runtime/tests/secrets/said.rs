//! Scripts that let a secret slip.

use std::time::Duration;

use belljar_runtime::{Event, ExecutionRequest, ExecutionResult, Sandbox, Verdict};
use belljar_testing::{HANG, data, run};

use crate::journal::Journal;
use crate::{NAME, assert_absent, granted};

/// With what a JSON string, a Rust string and a regular expression would escape.
const VALUE: &str = "s3cr\"et\\ v\u{e4}lue$^";

/// Every way a script has to say something.
const SLIPS: [(&str, Verdict); 18] = [
    ("print(key)\nemit_result(1)", Verdict::Ok),
    ("import sys\nprint('a', key, file=sys.stderr)\nemit_result(1)", Verdict::Ok),
    // In two pieces, with a frame between them so that the host cannot take them for one.
    (
        "os.write(1, key.encode()[:5])\nemit_intermediate('cut', 1)\nos.write(1, key.encode()[5:])\nemit_result(1)",
        Verdict::Ok,
    ),
    ("for byte in key.encode(): os.write(1, bytes([byte]))\nemit_result(1)", Verdict::Ok),
    ("import subprocess\nsubprocess.run(['sh', '-c', 'echo $API_KEY; env'])\nemit_result(1)", Verdict::Ok),
    ("emit_result({'headers': [{'authorization': 'Bearer ' + key}], key: 1})", Verdict::Ok),
    ("emit_intermediate(key, [key, {'k': key + key}])\nemit_result(1)", Verdict::Ok),
    ("emit_log('calling with ' + key, 'error')\nemit_log(key, level=key)\nemit_result(1)", Verdict::Ok),
    (
        "display(key)\ndisplay({'text/html': f'<b>{key}</b>', 'application/json': {key: key}}, raw=True)\nemit_result(1)",
        Verdict::Ok,
    ),
    (
        "import html\ndisplay({'text/html': html.escape(key), 'image/svg+xml': html.escape(key, False)}, raw=True)\nemit_result(1)",
        Verdict::Ok,
    ),
    (
        "display({'image/png': b'\\x89PNG\\r\\n\\x1a\\ntEXt' + key.encode(), 'text/plain': key}, raw=True)\nemit_result(1)",
        Verdict::Ok,
    ),
    (
        "display({'text/x-' + key.lower(): 'typed', 'text/' + key: 'typed', 'text/plain': 'x'}, raw=True)\nemit_result(1)",
        Verdict::Ok,
    ),
    ("open('named ' + key, 'w').close()\nemit_result(1)", Verdict::Ok),
    ("emit_result({'raw': key.encode(), 'more': [b'x' + key.encode()]})", Verdict::Ok),
    ("raise ValueError(f'bad key {key}')", Verdict::Exception),
    ("raise SystemExit(key)", Verdict::Exited { code: 1 }),
    ("print(key, end='', flush=True)\nos._exit(3)", Verdict::Exited { code: 3 }),
    ("print(key, flush=True)\nraise TypeError(key) from KeyError(key)", Verdict::Exception),
];

async fn run_and_listen(sandbox: &Sandbox, script: &str) -> (Vec<Event>, ExecutionResult) {
    let mut events = Vec::new();
    let request = ExecutionRequest::new(format!("key = os.environ['{NAME}']\n{script}")).collecting(["*"]);
    let running = sandbox.run_with(request, |event| events.push(event));
    let result = tokio::time::timeout(HANG, running).await.expect("the run hangs").unwrap();
    (events, result)
}

#[tokio::test]
async fn what_slips_out_is_hidden_in_events_results_and_logs() {
    let journal = Journal::open();
    let Some((runtime, sandbox)) = granted(VALUE).await else { return };
    for (script, verdict) in SLIPS {
        let (events, result) = run_and_listen(&sandbox, script).await;
        assert_eq!(result.verdict, verdict, "{script}: {result:#?}");
        for event in &events {
            assert_absent(VALUE, "an event", &format!("{event:?}"));
            assert_absent(VALUE, "an event as JSON", &serde_json::to_string(event).unwrap());
        }
        assert_absent(VALUE, "a result", &format!("{result:?} {result:#?}"));
        let json = serde_json::to_string(&result).unwrap();
        assert_absent(VALUE, "a result as JSON", &json);
        assert!(json.contains("***"), "{script} said nothing, so nothing was tried: {json}");
        assert!(!events.is_empty(), "{script}: {result:#?}");
    }
    drop(sandbox);
    runtime.shutdown().await;
    let logged = journal.text();
    for span in ["template.prepare{", "cell.spawn{", "exec.run{"] {
        assert!(logged.contains(span), "{span} was not logged, so nothing was tried");
    }
    assert_absent(VALUE, "the log", &logged);
}

#[tokio::test]
async fn what_slips_out_as_the_clock_stops_a_script_is_hidden_too() {
    let Some((_runtime, sandbox)) = granted(VALUE).await else { return };
    let script = format!(
        "key = os.environ['{NAME}']\nprint(key, end='', flush=True)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: print(key, flush=True)"
    );
    let request = ExecutionRequest::new(script).with_timeout(Duration::from_secs(1));
    let result = tokio::time::timeout(HANG, sandbox.run(request)).await.expect("the run hangs").unwrap();
    assert_eq!(result.verdict, Verdict::TimeoutWall, "{result:#?}");
    assert_absent(VALUE, "a result", &format!("{result:?}"));
    assert!(result.stdout.starts_with("***"), "{result:#?}");
}

#[tokio::test]
async fn a_session_hides_it_in_every_step() {
    let Some((_runtime, sandbox)) = granted(VALUE).await else { return };
    let mut session = sandbox.session().await.unwrap();
    let first = session.step(format!("key = os.environ['{NAME}']\nkey")).await.unwrap();
    let second = session.step("print(key)\nkey[:3]").await.unwrap();
    assert_absent(VALUE, "a step", &format!("{first:?} {second:?}"));
    assert!(second.stdout.starts_with("***\n"), "{second:#?}");
}

#[tokio::test]
async fn the_script_itself_has_the_value_unchanged() {
    let Some((_runtime, sandbox)) = granted(VALUE).await else { return };
    let codes: Vec<u32> = VALUE.chars().map(u32::from).collect();
    let script = format!("emit_result([ord(c) for c in os.environ['{NAME}']])");
    assert_eq!(data(&run(&sandbox, &script).await), serde_json::to_string(&codes).unwrap());
}
