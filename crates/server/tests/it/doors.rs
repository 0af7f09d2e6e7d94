//! Who is let in.

use belljar_server::{Scope, ServeError, Server, ServerOptions, TokenLimits};
use belljar_testing::runtime;
use serde_json::json;

use crate::world::{World, told};

#[tokio::test]
async fn nobody_without_a_token_and_nobody_by_another_name() {
    let Some(world) = World::new().await else { return };
    let bare = |path: &str| world.http.get(format!("{}{path}", world.url));
    for request in
        [bare("/v1/runs"), bare("/v1/runs").bearer_auth("bj_0_0"), bare("/metrics"), bare("/v1/none")]
    {
        let (status, problem) = told(request).await;
        assert_eq!((status, &problem["code"]), (401, &json!("unauthorized")));
    }
    assert_eq!(told(bare("/healthz")).await.0, 200);
    assert_eq!(told(bare("/readyz")).await.0, 200);
    for (name, value) in [("host", "evil.example"), ("origin", "http://evil.example")] {
        let (status, problem) = told(world.get("/v1/runs").header(name, value)).await;
        assert_eq!((status, &problem["code"]), (403, &json!("wrong-origin")), "{name}");
    }
    let response = world.get("/v1/runs").send().await.unwrap();
    assert!(!response.headers().contains_key("access-control-allow-origin"));
    world.stop().await;
}

#[tokio::test]
async fn a_token_does_what_its_scope_says_and_nothing_when_it_was_taken_back() {
    let Some(world) = World::new().await else { return };
    let script = json!({"script": "emit_result(1)"});
    let [reader, runner] = [Scope::Read, Scope::Run].map(|scope| world.token(scope, TokenLimits::default()));
    assert_eq!(told(world.post_as(&reader, "/v1/runs", &script)).await.0, 403);
    assert_eq!(told(world.post_as(&runner, "/v1/runs", &script)).await.0, 200);
    told(world.post("/v1/runs", &script)).await;
    let own = json!({"script": "emit_result(1)", "config": {}});
    let (status, problem) = told(world.post_as(&runner, "/v1/runs", &own)).await;
    assert_eq!((status, &problem["field"]), (403, &json!("config")), "configs name files of the host");
    assert_eq!(told(world.post("/v1/runs", &own)).await.0, 200);
    let count = async |token: &str| {
        let request = world.http.get(format!("{}/v1/runs", world.url)).bearer_auth(token);
        told(request).await.1["runs"].as_array().unwrap().len()
    };
    belljar_testing::in_time(async {
        while count(&reader).await < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(count(&runner).await, 1, "a runner sees its own");
    let id = runner.split('_').nth(1).unwrap();
    world.tokens.remove(id).unwrap();
    assert_eq!(told(world.post_as(&runner, "/v1/runs", &script)).await.0, 401);
    world.stop().await;
}

#[tokio::test]
async fn a_run_of_another_cannot_be_seen_or_ended() {
    let Some(world) = World::new().await else { return };
    let stranger = world.token(Scope::Run, TokenLimits::default());
    let endless = json!({"script": "import time\nwhile True: time.sleep(0.01)"});
    let (_, accepted) = told(world.post("/v1/runs", &endless).header("prefer", "respond-async")).await;
    let id = accepted["id"].as_str().unwrap();
    for path in ["", "/events", "/files/x"] {
        let path = format!("{}/v1/runs/{id}{path}", world.url);
        assert_eq!(told(world.http.get(path).bearer_auth(&stranger)).await.0, 404);
    }
    assert_eq!(told(world.post_as(&stranger, &format!("/v1/runs/{id}/cancel"), &json!({}))).await.0, 404);
    assert_eq!(told(world.get(&format!("/v1/runs/{id}"))).await.1["status"], "running");
    let (_, session) = told(world.post("/v1/sessions", &json!({}))).await;
    let path = format!("/v1/sessions/{}/steps", session["id"].as_str().unwrap());
    assert_eq!(told(world.post_as(&stranger, &path, &json!({"script": "1"}))).await.0, 404);
    world.stop().await;
}

#[tokio::test]
async fn figures_are_those_that_are_promised() {
    let Some(runtime) = runtime() else { return };
    let state = tempfile::tempdir().unwrap();
    let mut options = ServerOptions::new(state.path());
    options.address = "127.0.0.1:0".parse().unwrap();
    options.needs_token = false;
    let figures = belljar_server::keep_metrics().unwrap();
    let server = Server::bind(runtime, options, Some(figures)).await.unwrap();
    let url = format!("http://{}", server.address());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move { server.run(async { drop(stopped.await) }).await });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = json!({"script": "emit_result(1)"});
    assert_eq!(told(http.post(format!("{url}/v1/runs")).json(&body)).await.0, 200);
    let shown = http.get(format!("{url}/metrics")).send().await.unwrap().text().await.unwrap();
    for metric in belljar::metrics::OF_THE_SERVER {
        assert!(shown.contains(metric.name), "{} is promised and never kept: {shown}", metric.name);
    }
    assert!(shown.contains("belljar_server_answers_total{status=\"200\"} 1"), "{shown}");
    assert!(shown.contains("belljar_runs_total{engine"), "{shown}");
    for figure in [
        "belljar_server_queue_wait_seconds_count 1",
        "belljar_server_answer_seconds_count{route=\"/v1/runs\"} 1",
        "belljar_server_mcp_calls_total{tool=\"run_code\",outcome=\"ok\"} 0",
        "belljar_tool_calls_total{",
        "belljar_network_decisions_total{",
        "belljar_cells_idle{",
    ] {
        assert!(shown.contains(figure), "{figure}: {shown}");
    }
    drop(stop);
    belljar_testing::in_time(serving).await.unwrap();
}

#[tokio::test]
async fn a_door_to_other_machines_needs_tokens() {
    let Some(runtime) = runtime() else { return };
    let state = tempfile::tempdir().unwrap();
    let mut options = ServerOptions::new(state.path());
    options.address = "0.0.0.0:0".parse().unwrap();
    options.needs_token = false;
    assert!(matches!(Server::bind(runtime, options, None).await, Err(ServeError::Open { .. })));
}

#[tokio::test]
async fn a_request_has_a_length_and_a_token_has_limits() {
    let Some(world) = World::with(|options| options.limits.request_bytes = 10_000).await else { return };
    let long = json!({"script": "x".repeat(20_000)});
    let (status, problem) = told(world.post("/v1/runs", &long)).await;
    assert_eq!((status, &problem["code"]), (413, &json!("too-large")));
    let limits =
        TokenLimits { runs_per_minute: Some(2), max_timeout_sec: Some(5.0), ..TokenLimits::default() };
    let token = world.token(Scope::Run, limits);
    let slow = json!({"script": "1", "timeout": 6});
    let (status, problem) = told(world.post_as(&token, "/v1/runs", &slow)).await;
    assert_eq!((status, &problem["field"]), (400, &json!("timeout")));
    for expected in [200, 200, 429] {
        let request = world.post_as(&token, "/v1/runs", &json!({"script": "emit_result(1)"}));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), expected);
        assert_eq!(response.headers().contains_key("retry-after"), expected == 429);
    }
    world.stop().await;
}
