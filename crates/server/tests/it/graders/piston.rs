//! `/api/v2/execute`, as open-r1 and others use it.

use serde_json::{Value, json};

use super::{answer, has_compiler, world};
use crate::world::told;

#[tokio::test]
async fn the_runtimes_are_those_that_cells_have() {
    let Some(world) = world().await else { return };
    let (status, runtimes) = told(world.http.get(format!("{}/api/v2/runtimes", world.url))).await;
    assert_eq!(status, 200);
    let runtimes = runtimes.as_array().unwrap();
    let python = runtimes.iter().find(|runtime| runtime["language"] == "python").unwrap();
    assert!(python["version"].as_str().unwrap().starts_with("3."), "{python}");
    assert!(python["aliases"].as_array().unwrap().contains(&json!("py")));
    for runtime in runtimes {
        assert_eq!(runtime["version"].as_str().unwrap().split('.').count(), 3, "{runtime}");
    }
    let exactly = python["version"].clone();
    for (version, expected) in [(json!("*"), 200), (json!("3.x"), 200), (exactly, 200), (json!("2"), 400)] {
        let body = json!({"language": "py", "version": version, "files": [{"content": "print(1)"}]});
        let (status, answer) =
            told(world.http.post(format!("{}/api/v2/execute", world.url)).json(&body)).await;
        assert_eq!(status, expected, "{answer}");
        match status {
            200 => {
                assert_eq!((&answer["language"], &answer["run"]["stdout"]), (&json!("python"), &json!("1\n")))
            }
            _ => assert_eq!(answer, json!({"message": "py-2 runtime is unknown"})),
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn what_open_r1_sends_is_run_and_told_as_it_reads_it() {
    let Some(world) = world().await else { return };
    if !has_compiler() {
        drop(world.stop().await);
        return;
    }
    let source = "#include <fstream>\n#include <iostream>\n#include \"grader.h\"\n\
                  int main() { std::ifstream in(\"input.txt\"); int n; in >> n; std::cout << score(n) << std::endl; }";
    let body = |main: &str| {
        json!({
            "files": [
                {"name": "graph/main.cpp", "content": main},
                {"name": "graph/grader.h", "content": "int score(int);"},
                {"name": "grader.cpp", "content": "int score(int n) { return n + 1; }"},
                {"name": "input.txt", "content": "41"},
            ],
            "run_timeout": 10_000, "run_memory_limit": 512 << 20, "language": "c++17", "version": "*",
        })
    };
    let right = answer(&world, "/api/v2/execute", &body(source)).await;
    assert_eq!((&right["compile"]["code"], &right["run"]["code"]), (&json!(0), &json!(0)), "{right}");
    assert_eq!((&right["run"]["stdout"], &right["run"]["status"]), (&json!("42\n"), &Value::Null));
    assert_eq!((&right["language"], right.get("message")), (&json!("c++"), None));
    let broken = answer(&world, "/api/v2/execute", &body("int main() { return x; }")).await;
    assert_eq!(broken["run"], broken["compile"], "{broken}");
    assert_eq!((&broken["run"]["code"], &broken["run"]["status"]), (&json!(1), &json!("RE")));
    assert!(broken["compile"]["stderr"].as_str().unwrap().contains("not declared"));
    world.stop().await;
}

#[tokio::test]
async fn every_ending_has_pistons_word() {
    let Some(world) = world().await else { return };
    for (language, code, expected) in [
        ("python", "import sys; sys.exit(3)", json!([3, null, "RE", "Exited with error status 3"])),
        ("bash", "kill -SEGV $$", json!([null, "SIGSEGV", "SG", "Caught fatal signal 11"])),
        ("python", "while True: pass", json!([null, "SIGKILL", "TO", "Time limit exceeded (wall clock)"])),
        ("bash", "while :; do :; done", json!([null, "SIGKILL", "TO", "Time limit exceeded (wall clock)"])),
        ("bash", "yes", json!([null, "SIGKILL", "OL", "stdout length exceeded"])),
        ("bash", "yes >&2", json!([null, "SIGKILL", "EL", "stderr length exceeded"])),
        ("bash", "cat; echo $#", json!([0, null, null, null])),
    ] {
        let timeout = if code.starts_with("yes") { 60_000 } else { 1000 };
        let body = json!({
            "language": language, "version": "*", "files": [{"name": "main", "content": code}], "args": ["a", "b c"],
            "run_timeout": timeout,
        });
        let answer = answer(&world, "/api/v2/execute", &body).await;
        let run = &answer["run"];
        assert_eq!(json!([run["code"], run["signal"], run["status"], run["message"]]), expected, "{code}");
        assert!(answer.get("compile").is_none() && answer.get("message").is_none());
        assert!(run["wall_time"].is_u64(), "{}", run["wall_time"]);
        if code.starts_with("cat") {
            assert_eq!(run["stdout"], "\n2\n", "stdin ends with a newline, also if it is nothing");
        }
    }
    let order = json!({
        "language": "bash", "version": "*",
        "files": [{"content": "echo 1; sleep 0.2; echo 2 >&2; sleep 0.2; echo 3"}],
    });
    let order = answer(&world, "/api/v2/execute", &order).await;
    assert_eq!((&order["run"]["output"], &order["run"]["stderr"]), (&json!("1\n2\n3\n"), &json!("2\n")));
    let post = world.http.post(format!("{}/api/v2/execute", world.url));
    let (status, refusal) = told(post.header("content-type", "text/plain").body("{}")).await;
    assert_eq!((status, refusal), (415, json!({"message": "requests must be of type application/json"})));
    world.stop().await;
}
