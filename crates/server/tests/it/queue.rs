//! More requests than places.

use belljar_testing::in_time;
use serde_json::json;
use tokio::task::JoinSet;

use crate::world::{World, told};

#[tokio::test]
async fn a_full_queue_says_when_to_come_again_and_everybody_else_is_served() {
    let limited = World::with(|options| {
        options.limits.concurrency = 1;
        options.limits.queue = 6;
    });
    let Some(world) = limited.await else { return };
    let endless = json!({"script": "import time\nwhile True: time.sleep(0.01)"});
    let (_, first) = told(world.post("/v1/runs", &endless).header("prefer", "respond-async")).await;
    let script = json!({"script": "emit_result(1)"});
    for _ in 0..3 {
        let (status, _) = told(world.post("/v1/runs", &script).header("prefer", "respond-async")).await;
        assert_eq!(status, 202);
    }
    let response = in_time(world.post("/v1/runs", &script).send()).await.unwrap();
    assert_eq!(response.status(), 429);
    assert!(response.headers().contains_key("retry-after"));
    let (_, status) = told(world.get("/v1/status")).await;
    assert_eq!((&status["runs"]["running"], &status["runs"]["waiting"]), (&json!(1), &json!(3)));
    told(world.post(&format!("/v1/runs/{}/cancel", first["id"].as_str().unwrap()), &json!({}))).await;
    in_time(async {
        loop {
            let (_, done) = told(world.get("/v1/runs?verdict=ok")).await;
            if done["runs"].as_array().unwrap().len() == 3 {
                break;
            }
        }
    })
    .await;
    world.stop().await;
}

#[tokio::test]
async fn many_clients_at_once_all_get_their_own_answer() {
    let Some(world) = World::with(|options| options.limits.concurrency = 4).await else { return };
    let mut all = JoinSet::new();
    for number in 0..100 {
        let request = world.post("/v1/runs", &json!({"script": format!("emit_result({number})")}));
        all.spawn(async move { (number, told(request).await) });
    }
    while let Some(answer) = in_time(all.join_next()).await {
        let (number, (status, result)) = answer.unwrap();
        assert_eq!((status, &result["final_data"]), (200, &json!(number)));
    }
    world.stop().await;
}
