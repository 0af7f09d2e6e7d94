//! `belljar agent` against a server that says what it was told to, as real ones do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::belljar::{Outcome, command, finish};

/// One request: its head in lower case, and its body.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A server on the loopback. It ends with the process.
struct Server {
    url: String,
    asked: Asked,
}

/// A status, headers, and a body.
type Answer = (u16, &'static str, String);

fn serve(answers: Vec<Answer>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Asked::default();
    let heard = Arc::clone(&asked);
    thread::spawn(move || {
        for (stream, answer) in listener.incoming().zip(answers) {
            heard.lock().unwrap().push(reply(&stream.unwrap(), &answer));
        }
    });
    Server { url, asked }
}

fn reply(mut stream: &TcpStream, (status, headers, body): &Answer) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut request = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut request).unwrap();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n\r\n{body}"
    )
    .unwrap();
    (head, serde_json::from_slice(&request).unwrap())
}

/// A streamed completion.
fn says(text: &str) -> Answer {
    let mut body = String::new();
    for piece in text.split_inclusive(' ') {
        let chunk = json!({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": null}]});
        body += &format!("data: {chunk}\n\n");
    }
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7}});
    body += &format!("data: {last}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
    (200, "content-type: text/event-stream", body)
}

fn python(script: &str) -> Answer {
    says(&format!("Like this:\n\n```python\n{script}\n```"))
}

fn agent_command(server: &Server, options: &[&str]) -> Command {
    let model = ["agent", "--model", "some-model", "--base-url", &server.url];
    let mut command = command(&[&model, options].concat());
    for name in ["BELLJAR_MODEL_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        command.env_remove(name);
    }
    command
}

fn agent(answers: Vec<Answer>, options: &[&str]) -> (Outcome, Server) {
    let server = serve(answers);
    let outcome = finish(agent_command(&server, options), "");
    (outcome, server)
}

#[test]
fn a_task_is_done_and_every_step_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let tool = directory.path().join("shop.py");
    std::fs::write(&tool, "def price(item):\n    'The price of an item.'\n    return len(item)\n").unwrap();
    let (outcome, server) = agent(
        vec![
            python("emit_result(price)"),
            python("print('hm')\nemit_result(price(1))"),
            python("emit_result(price('tea'))"),
        ],
        &["What does tea cost?", "--tool", tool.to_str().unwrap()],
    );
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(outcome.stdout, "hm\n3\n");
    let places: Vec<usize> = [
        "attempt 1: the model is asked",
        "· emit_result(price)",
        "warning: line 1: `price` is a function and is not called here",
        "attempt 1: not run",
        "· emit_result(price(1))",
        "attempt 2: exception: TypeError",
        "attempt 3: ok",
        "3 attempts, 300 tokens read, 21 written",
    ]
    .iter()
    .map(|part| outcome.stderr.find(part).unwrap_or_else(|| panic!("{part}: {}", outcome.stderr)))
    .collect();
    assert!(places.is_sorted(), "{}", outcome.stderr);
    let asked = server.asked.lock().unwrap();
    assert!(asked[0].0.starts_with("post /v1/chat/completions "), "{}", asked[0].0);
    assert!(!asked[0].0.contains("authorization"), "{}", asked[0].0);
    assert_eq!(asked[0].1["model"], "some-model");
    let rules = asked[0].1["messages"][0]["content"].as_str().unwrap();
    assert!(rules.contains("def price(item: Any) -> Any:\n    \"\"\"The price of an item.\"\"\""), "{rules}");
}

#[test]
fn a_record_and_events_are_for_programs() {
    let (outcome, _) = agent(vec![python("emit_result({'a': 1})")], &["t", "--json"]);
    let record = outcome.json();
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!((&record["outcome"]["kind"], &record["result"]), (&json!("succeeded"), &json!({"a": 1})));
    assert_eq!(record["steps"][0]["result"]["verdict"], "ok");
    assert_eq!(record["tokens"], json!({"input": 100, "output": 7}));
    let (outcome, _) = agent(vec![python("print(1)\nemit_result(2)")], &["t", "--events"]);
    let events: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut names: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    names.dedup();
    let expected =
        ["started", "prompt", "model_text", "reply", "script", "vetted", "run", "step_ended", "ended"];
    assert_eq!(names, expected);
    assert_eq!(events.last().unwrap()["record"]["result"], 2);
}

#[test]
fn steps_share_a_session_and_files_go_in_and_out() {
    let directory = tempfile::tempdir().unwrap();
    let (sales, out) = (directory.path().join("sales.csv"), directory.path().join("out"));
    std::fs::write(&sales, "1\n2\n").unwrap();
    let (outcome, _) = agent(
        vec![
            python("total = sum(map(int, open('sales.csv')))\ntotal"),
            python("open('total.txt', 'w').write(str(total))"),
            says("DONE\nIt is in total.txt."),
        ],
        &[
            "Add them up",
            "--mode",
            "interactive",
            "--file",
            sales.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
            "--collect",
            "*.txt",
        ],
    );
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.ends_with("It is in total.txt.\n"), "{outcome:#?}");
    assert_eq!(std::fs::read_to_string(out.join("total.txt")).unwrap(), "3");
    assert!(outcome.stderr.contains("step 2: ok"), "{}", outcome.stderr);
}

