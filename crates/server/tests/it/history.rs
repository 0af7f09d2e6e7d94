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
