//! The protocol for models, as raw messages: who is let in, what is refused, and what ends a run.
//! `scripts/test-mcp` has the rest, with a client of others.

use belljar_server::{Scope, TokenLimits};
use belljar_testing::in_time;
use serde_json::{Value, json};

use crate::world::{World, told};

const BOTH: &str = "application/json, text/event-stream";

/// A message, as clients of the latest revision send it: it stands alone.
fn message(world: &World, token: &str, method: &str, params: Value) -> reqwest::RequestBuilder {
    let mut params = params;
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = world.post_as(token, "/mcp", &body).header("accept", BOTH).header("mcp-method", method);
    let request = request.header("mcp-protocol-version", "2026-07-28");
    if name.is_empty() { request } else { request.header("mcp-name", name) }
}

fn call(world: &World, token: &str, tool: &str, arguments: Value) -> reqwest::RequestBuilder {
    message(world, token, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// The last message of an answer, and whether those before were progress.
async fn answered(request: reqwest::RequestBuilder) -> (Value, usize) {
    let response = in_time(request.send()).await.unwrap();
    let text = in_time(response.text()).await.unwrap();
    if let Ok(message) = serde_json::from_str(&text) {
        return (message, 0);
    }
    let blocks = text.split("\n\n").filter_map(|block| {
        let data = block.lines().find_map(|line| line.strip_prefix("data:"))?;
        serde_json::from_str::<Value>(data.trim()).ok()
    });
    let messages: Vec<Value> = blocks.collect();
    let progress = messages.iter().filter(|it| it["method"] == "notifications/progress").count();
    (messages.last().cloned().unwrap_or_default(), progress)
}

#[tokio::test]
async fn a_call_is_a_run_of_its_token_with_text_first() {
    let Some(world) = World::new().await else { return };
    let token = world.token(Scope::Run, TokenLimits::default());
    let (message, _) = answered(call(&world, &token, "run_code", json!({"code": "print(1)\n6 * 7"}))).await;
    let result = &message["result"];
    assert_eq!(result["content"][0], json!({"type": "text", "text": "1\n42"}), "{message}");
    assert_eq!((&result["isError"], &result["structuredContent"]["verdict"]), (&json!(false), &json!("ok")));
    let id = result["structuredContent"]["execution_id"].as_str().unwrap();
    let run = world.http.get(format!("{}/v1/runs/{id}", world.url)).bearer_auth(&token);
    let (status, run) = told(run).await;
    assert_eq!((status, &run["script"]), (200, &json!("print(1)\n6 * 7")), "it is in the history");
    let mut request = json!({"name": "run_code", "arguments": {"code": "print('on')"}});
    request["_meta"]["progressToken"] = json!("p");
    let (_, progress) = answered(self::message(&world, &token, "tools/call", request)).await;
    assert!(progress > 0);
    world.stop().await;
}

#[tokio::test]
async fn what_a_call_runs_is_told_of_the_trace_of_its_request() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let Some(world) = World::new().await else { return };
    let code = json!({"code": "import os; os.environ.get('TRACEPARENT')"});
    let command = json!({"command": ["sh", "-c", "echo $TRACEPARENT"]});
    for (tool, arguments) in [("run_code", &code), ("run_step", &code), ("run_program", &command)] {
        let traced = call(&world, &world.admin, tool, arguments.clone()).header("traceparent", PARENT);
        let text = |message: Value| message["result"]["content"][0]["text"].to_string();
        let said = text(answered(traced).await.0);
        assert!(said.contains(PARENT), "{tool}: {said}");
        let said = text(answered(call(&world, &world.admin, tool, arguments.clone())).await.0);
        assert!(!said.contains("00-"), "{tool}: {said}");
    }
    world.stop().await;
}

#[tokio::test]
async fn what_a_tool_refuses_is_an_answer_and_an_unknown_tool_is_an_error() {
    let Some(world) = World::new().await else { return };
    let short = TokenLimits { max_timeout_sec: Some(1.0), ..TokenLimits::default() };
    let [reader, runner] = [world.token(Scope::Read, TokenLimits::default()), world.token(Scope::Run, short)];
    for (token, tool, arguments, word) in [
        (&reader, "run_code", json!({"code": "1"}), "scope run"),
        (&reader, "write_file", json!({"path": "a", "text": ""}), "scope run"),
        (&runner, "run_code", json!({"code": "1", "timeout": 5}), "timeout"),
        (&runner, "run_program", json!({"command": ["true"], "timeout": 5}), "timeout"),
        (&runner, "run_code", json!({"code": "1", "config": {}}), "config"),
        (&runner, "run_step", json!({"code": "1", "session": "ses_1"}), "not yours"),
    ] {
        let (message, _) = answered(call(&world, token, tool, arguments)).await;
        let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(message["result"]["isError"] == true && text.contains(word), "{tool}: {message}");
    }
    let (message, _) = answered(call(&world, &runner, "run_shell", json!({}))).await;
    assert_eq!(message["error"]["code"], -32602, "{message}");
    world.stop().await;
}

#[tokio::test]
async fn the_guard_is_before_it_and_refusals_are_problems() {
    let Some(world) = World::with(|options| options.limits.request_bytes = 4096).await else { return };
    let bare = world.http.post(format!("{}/mcp", world.url)).header("accept", BOTH).json(&json!({}));
    assert_eq!(told(bare).await.0, 401);
    let page = call(&world, &world.admin, "run_code", json!({"code": "1"}));
    let (status, problem) = told(page.header("origin", "http://evil.example")).await;
    assert_eq!((status, &problem["code"]), (403, &json!("wrong-origin")));
    let long = call(&world, &world.admin, "run_code", json!({"code": "#".repeat(5000)}));
    let (status, problem) = told(long).await;
    assert_eq!((status, &problem["code"]), (413, &json!("too-large")));
    let (status, problem) = told(world.post("/mcp", &json!({})).header("accept", "text/html")).await;
    assert_eq!((status, &problem["code"]), (406, &json!("not-acceptable")));
    let (status, problem) = told(world.get("/mcp")).await;
    assert_eq!((status, &problem["code"]), (406, &json!("not-acceptable")));
    world.stop().await;
}

/// Opens a session of the protocol, as older clients do.
async fn handshake(world: &World, token: &str) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"},
    });
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let response = in_time(world.post_as(token, "/mcp", &hello).header("accept", BOTH).send()).await.unwrap();
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let text = in_time(response.text()).await.unwrap();
    assert!(text.contains("\"protocolVersion\":\"2025-11-25\""), "{text}");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(in_time(in_session(world, token, &session, &ready).send()).await.unwrap().status(), 202);
    session
}

