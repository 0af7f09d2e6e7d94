//! What is kept of runs.

use belljar_server::{HistoryReader, RunFilter};
use belljar_testing::in_time;
use serde_json::json;

use crate::world::{World, told};

#[tokio::test]
async fn runs_are_found_again_by_what_they_were_also_after_the_server() {
    let Some(world) = World::new().await else { return };
    for script in ["emit_result(1)", "1 / 0", "emit_result(3)"] {
        told(world.post("/v1/runs", &json!({"script": script}))).await;
    }
    let list = async |query: &str| {
        let (status, body) = told(world.get(&format!("/v1/runs{query}"))).await;
        assert_eq!(status, 200, "{body}");
        body
    };
    in_time(async {
        while list("?verdict=ok").await["runs"].as_array().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(list("?verdict=exception").await["runs"].as_array().unwrap().len(), 1);
    assert_eq!(list("?sandbox=other").await["runs"], json!([]));
    assert_eq!(list("?since=2999-01-01T00:00:00Z").await["runs"], json!([]));
    let page = list("?limit=2").await;
    let next = page["next"].as_str().unwrap();
    let rest = list(&format!("?limit=2&before={next}")).await;
    assert_eq!((rest["runs"].as_array().unwrap().len(), &rest["next"]), (1, &json!(null)));
    let id = rest["runs"][0]["id"].as_str().unwrap().to_owned();
    let (_, shown) = told(world.get(&format!("/v1/runs/{id}"))).await;
    assert_eq!((&shown["script"], &shown["result"]["final_data"]), (&json!("emit_result(1)"), &json!(1)));
    let state = world.stop().await;

    let reader = HistoryReader::open(state.path()).unwrap();
    let all = reader.list(RunFilter { limit: 10, ..RunFilter::default() }).await.unwrap();
    assert_eq!(all.len(), 3);
    let Some(world) = World::on(state, |_| {}).await else { return };
    assert_eq!(told(world.get(&format!("/v1/runs/{id}"))).await.1["result"]["final_data"], 1);
    world.stop().await;
}

#[tokio::test]
async fn a_run_of_another_process_is_followed_to_its_end_and_ended_there_only() {
    let Some(first) = World::new().await else { return };
    let Some(second) = World::on(first.state.clone(), |_| {}).await else { return };
    let script = json!({"script": "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"});
    let (_, begun) = told(first.post("/v1/runs", &script).header("prefer", "respond-async")).await;
    let run = format!("/v1/runs/{}", begun["id"].as_str().unwrap());
    in_time(async { while told(second.get(&run)).await.1["events"] != 1 {} }).await;
    let (status, problem) = told(second.post(&format!("{run}/cancel"), &json!({}))).await;
    assert_eq!((status, &problem["code"]), (409, &json!("conflict")));
    let mut stream = in_time(second.get(&format!("{run}/events")).send()).await.unwrap();
    assert!(in_time(stream.chunk()).await.unwrap().is_some(), "what it has said so far");
    assert_eq!(told(first.post(&format!("{run}/cancel"), &json!({}))).await.0, 200);
    let rest = in_time(stream.text()).await.unwrap();
    assert!(rest.contains("event: ended") && rest.contains("cancelled"), "{rest}");
    second.stop().await;
    first.stop().await;
}

#[tokio::test]
async fn a_history_keeps_its_size_and_gives_the_disk_back() {
    let Some(world) = World::with(|options| options.retention.bytes = 4 << 20).await else { return };
    let script = json!({"script": "import os\nopen('f', 'wb').write(os.urandom(2 << 20))", "mode": "script", "collect": ["f"]});
    for _ in 0..12 {
        assert_eq!(told(world.post("/v1/runs", &script)).await.1["verdict"], "ok");
    }
    let state = world.stop().await;
    let kept = std::fs::metadata(state.path().join("history.db")).unwrap().len();
    assert!(kept < 12 << 20, "{kept} bytes of 33 million are kept, and 4 MiB should be");
}
