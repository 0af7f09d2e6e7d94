//! One program, many inputs.

use serde_json::{Value, json};

use super::{answer, has_compiler, world};
use crate::world::told;

const DOUBLE: &str = "#include <stdio.h>\nint main(void) { long n; if (scanf(\"%ld\", &n) != 1) return 3; \
                      printf(\"%ld\\n\", 2 * n); return 0; }";

fn outcomes(answer: &Value) -> Vec<&str> {
    answer["cases"].as_array().unwrap().iter().map(|case| case["outcome"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn twenty_cases_in_one_request_are_compiled_once() {
    let Some(world) = world().await else { return };
    if !has_compiler() {
        drop(world.stop().await);
        return;
    }
    let cases: Vec<_> = (0..20)
        .map(|n| json!({"id": format!("case {n}"), "stdin": n.to_string(), "expected": (2 * n).to_string()}))
        .collect();
    let mut body = json!({"language": "c", "source": DOUBLE, "cases": cases, "compile": {"flags": ["-O2"]}});
    let first = answer(&world, "/v1/grade", &body).await;
    assert_eq!((&first["is_correct"], &first["counts"]["passed"]), (&json!(true), &json!(20)), "{first}");
    assert_eq!((&first["compilations"], &first["compile"]["is_reused"]), (&json!(1), &json!(false)));
    for (number, case) in first["cases"].as_array().unwrap().iter().enumerate() {
        assert_eq!((&case["index"], &case["id"]), (&json!(number), &json!(format!("case {number}"))));
        assert_eq!(case["stdout"], format!("{}\n", 2 * number));
    }
    let again = answer(&world, "/v1/grade", &body).await;
    assert_eq!((&again["compilations"], &again["counts"]["passed"]), (&json!(0), &json!(20)));
    // Whatever the compiler is told is part of what is compiled.
    body["compile"]["flags"] = json!(["-O2", "-DONLINE_JUDGE"]);
    assert_eq!(answer(&world, "/v1/grade", &body).await["compilations"], 1);
    body["files"] = json!([{"path": "unused.h", "text": ""}]);
    assert_eq!(answer(&world, "/v1/grade", &body).await["compilations"], 1);
    world.stop().await;
}

#[tokio::test]
async fn each_case_has_its_own_end_and_the_first_failure_can_end_it_all() {
    let Some(world) = world().await else { return };
    let source = "n = int(input())\nif n == 2: raise SystemExit(4)\nwhile n == 3: pass\nprint(n)";
    let cases = json!([
        {"stdin": "1\n", "expected": "1"},
        {"stdin": "7\n", "expected": "8\n"},
        {"stdin": "2\n", "expected": "2"},
        {"stdin": "3\n", "expected": "3", "limits": {"timeout": 0.5}},
        {"stdin": "5\n"},
    ]);
    let mut body = json!({"language": "python", "source": source, "cases": cases});
    let all = answer(&world, "/v1/grade", &body).await;
    assert_eq!(outcomes(&all), ["passed", "wrong", "failed", "failed", "passed"], "{all}");
    assert_eq!(all["counts"], json!({"passed": 2, "wrong": 1, "failed": 2, "skipped": 0}));
    assert_eq!(
        all["cases"][1]["difference"],
        json!({"unit": "line", "number": 1, "expected": "8", "got": "7"})
    );
    assert_eq!(all["cases"][2]["exit_code"], 4);
    assert_eq!(all["cases"][3]["verdict"], "timeout_wall");
    body["stop_on"] = json!("first_failure");
    let some = answer(&world, "/v1/grade", &body).await;
    assert_eq!(outcomes(&some), ["passed", "wrong", "skipped", "skipped", "skipped"]);
    assert_eq!(some["is_correct"], false);
    world.stop().await;
}

#[tokio::test]
async fn no_case_leaves_anything_for_the_next() {
    let Some(world) = world().await else { return };
    let source = "ls -A . /tmp; touch mark /tmp/mark; echo; cat own.txt; echo \"$1\"";
    let cases: Vec<_> = (0..6)
        .map(|n| {
            json!({
                "files": [{"path": "own.txt", "text": format!("file {n}\n")}], "args": [format!("arg {n}")],
                "expected": format!("file {n}\narg {n}"),
            })
        })
        .collect();
    let body = json!({"language": "bash", "source": source, "cases": cases});
    let told = answer(&world, "/v1/grade", &body).await;
    for (number, case) in told["cases"].as_array().unwrap().iter().enumerate() {
        let stdout = case["stdout"].as_str().unwrap();
        assert!(!stdout.contains("mark"), "{stdout}");
        assert!(stdout.ends_with(&format!("file {number}\narg {number}\n")), "{stdout}");
    }
    world.stop().await;
}

#[tokio::test]
async fn what_does_not_compile_is_not_run_and_what_cannot_be_read_is_a_problem() {
    let Some(world) = world().await else { return };
    let post = |body: Value| told(world.http.post(format!("{}/v1/grade", world.url)).json(&body));
    let (status, problem) = post(json!({"language": "c", "source": "", "cases": []})).await;
    assert_eq!(
        (status, &problem["code"], &problem["field"]),
        (400, &json!("invalid-request"), &json!("cases"))
    );
    let flags = json!({"language": "python", "source": "", "cases": [{}], "compile": {"flags": ["-O2"]}});
    let (status, problem) = post(flags).await;
    assert_eq!((status, &problem["field"]), (400, &json!("compile.flags")));
    if has_compiler() {
        let body = json!({"language": "c", "source": "int main(", "cases": [{}, {}]});
        let broken = answer(&world, "/v1/grade", &body).await;
        assert_eq!(outcomes(&broken), ["skipped", "skipped"]);
        assert_eq!((&broken["compile"]["exit_code"], &broken["is_correct"]), (&json!(1), &json!(false)));
        assert!(broken["compile"]["stderr"].as_str().unwrap().contains("expected"), "{broken}");
    }
    world.stop().await;
}

#[tokio::test]
async fn many_cases_share_the_places_with_others() {
    let Some(world) = crate::world::World::with(|options| {
        options.needs_token = false;
        options.limits.concurrency = 1;
        options.limits.queue = 1;
    })
    .await
    else {
        return;
    };
    let cases: Vec<_> =
        (0..12).map(|n| json!({"stdin": format!("{n}\n"), "expected": n.to_string()})).collect();
    let body = json!({"language": "python", "source": "print(input())", "cases": cases});
    let told = answer(&world, "/v1/grade", &body).await;
    assert_eq!(told["counts"]["passed"], 12, "{told}");
    let (_, status) = crate::world::told(world.http.get(format!("{}/v1/status", world.url))).await;
    assert_eq!((&status["runs"]["running"], &status["runs"]["waiting"]), (&json!(0), &json!(0)));
    world.stop().await;
}