fn in_session(world: &World, token: &str, session: &str, body: &Value) -> reqwest::RequestBuilder {
    let request = world.post_as(token, "/mcp", body).header("accept", BOTH);
    request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25")
}

fn end_session(world: &World, token: &str, session: &str) -> reqwest::RequestBuilder {
    let request = world.http.delete(format!("{}/mcp", world.url)).bearer_auth(token);
    request.header("mcp-session-id", session)
}

/// Waits until a run was cancelled.
async fn cancelled(world: &World) {
    in_time(async {
        loop {
            let (_, listed) = told(world.get("/v1/runs?verdict=cancelled")).await;
            if !listed["runs"].as_array().unwrap().is_empty() {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_session_of_the_protocol_is_its_tokens_alone() {
    let Some(world) = World::new().await else { return };
    let [owner, thief] = [Scope::Run, Scope::Admin].map(|scope| world.token(scope, TokenLimits::default()));
    let session = handshake(&world, &owner).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let (message, _) = answered(in_session(&world, &owner, &session, &list)).await;
    assert_eq!(message["result"]["tools"].as_array().unwrap().len(), 8);
    let (status, problem) = told(in_session(&world, &thief, &session, &list)).await;
    assert_eq!((status, &problem["code"]), (404, &json!("not-found")), "for others it is not there");
    assert_eq!(told(end_session(&world, &thief, &session)).await.0, 404);
    assert_eq!(told(end_session(&world, &owner, &session)).await.0, 204);
    assert_eq!(told(end_session(&world, &owner, &session)).await.0, 404, "it has ended");
    world.stop().await;
}

#[tokio::test]
async fn what_runs_in_a_session_of_the_protocol_ends_when_it_is_cancelled_or_with_the_session() {
    for is_cancelled in [true, false] {
        let Some(world) = World::new().await else { return };
        let session = handshake(&world, &world.admin).await;
        let params = json!({
            "name": "run_code",
            "arguments": {"code": "print('on')\nwhile True: pass"},
            "_meta": {"progressToken": "p"},
        });
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let mut reading = in_time(in_session(&world, &world.admin, &session, &call).send()).await.unwrap();
        let mut heard = String::new();
        while !heard.contains("notifications/progress") {
            heard += &String::from_utf8_lossy(&in_time(reading.chunk()).await.unwrap().unwrap());
        }
        if is_cancelled {
            let params = json!({"requestId": 7});
            let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            in_time(in_session(&world, &world.admin, &session, &cancel).send()).await.unwrap();
        } else {
            assert_eq!(told(end_session(&world, &world.admin, &session)).await.0, 204);
        }
        cancelled(&world).await;
        world.stop().await;
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_run() {
    let Some(world) = World::new().await else { return };
    let mut params = json!({"name": "run_code", "arguments": {"code": "print('on')\nwhile True: pass"}});
    params["_meta"]["progressToken"] = json!(1);
    let request = message(&world, &world.admin, "tools/call", params);
    let mut reading = in_time(request.send()).await.unwrap();
    in_time(reading.chunk()).await.unwrap().unwrap();
    drop(reading);
    cancelled(&world).await;
    world.stop().await;
}

#[tokio::test]
async fn a_workspace_of_that_name_is_each_tokens_own() {
    let Some(world) = World::new().await else { return };
    let [one, other] = [(); 2].map(|()| world.token(Scope::Run, TokenLimits::default()));
    let place = |arguments: Value| {
        let mut arguments = arguments;
        arguments["workspace"] = json!("job");
        arguments
    };
    let written = call(&world, &one, "write_file", place(json!({"path": "a.txt", "text": "mine"})));
    assert_eq!(answered(written).await.0["result"]["isError"], false);
    let ran = call(&world, &one, "run_program", place(json!({"command": ["cat", "a.txt"]})));
    let (message, _) = answered(ran).await;
    assert_eq!(message["result"]["content"][0]["text"], "mine", "{message}");
    let (message, _) = answered(call(&world, &other, "list_files", place(json!({})))).await;
    let files = message["result"]["structuredContent"]["files"].as_array().unwrap();
    assert!(files.iter().all(|file| file["path"] != "a.txt"), "{message}");
    world.stop().await;
}

#[tokio::test]
async fn an_artifact_is_checked_as_it_is_over_http() {
    let Some(world) = World::new().await else { return };
    for (arguments, field) in [
        (json!({"name": "a", "text": "x", "mime_type": "a\r\nX-Evil: 1"}), "mime_type"),
        (json!({"name": "a", "text": "x", "mime_type": "a".repeat(300)}), "mime_type"),
        (json!({"name": "a\u{1b}", "text": "x"}), "name"),
    ] {
        let (message, _) = answered(call(&world, &world.admin, "save_artifact", arguments)).await;
        assert!(message.to_string().contains(field) && message["result"]["isError"] != false, "{message}");
    }
    assert_eq!(told(world.get("/v1/artifacts")).await.1["artifacts"], json!([]));
    world.stop().await;
}
