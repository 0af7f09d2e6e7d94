//! How a server ends.

use std::time::Duration;

use belljar_testing::in_time;
use serde_json::json;

use crate::world::{World, lines, told};

#[tokio::test]
async fn whoever_follows_a_run_hears_its_verdict_though_the_server_ends() {
    let Some(mut world) = World::with(|options| options.limits.drain = Duration::from_millis(100)).await
    else {
        return;
    };
    let endless = json!({"script": "import time\nprint('on')\nwhile True: time.sleep(0.01)"});
    let request = world.post("/v1/runs", &endless).header("accept", "application/x-ndjson");
    let mut reading = in_time(request.send()).await.unwrap();
    let mut text = in_time(reading.chunk()).await.unwrap().unwrap().to_vec();
    world.begin_to_stop();
    while let Some(more) = in_time(reading.chunk()).await.unwrap() {
        text.extend_from_slice(&more);
    }
    let events = lines(std::str::from_utf8(&text).unwrap());
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["verdict"]), (&json!("ended"), &json!("cancelled")));
    world.stopped().await;
}

#[tokio::test]
async fn while_it_drains_what_runs_may_end_and_nothing_else_begins() {
    let Some(mut world) = World::with(|options| options.limits.drain = Duration::from_secs(60)).await else {
        return;
    };
    let (_, session) = told(world.post("/v1/sessions", &json!({}))).await;
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    // It ends when it is interrupted, and not before.
    let script = "import time\nprint('on')\ntry:\n    while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n    emit_result('ended by itself')";
    let request = world.post(&format!("{path}/steps"), &json!({"script": script}));
    let mut reading = in_time(request.header("accept", "application/x-ndjson").send()).await.unwrap();
    let mut text = in_time(reading.chunk()).await.unwrap().unwrap().to_vec();
    world.begin_to_stop();
    in_time(async {
        while told(world.http.get(format!("{}/readyz", world.url))).await.0 != 503 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let response = in_time(world.post("/v1/runs", &json!({"script": "1"})).send()).await.unwrap();
    assert_eq!(response.status(), 503);
    assert!(response.headers().contains_key("retry-after"));
    in_time(async {
        loop {
            // The server may be gone already.
            let _ = in_time(world.post(&format!("{path}/interrupt"), &json!({})).send()).await;
            match tokio::time::timeout(Duration::from_millis(200), reading.chunk()).await {
                Ok(Ok(Some(more))) => text.extend_from_slice(&more),
                Ok(_) => break,
                Err(_) => {}
            }
        }
    })
    .await;
    let events = lines(std::str::from_utf8(&text).unwrap());
    assert_eq!(events.last().unwrap()["final_data"], "ended by itself");
    world.stopped().await;
}
