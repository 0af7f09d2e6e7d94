//! Runs: results, streams, and who follows them.

use belljar_testing::in_time;
use serde_json::{Value, json};

use crate::world::{World, lines, sse, told};

/// More than is kept in memory of a run's events.
const FLOOD: &str = "for number in range(20000): print('x' * 100, number)\nemit_result(number)";

#[tokio::test]
async fn a_script_has_a_result_and_a_failure_is_a_verdict_not_an_error() {
    let Some(world) = World::new().await else { return };
    let (status, result) =
        told(world.post("/v1/runs", &json!({"script": "print('hi')\nemit_result(6 * 7)"}))).await;
    assert_eq!(
        (status, &result["verdict"], &result["final_data"]),
        (200, &json!("ok"), &json!(42)),
        "{result}"
    );
    assert_eq!(result["stdout"], "hi\n");
    let (status, result) = told(world.post("/v1/runs", &json!({"script": "1 / 0"}))).await;
    assert_eq!((status, &result["verdict"]), (200, &json!("exception")));
    let body = json!({"script": "import time; time.sleep(60)", "timeout": 0.2});
    let (status, result) = told(world.post("/v1/runs", &body)).await;
    assert_eq!((status, &result["verdict"]), (200, &json!("timeout_wall")));
    world.stop().await;
}

#[tokio::test]
async fn events_come_in_both_forms_numbered_and_end_with_the_verdict() {
    let Some(world) = World::new().await else { return };
    let body = json!({"script": "print('a')\nemit_intermediate('half', {'n': 1})\nemit_result(2)"});
    let answer =
        in_time(world.post("/v1/runs", &body).header("accept", "application/x-ndjson").send()).await.unwrap();
    let id = answer.headers()["belljar-run"].to_str().unwrap().to_owned();
    let events = lines(&in_time(answer.text()).await.unwrap());
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    assert!(events.iter().any(|event| event["type"] == "intermediate" && event["label"] == "half"));
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["verdict"], &last["execution_id"]),
        (&json!("ended"), &json!("ok"), &json!(id))
    );

    let path = format!("/v1/runs/{id}/events");
    let again = in_time(world.get(&path).header("accept", "text/event-stream").send()).await.unwrap();
    assert_eq!(again.headers()["content-type"], "text/event-stream");
    let again = sse(&in_time(again.text()).await.unwrap());
    assert_eq!(
        again.iter().map(|(_, _, event)| event).collect::<Vec<_>>(),
        events.iter().collect::<Vec<_>>()
    );
    let resumed = world.get(&path).header("accept", "text/event-stream").header("last-event-id", "0");
    let resumed = sse(&in_time(in_time(resumed.send()).await.unwrap().text()).await.unwrap());
    assert_eq!(resumed.first().map(|(number, ..)| *number), Some(1));
    let resumed = world.get(&format!("{path}?from=1")).header("accept", "application/x-ndjson");
    let resumed = lines(&in_time(in_time(resumed.send()).await.unwrap().text()).await.unwrap());
    assert_eq!(resumed, events[1..]);
    world.stop().await;
}

