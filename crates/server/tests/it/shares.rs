//! One client against the others: whatever it asks for, it gets half at the most, and not for ever.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use belljar_server::{Scope, TokenLimits};
use belljar_testing::in_time;
use serde_json::json;
use tokio::task::JoinSet;

use crate::world::{World, told};

fn anybody(world: &World) -> String {
    world.token(Scope::Run, TokenLimits::default())
}

/// Asks for as many sessions at once. How many there are then.
async fn sessions(world: &World, token: &str, wanted: usize) -> usize {
    let mut all = JoinSet::new();
    for _ in 0..wanted {
        all.spawn(told(world.post_as(token, "/v1/sessions", &json!({}))));
    }
    let mut opened = 0;
    while let Some(answer) = in_time(all.join_next()).await {
        let (status, body) = answer.unwrap();
        assert!(status == 201 || body["code"] == "queue-full", "{status}: {body}");
        opened += usize::from(status == 201);
    }
    opened
}

#[tokio::test]
async fn sessions_of_one_token_leave_places_for_others_and_cells_for_runs() {
    let limited = World::with(|options| {
        options.limits.sessions = 6;
        options.limits.concurrency = 2;
    });
    let Some(world) = limited.await else { return };
    assert_eq!(sessions(&world, &anybody(&world), 12).await, 3, "half of them");
    let modest = TokenLimits { concurrency: Some(1), ..TokenLimits::default() };
    assert_eq!(sessions(&world, &world.token(Scope::Run, modest), 4).await, 1, "as many as it may run");
    let (_, status) = told(world.get("/v1/status")).await;
    assert_eq!(status["sessions"], json!({"open": 4, "most": 6}));
    let other = anybody(&world);
    let (_, result) = told(world.post_as(&other, "/v1/runs", &json!({"script": "emit_result(1)"}))).await;
    assert_eq!(result["final_data"], 1);
    assert_eq!(sessions(&world, &other, 4).await, 2, "what is left");
    world.stop().await;
}

/// Sends the head of a request and some of its body, and no more. What is answered.
fn unfinished(world: &World, token: &str, length: usize, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(world.url.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // It may have been refused before all of it was sent.
    let _ = stream.write_all(sent);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stops_coming_is_given_up_and_one_of_a_reader_is_not_read() {
    let short = World::with(|options| options.limits.body_time = Duration::from_millis(200)).await;
    let Some(world) = short else { return };
    let answer = tokio::task::block_in_place(|| unfinished(&world, &anybody(&world), 10, b"{"));
    assert!(
        answer.starts_with("HTTP/1.1 400 ") && answer.contains("nothing of the request came"),
        "{answer}"
    );
    let reader = world.token(Scope::Read, TokenLimits::default());
    let answer = tokio::task::block_in_place(|| unfinished(&world, &reader, 10, b""));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_take_so_much_memory_and_no_more() {
    let small = World::with(|options| {
        options.limits.concurrency = 1;
        options.limits.held_bytes = 4 << 20;
    });
    let Some(world) = small.await else { return };
    let (token, other) = (anybody(&world), anybody(&world));
    let endless = json!({"script": "import time\nwhile True: time.sleep(0.01)"});
    let later = |token: &str, body| world.post_as(token, "/v1/runs", body).header("prefer", "respond-async");
    let (_, first) = told(later(&token, &endless)).await;
    let large = json!({"script": "emit_result(1)", "stdin": "x".repeat(1 << 20)});
    let mut waiting = 0;
    let refused = loop {
        match told(later(&token, &large)).await {
            (202, _) => waiting += 1,
            refused => break refused,
        }
        assert!(waiting < 4, "those that wait take memory");
    };
    assert_eq!((refused.0, &refused.1["code"]), (429, &json!("queue-full")), "{}", refused.1);
    assert_eq!(told(later(&other, &large)).await.0, 202, "others have their own share");
    let cancel = format!("/v1/runs/{}/cancel", first["id"].as_str().unwrap());
    told(world.post_as(&token, &cancel, &json!({}))).await;
    in_time(async { while told(later(&token, &large)).await.0 != 202 {} }).await;
    world.stop().await;
}

#[tokio::test]
async fn what_a_token_holds_ends_when_it_is_taken_back() {
    let Some(world) = World::new().await else { return };
    let text = anybody(&world);
    let id = text.split('_').nth(1).unwrap();
    let endless = json!({"script": "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"});
    let stream = world.post_as(&text, "/v1/runs", &endless).header("accept", "application/x-ndjson");
    let mut stream = in_time(stream.send()).await.unwrap();
    assert!(in_time(stream.chunk()).await.unwrap().is_some());
    assert_eq!(sessions(&world, &text, 1).await, 1);
    let run = format!("/v1/runs/{}", stream.headers()["belljar-run"].to_str().unwrap());
    world.tokens.remove(id).unwrap();
    // It hears of the end, or is broken off before.
    while let Ok(Some(_)) = in_time(stream.chunk()).await {}
    in_time(async { while told(world.get(&run)).await.1["status"] != "ended" {} }).await;
    assert_eq!(told(world.get(&run)).await.1["verdict"], "cancelled");
    in_time(async {
        while told(world.get("/v1/status")).await.1["sessions"]["open"] != 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    world.stop().await;
}

#[tokio::test]
async fn one_token_does_not_fill_the_queue() {
    let limited = World::with(|options| {
        options.limits.concurrency = 1;
        options.limits.queue = 4;
    });
    let Some(world) = limited.await else { return };
    let (busy, other) = (anybody(&world), anybody(&world));
    let endless = json!({"script": "import time\nwhile True: time.sleep(0.01)"});
    let later = |token: &str| world.post_as(token, "/v1/runs", &endless).header("prefer", "respond-async");
    let mut taken = Vec::new();
    for _ in 0..4 {
        taken.push(told(later(&busy)).await.0);
    }
    assert_eq!(taken, [202, 202, 202, 429], "one runs, two wait, and that is half");
    assert_eq!(told(later(&other)).await.0, 202);
    world.stop().await;
}

#[tokio::test]
async fn who_only_looks_does_not_keep_a_run_alive() {
    let short = World::with(|options| options.limits.reconnect = Duration::from_millis(50)).await;
    let Some(world) = short else { return };
    let endless = json!({"script": "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"});
    let owner = anybody(&world);
    let stream = world.post_as(&owner, "/v1/runs", &endless).header("accept", "application/x-ndjson");
    let mut stream = in_time(stream.send()).await.unwrap();
    assert!(in_time(stream.chunk()).await.unwrap().is_some());
    let id = stream.headers()["belljar-run"].to_str().unwrap().to_owned();
    let reader = world.token(Scope::Read, TokenLimits::default());
    let mut onlooker =
        in_time(world.ask("GET", &reader, &format!("/v1/runs/{id}/events")).send()).await.unwrap();
    assert!(in_time(onlooker.chunk()).await.unwrap().is_some());
    drop(stream);
    let rest = in_time(onlooker.text()).await.unwrap();
    assert!(rest.contains("event: ended") && rest.contains("cancelled"), "{rest}");
    world.stop().await;
}
