//! `/run_code`, as the trainer verl and the published client use it.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use belljar_server::{Scope, TokenLimits};
use belljar_testing::in_time;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{answer, has_compiler, world};
use crate::world::{World, told};

/// What verl sends for each case: eight keys, always the same.
fn verl(language: &str, code: &str, stdin: &str, seconds: f64) -> Value {
    json!({
        "compile_timeout": 30.0, "run_timeout": seconds, "code": code, "stdin": stdin, "memory_limit_MB": 1024,
        "language": language, "files": {}, "fetch_files": [],
    })
}

/// What verl makes of an answer: the table of its results. `None` is "unknown", which must not be.
fn verdict_of_verl(answer: &Value) -> Option<i32> {
    let (compile, run) = (&answer["compile_result"], &answer["run_result"]);
    let is_bad = |step: &Value| step["status"] != "Finished" || step["return_code"] != 0;
    match answer["status"].as_str()? {
        "Success" if run["status"] == "Finished" => Some(0),
        "Failed" if !compile.is_null() && is_bad(compile) => Some(-4),
        "Failed" if run["status"] == "TimeLimitExceeded" => Some(-3),
        "Failed" if run["status"] == "Finished" && run["return_code"] != 0 => Some(-2),
        _ => None,
    }
}

#[tokio::test]
async fn every_result_in_verls_table_is_told_as_verl_reads_it() {
    let Some(world) = world().await else { return };
    for (code, expected) in [
        ("print(int(input()) * 2)", 0),
        ("raise ValueError('no')", -2),
        ("import sys; sys.exit(3)", -2),
        ("import os; os.kill(os.getpid(), 11)", -2),
        ("while True: pass", -3),
        ("import time; time.sleep(60)", -3),
        ("def f(:", -2),
    ] {
        let answer = answer(&world, "/run_code", &verl("python", code, "21\n", 1.0)).await;
        assert_eq!(verdict_of_verl(&answer), Some(expected), "{code}: {answer}");
        assert!(answer["compile_result"].is_null() && answer["message"] == "", "{answer}");
        let is_late = expected == -3;
        assert_eq!(answer["run_result"]["return_code"].is_null(), is_late, "{answer}");
        assert!(answer["run_result"]["execution_time"].as_f64().unwrap() > 0.0);
    }
    let right = answer(&world, "/run_code", &verl("python", "print(int(input()) * 2)", "21\n", 10.0)).await;
    assert_eq!(right["run_result"]["stdout"], "42\n");
    let signal = verl("python", "import os; print('x', flush=True); os.abort()", "", 10.0);
    let signal = answer(&world, "/run_code", &signal).await;
    assert_eq!(
        (&signal["run_result"]["return_code"], &signal["run_result"]["stdout"]),
        (&json!(-6), &json!("x\n"))
    );
    world.stop().await;
}

#[tokio::test]
async fn a_program_in_cpp_is_compiled_and_what_the_compiler_says_is_told() {
    let Some(world) = world().await else { return };
    if !has_compiler() {
        drop(world.stop().await);
        return;
    }
    let double =
        "#include <iostream>\nint main() { long n; std::cin >> n; std::cout << 2 * n << std::endl; }";
    let right = answer(&world, "/run_code", &verl("cpp", double, "21\n", 10.0)).await;
    assert_eq!(verdict_of_verl(&right), Some(0), "{right}");
    assert_eq!(
        (&right["run_result"]["stdout"], &right["compile_result"]["return_code"]),
        (&json!("42\n"), &json!(0))
    );
    let broken = answer(&world, "/run_code", &verl("cpp", "int main() { return x; }", "", 10.0)).await;
    assert_eq!(verdict_of_verl(&broken), Some(-4), "{broken}");
    assert!(broken["run_result"].is_null(), "{broken}");
    assert!(broken["compile_result"]["stderr"].as_str().unwrap().contains("was not declared"), "{broken}");
    for (code, expected) in [
        ("int main() { volatile int *p = 0; return *p; }", json!(-11)),
        ("int main() { return 7; }", json!(7)),
        ("int main() { for (;;) ; }", Value::Null),
    ] {
        let answer = answer(&world, "/run_code", &verl("cpp", code, "", 1.0)).await;
        assert_eq!(answer["run_result"]["return_code"], expected, "{code}: {answer}");
    }
    let mut slow = verl("cpp", "#include <bits/stdc++.h>\nint main() {}", "", 1.0);
    slow["compile_timeout"] = json!(0.05);
    let slow = answer(&world, "/run_code", &slow).await;
    assert_eq!(slow["compile_result"]["status"], "TimeLimitExceeded", "{slow}");
    assert_eq!(verdict_of_verl(&slow), Some(-4));
    world.stop().await;
}

