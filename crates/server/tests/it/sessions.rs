//! Steps that share their variables.

use std::time::Duration;

use belljar_testing::in_time;
use serde_json::json;

use crate::world::{World, told};

#[tokio::test]
async fn steps_share_variables_and_files_until_the_session_is_closed() {
    let Some(world) = World::new().await else { return };
    let (status, session) = told(world.post("/v1/sessions", &json!({}))).await;
    assert_eq!(status, 201);
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    let step = |script: &str| world.post(&format!("{path}/steps"), &json!({"script": script}));
    assert_eq!(told(step("x = 41")).await.0, 200);
    assert_eq!(told(step("emit_result(x + 1)")).await.1["final_data"], 42);
    let url = format!("{}{path}/files/in/data.bin", world.url);
    let put = world.http.put(&url).bearer_auth(&world.admin).body(vec![0u8, 255, 7]);
    assert_eq!(told(put).await.0, 204);
    assert_eq!(
        told(step("emit_result(list(open('in/data.bin', 'rb').read()))")).await.1["final_data"],
        json!([0, 255, 7])
    );
    let read = in_time(world.get(&format!("{path}/files/in/data.bin")).send()).await.unwrap();
    assert_eq!(read.headers()["content-disposition"], "attachment");
    assert_eq!(in_time(read.bytes()).await.unwrap(), vec![0u8, 255, 7]);
    let (_, files) = told(world.get(&format!("{path}/files"))).await;
    assert!(files["files"].as_array().unwrap().iter().any(|file| file["path"] == "in/data.bin"), "{files}");
    let closed = world.http.delete(format!("{}{path}", world.url)).bearer_auth(&world.admin);
    assert_eq!(told(closed).await.0, 204);
    assert_eq!(told(step("1")).await.0, 404);
    world.stop().await;
}

#[tokio::test]
async fn a_step_can_be_interrupted_and_a_second_one_is_told_to_wait() {
    let Some(world) = World::new().await else { return };
    let (_, session) = told(world.post("/v1/sessions", &json!({}))).await;
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    let steps = format!("{path}/steps");
    let script = "import time\nkept = 1\nprint('on')\nwhile True: time.sleep(0.01)";
    let long = world.post(&steps, &json!({"script": script})).header("accept", "text/event-stream");
    let mut long = in_time(long.send()).await.unwrap();
    in_time(long.chunk()).await.unwrap();
    let (status, problem) = told(world.post(&steps, &json!({"script": "1"}))).await;
    assert_eq!((status, &problem["code"]), (409, &json!("conflict")));
    // One interrupt may come while the script begins to wait.
    in_time(async {
        loop {
            told(world.post(&format!("{path}/interrupt"), &json!({}))).await;
            match tokio::time::timeout(Duration::from_millis(200), long.chunk()).await {
                Ok(Ok(None)) => break,
                _ => continue,
            }
        }
    })
    .await;
    let (_, result) = told(world.post(&steps, &json!({"script": "emit_result(kept)"}))).await;
    assert_eq!(result["final_data"], 1, "{result}");
    world.stop().await;
}

#[tokio::test]
async fn a_session_that_nobody_uses_ends_and_there_are_only_so_many() {
    let Some(world) = World::with(|options| options.limits.sessions = 1).await else { return };
    let idle = json!({"idle_timeout_sec": 0.05});
    assert_eq!(told(world.post("/v1/sessions", &idle)).await.0, 201);
    in_time(async {
        while told(world.post("/v1/sessions", &json!({}))).await.0 != 201 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (status, problem) = told(world.post("/v1/sessions", &json!({}))).await;
    assert_eq!((status, &problem["code"]), (429, &json!("queue-full")));
    for (body, field) in [(json!({"idle_timeout_sec": 0}), "idle_timeout_sec"), (json!({"idel": 1}), "idel")]
    {
        let (status, problem) = told(world.post("/v1/sessions", &body)).await;
        assert_eq!((status, &problem["field"]), (400, &json!(field)));
    }
    world.stop().await;
}