#[test]
fn each_way_to_fail_has_its_code() {
    let failing = || vec![python("emit_result(1 / 0)"), python("emit_result(2 / 0)")];
    let (outcome, _) = agent(failing(), &["t", "--max-attempts", "2"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    let said = "error: gave up: no attempt succeeded. Allow more with --max-attempts";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    let slow = vec![python("while True: pass\nemit_result(1)")];
    let (outcome, _) = agent(slow, &["t", "--max-attempts", "1", "--timeout", "1"]);
    assert_eq!(outcome.code, Some(124), "{outcome:#?}");
    let refused = (401, "content-type: application/json", r#"{"error":{"message":"bad key"}}"#.to_owned());
    let (outcome, _) = agent(vec![refused], &["t"]);
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("does not accept the key (status 401): bad key"), "{}", outcome.stderr);
    let (outcome, _) = agent(vec![(200, "content-type: text/html", "<html>".into())], &["t"]);
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    let unknown = (404, "content-type: application/json", r#"{"error":{"message":"no model"}}"#.to_owned());
    let (outcome, _) = agent(vec![unknown], &["t"]);
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
}

#[test]
fn a_key_that_a_reply_repeats_is_neither_shown_nor_recorded() {
    const KEY: &str = "sk-0123456789abcdef";
    for format in ["--json", "--events", "--verbose"] {
        let server = serve(vec![python(&format!("# {KEY}\nprint('{KEY}')\nemit_result('{KEY}')"))]);
        let mut command = agent_command(&server, &["t", format]);
        command.env("BELLJAR_MODEL_KEY", KEY);
        let outcome = finish(command, "");
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        assert!(!format!("{outcome:?}").contains(KEY), "{outcome:#?}");
        assert!(outcome.stdout.contains("***"), "{outcome:#?}");
    }
}

#[test]
fn a_time_that_is_none_is_refused_before_anything_is_asked() {
    for time in ["0", "-1", "1e300", "nan", "soon"] {
        let option = format!("--max-time={time}");
        let outcome = finish(command(&["agent", "t", "--model", "m", &option]), "");
        assert_eq!(outcome.code, Some(2), "{time}: {outcome:#?}");
    }
}

#[test]
fn a_key_goes_to_whom_it_is_for_and_is_shown_nowhere() {
    let wrong = r#"{"error":{"message":"no such key: k-1"}}"#;
    let answer = || (403, "content-type: application/json", wrong.to_owned());
    let server = serve(vec![answer(), answer()]);
    let mut with_ours = agent_command(&server, &["t"]);
    with_ours.env("BELLJAR_MODEL_KEY", "k-1").env("BELLJAR_LOG", "trace");
    let outcome = finish(with_ours, "");
    assert!(!format!("{outcome:?}").contains("k-1"), "{outcome:#?}");
    let mut with_theirs = agent_command(&server, &["t"]);
    with_theirs.env("OPENAI_API_KEY", "k-2");
    finish(with_theirs, "");
    let asked = server.asked.lock().unwrap();
    assert!(asked[0].0.contains("authorization: bearer k-1"), "{}", asked[0].0);
    assert!(!asked[1].0.contains("k-2"), "{}", asked[1].0);
    let mut without = command(&["agent", "t", "--model", "claude-x"]);
    for name in ["BELLJAR_MODEL_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        without.env_remove(name);
    }
    let outcome = finish(without, "");
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("set ANTHROPIC_API_KEY or BELLJAR_MODEL_KEY"), "{}", outcome.stderr);
}

#[test]
fn a_models_text_stays_on_lines_of_its_own() {
    let (outcome, _) = agent(
        vec![python("# \x1b[2J\x07\rerror: forged\nemit_result('\x1b]0;x\x07')")],
        &["t", "--verbose", "--max-attempts", "1"],
    );
    assert!(!outcome.stderr.contains(['\x1b', '\x07', '\r']), "{outcome:#?}");
    assert!(!outcome.stderr.lines().any(|line| line.starts_with("error: forged")), "{outcome:#?}");
    assert!(outcome.stderr.contains("· Like this:"), "{}", outcome.stderr);
}

#[test]
fn an_interrupt_ends_the_script_and_leaves_the_record() {
    let script = "print('begun', flush=True)\nimport time\ntime.sleep(600)\nemit_result(1)";
    let server = serve(vec![python(script)]);
    let mut child = agent_command(&server, &["t", "--events"]).spawn().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(events.any(|line| line.contains("begun") && line.contains("\"stdout\"")));
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let last: Value = serde_json::from_str(&events.last().unwrap()).unwrap();
    assert_eq!(last["record"]["outcome"]["kind"], "cancelled", "{last}");
    let step = &last["record"]["steps"][0];
    assert_eq!(step["script"], format!("{script}\n"));
    assert_eq!(
        (&step["result"]["verdict"], &step["result"]["stdout"]),
        (&json!("cancelled"), &json!("begun\n"))
    );
    assert!(step["model_ms"].as_f64().unwrap() > 0.0 && step["run_ms"].as_f64().unwrap() > 0.0, "{step}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