#[tokio::test]
async fn text_of_every_kind_and_size_comes_through() {
    let Some(world) = world().await else { return };
    let text = "Grüße, 世界 🦀 \u{7f}\n";
    let echo = "import sys; sys.stdout.write(sys.stdin.read())";
    let echoed = answer(&world, "/run_code", &verl("python", echo, text, 10.0)).await;
    assert_eq!(echoed["run_result"]["stdout"], text);
    let bytes = "import sys; sys.stdout.buffer.write(b'a\\xff\\nb')";
    let bytes = answer(&world, "/run_code", &verl("python", bytes, "", 10.0)).await;
    assert_eq!(bytes["run_result"]["stdout"], "a\u{fffd}\nb", "one byte is replaced, not all of it");
    for (language, code) in
        [("python", "print('x' * 5_000_000)"), ("bash", "head -c 5000000 /dev/zero | tr '\\0' x; echo")]
    {
        let long = answer(&world, "/run_code", &verl(language, code, "", 20.0)).await;
        assert_eq!(long["status"], "Success");
        assert_eq!(long["run_result"]["stdout"].as_str().unwrap().len(), 5_000_001, "{language}");
    }
    for (language, code) in [
        ("python", "while True: print('x' * 100_000)"),
        ("bash", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"),
    ] {
        let flood = answer(&world, "/run_code", &verl(language, code, "", 60.0)).await;
        assert_eq!((&flood["status"], &flood["run_result"]["return_code"]), (&json!("Failed"), &json!(-9)));
        assert!(flood["run_result"]["stderr"].as_str().unwrap().contains("length exceeded"), "{language}");
        assert!(flood["run_result"]["stdout"].as_str().unwrap().len() > 1 << 20, "the head is kept");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_program_has_the_memory_that_it_is_given() {
    let Some(world) = world().await else { return };
    let (_, status) = told(world.http.get(format!("{}/v1/status", world.url))).await;
    let is_limited = |it: &Value| it["name"] == "cgroup_memory" && it["is_active"] == true;
    if !status["protections"].as_array().unwrap().iter().any(is_limited) {
        drop(world.stop().await);
        return;
    }
    let code = "x = bytearray(300 << 20)\nfor at in range(0, len(x), 4096): x[at] = 1\nprint('done')";
    let mut body = verl("python", code, "", 20.0);
    let enough = answer(&world, "/run_code", &body).await;
    assert_eq!(enough["run_result"]["stdout"], "done\n", "{enough}");
    body["memory_limit_MB"] = json!(100);
    let less = answer(&world, "/run_code", &body).await;
    assert_eq!(
        (&less["status"], &less["run_result"]["return_code"]),
        (&json!("Failed"), &json!(-9)),
        "{less}"
    );
    assert!(less["run_result"]["stderr"].as_str().unwrap().contains("out of memory"));
    body["memory_limit_MB"] = json!(1024);
    body["code"] = json!(code.replace("300", "2000"));
    let more = answer(&world, "/run_code", &body).await;
    assert_eq!(
        (&more["status"], &more["run_result"]["return_code"]),
        (&json!("Failed"), &json!(-9)),
        "{more}"
    );
    world.stop().await;
}

#[tokio::test]
async fn files_go_in_and_come_out_and_lead_nowhere_else() {
    let Some(world) = world().await else { return };
    let base64 = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    let body = json!({
        "code": "import helper\nopen('out.bin', 'wb').write(helper.double(open('data/in.bin', 'rb').read()))",
        "language": "python",
        "files": {
            "helper.py": base64(b"def double(x): return x + x"),
            "data/in.bin": base64(&[0, 255]),
            "skipped": null,
            "x/IGNORE_THIS_FILE": "%",
        },
        "fetch_files": ["out.bin", "missing", "/etc/passwd", "../../etc/passwd", "./data/in.bin"],
    });
    let fetched = answer(&world, "/run_code", &body).await;
    assert_eq!(fetched["status"], "Success", "{fetched}");
    let expected = json!({"out.bin": base64(&[0, 255, 0, 255]), "./data/in.bin": base64(&[0, 255])});
    assert_eq!(fetched["files"], expected);
    let link = json!({
        "code": "ln -s /etc/passwd out; mkfifo pipe; head -c 40000000 /dev/zero >big; echo ok", "language": "bash",
        "fetch_files": ["out", "pipe", "big"],
    });
    let link = answer(&world, "/run_code", &link).await;
    assert_eq!((&link["run_result"]["stdout"], &link["files"]), (&json!("ok\n"), &json!({})), "{link}");
    for outside in ["/etc/cron.d/x", "../x", "a/../../x"] {
        let body = json!({"code": "1", "files": {outside: base64(b"x")}});
        let (status, refusal) = told(world.http.post(format!("{}/run_code", world.url)).json(&body)).await;
        assert_eq!((status, &refusal["detail"][0]["loc"]), (422, &json!(["body", "files", outside])));
    }
    world.stop().await;
}

#[tokio::test]
async fn what_cannot_be_run_is_told_in_fastapis_words_or_as_a_failure() {
    let Some(world) = world().await else { return };
    let post = |body: Value| told(world.http.post(format!("{}/run_code", world.url)).json(&body));
    let (status, refusal) = post(json!({"language": "cobol"})).await;
    assert_eq!(status, 422);
    let kinds: Vec<_> = refusal["detail"].as_array().unwrap().iter().map(|error| &error["type"]).collect();
    assert_eq!(kinds, [&json!("missing"), &json!("enum")]);
    let tutorial = answer(&world, "/run_code", &json!({"code": "print('without a language')"})).await;
    assert_eq!(tutorial["run_result"]["stdout"], "without a language\n");
    for language in ["sql", "lean", "verilog"] {
        let missing = answer(&world, "/run_code", &verl(language, "x", "", 1.0)).await;
        let step = if missing["run_result"].is_null() { "compile_result" } else { "run_result" };
        assert_eq!(
            (&missing["status"], &missing[step]["return_code"]),
            (&json!("Failed"), &json!(127)),
            "{missing}"
        );
    }
    let (status, pong) = told(world.http.get(format!("{}/v1/ping", world.url))).await;
    assert_eq!((status, pong), (200, json!("pong")));
    world.stop().await;
}

#[tokio::test]
async fn a_full_queue_is_a_504_and_tokens_count_as_everywhere() {
    let limited = World::with(|options| {
        options.limits.concurrency = 1;
        options.limits.queue = 1;
    });
    let Some(world) = limited.await else { return };
    let anybody = world.http.post(format!("{}/run_code", world.url)).json(&json!({"code": "1"}));
    assert_eq!(told(anybody).await.0, 401);
    let reader = world.token(Scope::Read, TokenLimits::default());
    let (status, refusal) = told(world.post_as(&reader, "/run_code", &json!({"code": "1"}))).await;
    assert_eq!((status, refusal["detail"].is_string()), (403, true));
    let short = world.token(Scope::Run, TokenLimits { max_timeout_sec: Some(2.0), ..TokenLimits::default() });
    let (status, refusal) = told(world.post_as(&short, "/run_code", &verl("python", "1", "", 3.0))).await;
    assert_eq!((status, &refusal["detail"][0]["type"]), (422, &json!("less_than_equal")));
    let mut all = JoinSet::new();
    for _ in 0..4 {
        all.spawn(told(world.post("/run_code", &verl("python", "import time; time.sleep(1)", "", 10.0))));
    }
    let mut statuses = Vec::new();
    while let Some(answer) = in_time(all.join_next()).await {
        let (status, body) = answer.unwrap();
        assert!(status == 200 || body["detail"].is_string(), "{body}");
        statuses.push(status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 504, 504]);
    world.stop().await;
}

#[tokio::test]
async fn a_source_that_comes_many_times_at_once_is_compiled_once() {
    let Some(world) = World::with(|options| {
        options.needs_token = false;
        options.limits.concurrency = 8;
    })
    .await
    else {
        return;
    };
    if !has_compiler() {
        drop(world.stop().await);
        return;
    }
    // Each compilation takes another time, so the same time is the same compilation.
    let code = "#include <cstdio>\nint main() { int n; scanf(\"%d\", &n); printf(\"%d\\n\", n + 1); }";
    let mut all = JoinSet::new();
    for number in 0..24 {
        let request = world.http.post(format!("{}/run_code", world.url));
        let request = request.json(&verl("cpp", code, &number.to_string(), 10.0));
        all.spawn(async move { (number, told(request).await.1) });
    }
    let mut times = Vec::new();
    while let Some(answer) = in_time(all.join_next()).await {
        let (number, answer) = answer.unwrap();
        assert_eq!(answer["run_result"]["stdout"], format!("{}\n", number + 1), "{answer}");
        times.push(answer["compile_result"]["execution_time"].to_string());
    }
    times.sort_unstable();
    times.dedup();
    assert_eq!(times.len(), 1, "{times:?}");
    world.stop().await;
}

#[tokio::test]
async fn a_program_of_a_client_that_has_gone_is_ended() {
    let Some(world) = World::with(|options| {
        options.needs_token = false;
        options.limits.concurrency = 1;
    })
    .await
    else {
        return;
    };
    for (language, code) in [("python", "while True: pass"), ("bash", "while :; do :; done")] {
        let request = world.http.post(format!("{}/run_code", world.url));
        let gone =
            request.json(&verl(language, code, "", 600.0)).timeout(Duration::from_secs(1)).send().await;
        assert!(gone.is_err_and(|error| error.is_timeout()));
        let next = in_time(answer(&world, "/run_code", &verl(language, "exit", "", 10.0))).await;
        assert_eq!(next["status"], "Success", "{next}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_program_may_end_before_the_server_does_and_nothing_is_left_of_it() {
    let Some(mut world) = World::with(|options| {
        options.needs_token = false;
        options.limits.drain = Duration::from_secs(60);
    })
    .await
    else {
        return;
    };
    if has_compiler() {
        answer(&world, "/run_code", &verl("cpp", "int main() {}", "", 10.0)).await;
    }
    let slow = verl("bash", "sleep 1; echo done", "", 10.0);
    let slow = tokio::spawn(told(world.http.post(format!("{}/run_code", world.url)).json(&slow)));
    let status = || told(world.http.get(format!("{}/v1/status", world.url)));
    in_time(async { while status().await.1["runs"]["running"] != 1 {} }).await;
    world.begin_to_stop();
    let (status, ended) = in_time(slow).await.unwrap();
    assert_eq!((status, &ended["run_result"]["stdout"]), (200, &json!("done\n")));
    let state = world.state.clone();
    world.stopped().await;
    let left: Vec<_> = std::fs::read_dir(state.path().join("graders"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("grade-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
