//! Which trace a request is in: what it sends, what its answer says, what its script finds.

use serde_json::{Value, json};

use crate::world::{World, told};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const SCRIPT: &str = "import os\nemit_result([os.environ.get('TRACEPARENT'), os.environ.get('TRACESTATE')])";

/// The trace that an answer names, after a look at its form.
async fn answered(request: reqwest::RequestBuilder) -> String {
    let response = belljar_testing::in_time(request.send()).await.unwrap();
    let said = response.headers()["traceresponse"].to_str().unwrap().to_owned();
    let parts: Vec<_> = said.split('-').map(str::len).collect();
    assert_eq!(parts, [2, 32, 16, 2], "{said}");
    said
}

#[tokio::test]
async fn an_answer_names_the_trace_that_was_sent_or_a_new_one() {
    let Some(world) = World::new().await else { return };
    let ask = |parent: &str| world.get("/v1/status").header("traceparent", parent);
    let said = answered(ask(PARENT)).await;
    assert!(said.starts_with(&format!("00-{TRACE}-")) && said.ends_with("-01"), "{said}");
    assert!(!said.contains("b7ad6b7169203331"), "the request is another span than its caller's: {said}");
    let later = format!("{}-and-more", PARENT.replacen("00", "01", 1));
    assert!(answered(ask(&later)).await.contains(TRACE), "a later version is read as far as it is known");
    let upper = PARENT.to_uppercase();
    for wrong in [
        "",
        "x",
        &PARENT.replacen("00", "ff", 1),
        &PARENT.replace(TRACE, &"0".repeat(32)),
        &PARENT.replace("b7ad6b7169203331", &"0".repeat(16)),
        &PARENT[..54],
        &format!("{PARENT}-"),
        &upper,
    ] {
        let said = answered(ask(wrong)).await;
        assert!(!said.contains(TRACE) && !said.contains(&"0".repeat(16)), "{wrong}: {said}");
    }
    let twice = answered(ask(PARENT).header("traceparent", PARENT)).await;
    assert!(!twice.contains(TRACE), "{twice}");
    assert_ne!(answered(world.get("/v1/status")).await, answered(world.get("/v1/status")).await);
    // Refused, or not there: it is said all the same.
    let refused = world.http.get(format!("{}/v1/runs", world.url)).header("traceparent", PARENT);
    assert!(answered(refused).await.contains(TRACE));
    assert!(answered(world.get("/nowhere").header("traceparent", PARENT)).await.contains(TRACE));
    world.stop().await;
}

#[tokio::test]
async fn a_script_is_told_of_a_trace_only_if_its_caller_sent_one() {
    let Some(world) = World::new().await else { return };
    let body = json!({"script": SCRIPT});
    let run =
        async |request: reqwest::RequestBuilder| -> Value { told(request).await.1["final_data"].clone() };
    assert_eq!(run(world.post("/v1/runs", &body)).await, json!([null, null]));
    let wrong = world.post("/v1/runs", &body).header("traceparent", "00-1-2-3").header("tracestate", "a=1");
    assert_eq!(run(wrong).await, json!([null, null]));
    // Nobody exports spans here, so what a script does belongs below its caller's span.
    let sent = || world.post("/v1/runs", &body).header("traceparent", PARENT);
    assert_eq!(run(sent()).await, json!([PARENT, null]));
    assert_eq!(
        run(sent().header("tracestate", "a=1").header("tracestate", "b=2")).await,
        json!([PARENT, "a=1,b=2"])
    );
    assert_eq!(run(sent().header("tracestate", "A=1")).await, json!([PARENT, null]));
    let own = json!({"script": SCRIPT, "env": {"TRACEPARENT": "mine"}});
    let own = run(world.post("/v1/runs", &own).header("traceparent", PARENT)).await;
    assert_eq!(own, json!(["mine", null]), "what a caller sets itself is left alone");
    world.stop().await;
}

#[tokio::test]
async fn steps_and_programs_are_told_too() {
    let Some(world) = World::new().await else { return };
    let (_, session) = told(world.post("/v1/sessions", &json!({}))).await;
    let steps = format!("/v1/sessions/{}/steps", session["id"].as_str().unwrap());
    let step = world.post(&steps, &json!({"script": SCRIPT})).header("traceparent", PARENT);
    assert_eq!(told(step).await.1["final_data"], json!([PARENT, null]));
    let next = told(world.post(&steps, &json!({"script": SCRIPT}))).await.1;
    assert_eq!(next["final_data"], json!(["", ""]), "the next step is in no trace: {next}");
    let workspace = world.workspace("traced").await;
    let body = json!({"command": "sh", "args": ["-c", "printf '%s %s' \"$TRACEPARENT\" \"$TRACESTATE\""]});
    let program = world.post(&format!("{workspace}/programs"), &body);
    let (status, ended) = told(program.header("traceparent", PARENT).header("tracestate", "a=1")).await;
    assert_eq!((status, ended["stdout"].as_str()), (200, Some(&*format!("{PARENT} a=1"))), "{ended}");
    world.stop().await;
}