#[tokio::test]
async fn a_reader_who_comes_back_has_missed_nothing_of_a_flood() {
    let roomy = World::with(|options| {
        let mut config = belljar_testing::config();
        config.resource_limits.max_output_bytes = 16 << 20;
        options.sandboxes.insert("default".to_owned(), config.into());
    });
    let Some(world) = roomy.await else { return };
    let body = json!({"script": FLOOD});
    let request = world.post("/v1/runs", &body).header("accept", "application/x-ndjson");
    let mut answer = in_time(request.send()).await.unwrap();
    let id = answer.headers()["belljar-run"].to_str().unwrap().to_owned();
    let first = in_time(answer.chunk()).await.unwrap().unwrap();
    drop(answer);
    let whole = first.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let seen = lines(std::str::from_utf8(&first[..whole]).unwrap());
    let path = format!("/v1/runs/{id}/events?from={}", seen.len());
    let rest = in_time(world.get(&path).header("accept", "application/x-ndjson").send()).await.unwrap();
    let rest = lines(&in_time(rest.text()).await.unwrap());
    let all: Vec<Value> = seen.into_iter().chain(rest).collect();
    let text: String =
        all.iter().filter(|it| it["type"] == "stdout").map(|it| it["text"].as_str().unwrap()).collect();
    let expected: String = (0..20000).map(|number| format!("{} {number}\n", "x".repeat(100))).collect();
    assert!(text == expected, "{} of {} bytes", text.len(), expected.len());
    assert_eq!(all.last().unwrap()["verdict"], "ok");
    world.stop().await;
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_run_unless_it_asked_for_later() {
    let Some(world) =
        World::with(|options| options.limits.reconnect = std::time::Duration::from_millis(1)).await
    else {
        return;
    };
    let endless = json!({"script": "import time\nprint('on')\nwhile True: time.sleep(0.01)"});
    let listed = async |verdict: &str| {
        told(world.get(&format!("/v1/runs?verdict={verdict}"))).await.1["runs"].as_array().unwrap().len()
    };
    // It waits for the result, and gives up.
    let waiting = world.post("/v1/runs", &endless).timeout(std::time::Duration::from_millis(600));
    assert!(waiting.send().await.is_err());
    in_time(async {
        while listed("cancelled").await < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // It reads events, and leaves.
    let mut reading =
        in_time(world.post("/v1/runs", &endless).header("accept", "text/event-stream").send()).await.unwrap();
    in_time(reading.chunk()).await.unwrap();
    drop(reading);
    in_time(async {
        while listed("cancelled").await < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (status, accepted) = told(world.post("/v1/runs", &endless).header("prefer", "respond-async")).await;
    assert_eq!((status, &accepted["status"]), (202, &json!("accepted")));
    let id = accepted["id"].as_str().unwrap();
    assert_eq!(told(world.get(&format!("/v1/runs/{id}"))).await.1["status"], "running");
    told(world.post(&format!("/v1/runs/{id}/cancel"), &json!({}))).await;
    let followed = world.get(&format!("/v1/runs/{id}/events")).header("accept", "application/x-ndjson");
    let events = lines(&in_time(in_time(followed.send()).await.unwrap().text()).await.unwrap());
    assert_eq!(events.last().unwrap()["verdict"], "cancelled");
    world.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_with_the_field() {
    let Some(world) = World::new().await else { return };
    for (body, field) in [
        (json!({}), "script"),
        (json!({"script": "1", "tiemout": 3}), "tiemout"),
        (json!({"script": "1", "sandbox": "nowhere"}), "sandbox"),
        (json!({"script": "1", "config": {"pool_sise": 3}}), "config"),
    ] {
        let (status, problem) = told(world.post("/v1/runs", &body)).await;
        assert_eq!(
            (status, &problem["code"], &problem["field"]),
            (400, &json!("invalid-request"), &json!(field))
        );
    }
    let (status, problem) = told(world.get("/v1/runs?limit=many")).await;
    assert_eq!((status, &problem["code"]), (400, &json!("invalid-request")));
    let text = world.http.post(format!("{}/v1/runs", world.url)).bearer_auth(&world.admin).body("print(1)");
    let (status, problem) = told(text).await;
    assert_eq!((status, &problem["code"]), (415, &json!("unsupported-media-type")));
    assert_eq!(told(world.get("/v1/nothing")).await.1["code"], "not-found");
    let (status, problem) =
        told(world.http.delete(format!("{}/v1/runs", world.url)).bearer_auth(&world.admin)).await;
    assert_eq!((status, &problem["code"]), (405, &json!("method-not-allowed")));
    world.stop().await;
}

#[tokio::test]
async fn files_of_a_run_go_in_and_out() {
    let Some(world) = World::new().await else { return };
    let body = json!({
        "script": "open('out.txt', 'w').write(open('in.txt').read().upper())\nemit_result(1)",
        "files": [{"path": "in.txt", "text": "hello"}],
        "collect": ["*.txt"],
    });
    let answer = in_time(world.post("/v1/runs", &body).send()).await.unwrap();
    let id = answer.headers()["belljar-run"].to_str().unwrap().to_owned();
    in_time(answer.bytes()).await.unwrap();
    let mut file = String::new();
    in_time(async {
        loop {
            let response = world.get(&format!("/v1/runs/{id}/files/out.txt")).send().await.unwrap();
            if response.status() == 200 {
                file = response.text().await.unwrap();
                break;
            }
        }
    })
    .await;
    assert_eq!(file, "HELLO");
    assert_eq!(told(world.get(&format!("/v1/runs/{id}/files/none"))).await.0, 404);
    world.stop().await;
}
