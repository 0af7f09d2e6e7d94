//! Hosts that misbehave: what they do to a request is told, and costs nobody else anything.

use std::time::{Duration, Instant};

use belljar_runtime::NetworkVerdict;
use belljar_testing::data;

use crate::world::World;

#[tokio::test]
async fn what_is_not_an_answer_is_a_failure_and_never_passed_on() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let paths = [
        "/nothing",
        "/garbage",
        "/two-lengths",
        "/huge-header",
        "/many-headers",
        "/early-close",
        "/broken-chunk",
        "/cut-chunk",
        "/switch",
    ];
    let script = format!("emit_result([get(path).decode('latin1') for path in {paths:?}])");
    let result = world.run(&sandbox, &script).await;
    let answers: Vec<String> = serde_json::from_str(data(&result)).unwrap();
    for (path, answer) in paths.iter().zip(&answers) {
        let is_told = match *path {
            // The answer had begun; that it is not whole is to be seen.
            "/early-close" => {
                answer.contains("content-length: 100") && answer.ends_with("\r\n\r\n0123456789")
            }
            "/broken-chunk" | "/cut-chunk" => answer.contains("chunked") && !answer.ends_with("0\r\n\r\n"),
            "/switch" => answer.starts_with("HTTP/1.1 403 ") && answer.contains("upgrade"),
            _ => answer.starts_with("HTTP/1.1 502 "),
        };
        assert!(is_told, "{path}: {answer:?}");
        assert!(!answer.contains("SSH"), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn answers_without_end_end_with_the_runs_bytes_or_its_client() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    // A flood of interim answers is not an answer; a client that does not want to wait for one
    // leaves, and is not waited for.
    let script = "for path in ('/continue-flood', '/endless'):\n    s = proxy(); s.sendall(request(path)); s.settimeout(0.5)\n    try:\n        while s.recv(65536): pass\n        \n    except OSError: pass\n    s.close()\n\
                  emit_result(get('/hello').decode())"
        .replace("while s.recv(65536): pass", "for _ in range(5): s.recv(65536)");
    let began = Instant::now();
    let result = world.run(&sandbox, &script).await;
    assert!(data(&result).ends_with("hello\""), "{result:#?}");
    assert!(began.elapsed() < Duration::from_secs(25), "after {:?}", began.elapsed());
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_answers_nothing() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    // On one connection of the guest's and on several: what came uninvited must not be the answer
    // to what is asked next.
    let script = "out = []\ns = proxy()\nfor path in ('/extra', '/hello', '/extra', '/hello'):\n    s.sendall(request(path, more='')); seen = b''\n    while not seen.endswith((b'hello', b'forged')): seen += s.recv(4096)\n    out.append(seen.decode())\n\
                  out += [get(path).decode() for path in ('/extra', '/hello', '/unframed', '/hello', '/silently-close', '/hello', '/close', '/hello')]\n\
                  emit_result([answer for answer in out if not answer.startswith('HTTP/1.1 200') or 'hello' not in answer or 'forged' in answer])";
    let result = world.run(&sandbox, script).await;
    assert_eq!(data(&result), "[]", "{result:#?}");
}

#[tokio::test]
async fn a_tolerant_server_of_another_protocol_is_not_spoken_to_behind_a_greeting() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "def knock(*pieces):\n    with tunnel() as s:\n        for piece in pieces: s.sendall(piece)\n        return read_all(s).decode('latin1')\n\
                  emit_result([knock(hello() + b'EHLO evil.test\\r\\n'), knock(hello(), b'EHLO evil.test\\r\\n'), knock(hello(size=40) + b'EHLO evil.test\\r\\n')])";
    let result = world.run(&sandbox, script).await;
    let answers: Vec<String> = serde_json::from_str(data(&result)).unwrap();
    assert!(answers.iter().all(|answer| !answer.contains("220")), "its answer came back: {answers:?}");
    assert!(!world.odd.heard().iter().any(|heard| heard.contains("EHLO")), "{:?}", world.odd.heard());
    let denied = |verdict: &NetworkVerdict| matches!(verdict, NetworkVerdict::Denied { rule } if rule.contains("not TLS"));
    assert!(result.network.iter().any(|line| denied(&line.verdict)), "{:#?}", result.network);
}
