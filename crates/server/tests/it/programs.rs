//! Programs in workspaces.

use std::time::Duration;

use belljar_server::{Scope, TokenLimits};
use belljar_testing::in_time;
use serde_json::{Value, json};

use crate::world::{World, told};

fn sh(script: &str) -> Value {
    json!({"command": "sh", "args": ["-c", script]})
}

/// Begins a program, and gives its path.
async fn begun(world: &World, workspace: &str, body: &Value) -> String {
    let request = world.post(&format!("{workspace}/programs"), body).header("prefer", "respond-async");
    let (status, told) = told(request).await;
    assert!([201, 202].contains(&status), "{told}");
    format!("/v1/programs/{}", told["id"].as_str().unwrap())
}

/// Polls a program until it has printed this.
async fn until_printed(world: &World, program: &str, text: &str) -> Value {
    in_time(async {
        loop {
            let (status, polled) = told(world.get(&format!("{program}?wait=1&from=0"))).await;
            assert_eq!(status, 200, "{polled}");
            if polled["output"].as_str().unwrap().contains(text) {
                return polled;
            }
            assert_ne!(polled["status"], "ended", "{polled}");
        }
    })
    .await
}

/// Polls a program until it has ended.
async fn until_ended(world: &World, program: &str) -> Value {
    in_time(async {
        loop {
            let (_, polled) = told(world.get(&format!("{program}?wait=1&from=1000000000"))).await;
            if polled["status"] == "ended" {
                return polled;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_program_has_a_result_and_its_failure_is_not_an_error() {
    let Some(world) = World::new().await else { return };
    let workspace = world.workspace("job").await;
    let run = |body: Value| world.post(&format!("{workspace}/programs"), &body);
    let body = json!({
        "command": "sh", "args": ["-c", "cat; echo $A; pwd >&2; exit 3"],
        "stdin": "typed\n", "env": {"A": "seen"}, "cwd": "work",
    });
    let answer = in_time(run(body).send()).await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    let id = answer.headers()["belljar-program"].to_str().unwrap().to_owned();
    let result: Value = in_time(answer.json()).await.unwrap();
    assert_eq!((&result["stdout"], &result["exit_code"]), (&json!("typed\nseen\n"), &json!(3)), "{result}");
    assert!(result["stderr"].as_str().unwrap().ends_with("/work\n"), "{result}");
    assert_eq!(told(world.get(&format!("/v1/programs/{id}"))).await.0, 404, "whoever waited has it");
    let (_, result) = told(run(json!({"command": "no-such-program"}))).await;
    assert_eq!(result["verdict"], "not_started", "{result}");
    let (status, result) = told(run(json!({"command": "sleep", "args": ["60"], "timeout": 0.2}))).await;
    assert_eq!((status, &result["timed_out"]), (200, &json!(true)), "{result}");
    // What a program writes stays, and the next one sees it.
    assert_eq!(told(run(sh("echo kept > work/a.txt"))).await.1["exit_code"], 0);
    let read = in_time(world.get(&format!("{workspace}/files/work/a.txt")).send()).await.unwrap();
    assert_eq!(in_time(read.text()).await.unwrap(), "kept\n");
    for (body, field) in [
        (json!({}), "command"),
        (json!({"command": "a", "comand": 1}), "comand"),
        (json!({"command": "a", "sandbox": "nowhere"}), "sandbox"),
        (json!({"command": "a", "timeout": 0}), "timeout"),
    ] {
        let (status, problem) = told(run(body)).await;
        assert_eq!((status, &problem["field"]), (400, &json!(field)));
    }
    assert_eq!(told(run(json!({"command": "pwd", "cwd": "../.."}))).await.0, 400);
    assert_eq!(told(run(sh("true")).header("accept", "text/event-stream")).await.0, 406);
    world.stop().await;
}

#[tokio::test]
async fn a_program_is_asked_for_now_and_polled_from_anywhere_later() {
    let Some(world) = World::new().await else { return };
    let workspace = world.workspace("job").await;
    let program = begun(&world, &workspace, &sh("echo one; echo é; echo two >&2; echo three")).await;
    let ended = until_ended(&world, &program).await;
    let result = &ended["result"];
    assert_eq!((&result["stdout"], &result["stderr"]), (&json!("one\né\nthree\n"), &json!("two\n")));
    let (_, all) = told(world.get(&program)).await;
    let output = all["output"].as_str().unwrap();
    assert_eq!((output.len() as u64, &all["offset"]), (all["next_offset"].as_u64().unwrap(), &json!(0)));
    let (_, part) = told(world.get(&format!("{program}?from=4&limit=3"))).await;
    assert_eq!((&part["output"], &part["next_offset"]), (&json!("é\n"), &json!(7)));
    let (_, rest) = told(world.get(&format!("{program}?from=7"))).await;
    assert_eq!(rest["output"].as_str().unwrap(), &output[7..]);
    let (_, beyond) = told(world.get(&format!("{program}?from=999"))).await;
    assert_eq!((&beyond["output"], &beyond["offset"]), (&json!(""), &all["next_offset"]));
    for query in ["limit=0", "wait=31", "wait=-1"] {
        assert_eq!(told(world.get(&format!("{program}?{query}"))).await.0, 400, "{query}");
    }
    let (_, listed) = told(world.get("/v1/programs")).await;
    assert_eq!(listed["programs"][0]["command"][0], "sh");
    // Bytes that are no text.
    let bytes = begun(&world, &workspace, &sh(r"printf '\377\376'")).await;
    until_ended(&world, &bytes).await;
    assert_eq!(told(world.get(&bytes)).await.1["output_base64"], "//4=");
    assert_eq!(told(world.ask("DELETE", &world.admin, &program)).await.0, 204);
    assert_eq!(told(world.get(&program)).await.0, 404);
    world.stop().await;
}

#[tokio::test]
async fn a_program_is_talked_to_until_its_input_ends() {
    let Some(world) = World::new().await else { return };
    let workspace = world.workspace("job").await;
    let body = json!({"command": "cat", "interactive": true, "stdin": "first\n"});
    let (status, made) = told(world.post(&format!("{workspace}/programs"), &body)).await;
    assert_eq!((status, &made["status"], &made["is_interactive"]), (201, &json!("running"), &json!(true)));
    let program = format!("/v1/programs/{}", made["id"].as_str().unwrap());
    until_printed(&world, &program, "first\n").await;
    let type_in = |body: Value| world.post(&format!("{program}/input"), &body);
    assert_eq!(told(type_in(json!({"data": "second", "newline": true}))).await.0, 204);
    until_printed(&world, &program, "second\n").await;
    let raw = world.ask("POST", &world.admin, &format!("{program}/input"));
    let raw = raw.header("content-type", "application/octet-stream").body(vec![b'z', 0, b'\n']);
    assert_eq!(told(raw).await.0, 204);
    until_printed(&world, &program, "z\0\n").await;
    assert_eq!(told(type_in(json!({"daat": "x"}))).await.1["field"], "daat");
    assert_eq!(told(type_in(json!({}))).await.0, 400);
    let resize = world.post(&format!("{program}/resize"), &json!({"rows": 10, "cols": 20}));
    assert_eq!(told(resize).await.0, 409, "it has no terminal");
    let long = world.ask("POST", &world.admin, &format!("{program}/input"));
    let long = long.header("content-type", "application/octet-stream").body(vec![0; 1 << 20]);
    assert_eq!(told(long).await.0, 413);
    assert_eq!(told(type_in(json!({"data": "last", "eof": true}))).await.0, 204);
    let ended = until_ended(&world, &program).await;
    assert_eq!(ended["result"]["exit_code"], 0, "{ended}");
    assert_eq!(told(type_in(json!({"data": "x"}))).await.0, 409);
    let batch = begun(&world, &workspace, &sh("sleep 60")).await;
    let refused = world.post(&format!("{batch}/input"), &json!({"data": "x"}));
    assert_eq!(told(refused).await.0, 409, "its input ended when it began");
    world.stop().await;
}

#[tokio::test]
async fn a_program_is_killed_asked_to_end_or_interrupted() {
    let Some(world) = World::new().await else { return };
    let workspace = world.workspace("job").await;
    let kill = async |program: &str, body: Value| {
        let (status, told) = told(world.post(&format!("{program}/kill"), &body)).await;
        assert_eq!(status, 200, "{told}");
        told
    };
    let endless = sh("trap 'echo caught; exit 7' INT TERM; echo on; while :; do sleep 0.01; done");
    let killed = begun(&world, &workspace, &endless).await;
    until_printed(&world, &killed, "on").await;
    assert_eq!(kill(&killed, json!({})).await["status"], "ended");
    let (_, polled) = told(world.get(&killed)).await;
    assert_eq!(polled["result"]["verdict"], "cancelled", "{polled}");
    assert_eq!(kill(&killed, json!({})).await["status"], "ended", "twice is no error");
    let asked = begun(&world, &workspace, &endless).await;
    until_printed(&world, &asked, "on").await;
    kill(&asked, json!({"signal": "TERM", "grace": 30})).await;
    let (_, polled) = told(world.get(&asked)).await;
    assert_eq!(polled["result"]["exit_code"], 7, "{polled}");
    let deaf = sh("trap '' TERM; echo on; while :; do sleep 0.01; done");
    let deaf = begun(&world, &workspace, &deaf).await;
    until_printed(&world, &deaf, "on").await;
    kill(&deaf, json!({"signal": "TERM", "grace": 0.1})).await;
    assert_eq!(until_ended(&world, &deaf).await["result"]["verdict"], "cancelled");
    let interrupted = begun(&world, &workspace, &endless).await;
    until_printed(&world, &interrupted, "on").await;
    kill(&interrupted, json!({"signal": "INT"})).await;
    assert_eq!(until_ended(&world, &interrupted).await["result"]["exit_code"], 7);
    for (body, field) in [(json!({"signal": "HUP"}), "signal"), (json!({"grace": -1}), "grace")] {
        let (status, problem) = told(world.post(&format!("{killed}/kill"), &body)).await;
        assert_eq!((status, &problem["field"]), (400, &json!(field)));
    }
    world.stop().await;
}

async fn running(world: &World) -> u64 {
    told(world.get("/v1/status")).await.1["programs"]["running"].as_u64().unwrap()
}

async fn until_nothing_runs(world: &World) {
    in_time(async {
        while running(world).await > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_program_and_a_workspace_takes_its_programs_with_it() {
    let Some(world) = World::new().await else { return };
    let workspace = world.workspace("job").await;
    let endless = sh("touch work/on; while :; do sleep 0.01; done");
    let waiting = tokio::spawn(world.post(&format!("{workspace}/programs"), &endless).send());
    in_time(async {
        while told(world.ask("DELETE", &world.admin, &format!("{workspace}/files/work/on"))).await.0 != 204 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(running(&world).await, 1);
    waiting.abort();
    until_nothing_runs(&world).await;
    let kept = begun(&world, &workspace, &endless).await;
    assert_eq!(told(world.ask("DELETE", &world.admin, &workspace)).await.0, 204);
    assert_eq!(told(world.get(&kept)).await.1["result"]["verdict"], "cancelled");
    assert_eq!(told(world.get(&workspace)).await.0, 404);
    world.stop().await;
}

#[tokio::test]
async fn programs_wait_in_the_queue_and_those_talked_to_leave_room_for_others() {
    let Some(world) = World::with(|options| {
        options.limits.concurrency = 2;
        // A token has half of them.
        options.limits.programs = 8;
    })
    .await
    else {
        return;
    };
    let workspace = world.workspace("job").await;
    let shell = json!({"command": "cat", "interactive": true});
    let talked_to = begun(&world, &workspace, &shell).await;
    let (status, problem) = told(world.post(&format!("{workspace}/programs"), &shell)).await;
    assert_eq!((status, &problem["code"]), (429, &json!("queue-full")), "half of the places at most");
    let first = begun(&world, &workspace, &sh("sleep 60")).await;
    let second = begun(&world, &workspace, &sh("echo ran")).await;
    let never = begun(&world, &workspace, &sh("echo ran")).await;
    assert_eq!(told(world.get(&second)).await.1["status"], "waiting");
    assert_eq!(told(world.get("/v1/status")).await.1["runs"]["waiting"], 2);
    let (status, problem) = told(world.post(&format!("{workspace}/programs"), &sh("true"))).await;
    assert_eq!((status, &problem["code"]), (429, &json!("queue-full")), "{problem}");
    told(world.post(&format!("{never}/kill"), &json!({}))).await;
    let (_, polled) = told(world.get(&never)).await;
    assert_eq!((&polled["status"], &polled["output"]), (&json!("ended"), &json!("")));
    // One that has ended makes room in the list, but not in the queue.
    let third = begun(&world, &workspace, &sh("echo ran")).await;
    assert_eq!(told(world.get(&never)).await.0, 404);
    told(world.post(&format!("{first}/kill"), &json!({}))).await;
    for program in [&second, &third] {
        assert_eq!(until_ended(&world, program).await["result"]["stdout"], "ran\n");
    }
    assert_eq!(told(world.get(&talked_to)).await.1["status"], "running");
    world.stop().await;
}

#[tokio::test]
async fn a_token_sees_its_own_programs_and_has_its_own_limits() {
    let Some(world) = World::new().await else { return };
    let limits = TokenLimits { max_timeout_sec: Some(0.2), ..TokenLimits::default() };
    let [mine, theirs] = [world.token(Scope::Run, limits), world.token(Scope::Run, TokenLimits::default())];
    let reader = world.token(Scope::Read, TokenLimits::default());
    told(world.post_as(&mine, "/v1/workspaces", &json!({"name": "job"}))).await;
    let path = "/v1/workspaces/job/programs";
    let (_, result) = told(world.post_as(&mine, path, &sh("sleep 60"))).await;
    assert_eq!(result["timed_out"], true, "{result}");
    let long = json!({"command": "true", "timeout": 1});
    let (status, problem) = told(world.post_as(&mine, path, &long)).await;
    assert_eq!((status, &problem["field"]), (400, &json!("timeout")));
    let later = world.post_as(&mine, path, &sh("echo mine")).header("prefer", "respond-async");
    let (_, made) = told(later).await;
    let program = format!("/v1/programs/{}", made["id"].as_str().unwrap());
    let everything =
        [("GET", ""), ("DELETE", ""), ("POST", "/input"), ("POST", "/resize"), ("POST", "/kill")];
    for (method, rest) in everything {
        let path = format!("{program}{rest}");
        assert_eq!(told(world.ask(method, &theirs, &path).json(&json!({}))).await.0, 404, "{method} {path}");
        let status = if method == "GET" { 200 } else { 403 };
        assert_eq!(
            told(world.ask(method, &reader, &path).json(&json!({}))).await.0,
            status,
            "{method} {path}"
        );
    }
    assert_eq!(told(world.ask("GET", &theirs, "/v1/programs")).await.1["programs"], json!([]));
    assert_eq!(told(world.ask("GET", &mine, &program)).await.0, 200);
    assert_eq!(told(world.get(&program)).await.0, 200);
    world.stop().await;
}

#[tokio::test]
async fn one_that_nobody_uses_ends() {
    let Some(world) = World::new().await else { return };
    let workspace = world.workspace("job").await;
    let body = json!({"command": "cat", "interactive": true, "idle_timeout_sec": 0.1});
    let (status, _) = told(world.post(&format!("{workspace}/programs"), &body)).await;
    assert_eq!(status, 201);
    until_nothing_runs(&world).await;
    let (_, listed) = told(world.get("/v1/programs")).await;
    assert_eq!(listed["programs"][0]["status"], "ended");
    let body = json!({"command": "cat", "interactive": true, "idle_timeout_sec": 1e6});
    let (status, problem) = told(world.post(&format!("{workspace}/programs"), &body)).await;
    assert_eq!((status, &problem["field"]), (400, &json!("idle_timeout_sec")));
    world.stop().await;
}

#[tokio::test]
async fn a_server_that_ends_lets_programs_end_and_ends_the_rest() {
    let Some(mut world) = World::with(|options| options.limits.drain = Duration::from_secs(60)).await else {
        return;
    };
    let workspace = world.workspace("job").await;
    let shell = json!({"command": "cat", "interactive": true});
    begun(&world, &workspace, &shell).await;
    let slow = sh("touch work/on; while [ -e work/on ]; do sleep 0.01; done; echo to the end");
    let waiting = tokio::spawn(world.post(&format!("{workspace}/programs"), &slow).send());
    let started = async {
        while told(world.get(&format!("{workspace}/files/work/on"))).await.0 != 200 {
            tokio::task::yield_now().await;
        }
    };
    in_time(started).await;
    world.begin_to_stop();
    in_time(async {
        while told(world.http.get(format!("{}/readyz", world.url))).await.0 != 503 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(told(world.post(&format!("{workspace}/programs"), &sh("true"))).await.0, 503);
    assert_eq!(told(world.post("/v1/workspaces", &json!({}))).await.0, 503);
    let file = format!("{workspace}/files/work/on");
    assert_eq!(told(world.ask("DELETE", &world.admin, &file)).await.0, 204);
    let result: Value = in_time(in_time(waiting).await.unwrap().unwrap().json()).await.unwrap();
    assert_eq!(result["stdout"], "to the end\n", "{result}");
    world.stopped().await;
    // One that does not end by itself is ended.
    let Some(mut world) = World::with(|options| options.limits.drain = Duration::from_millis(50)).await
    else {
        return;
    };
    let workspace = world.workspace("job").await;
    let endless = sh("touch work/on; while :; do sleep 0.01; done");
    let waiting = tokio::spawn(world.post(&format!("{workspace}/programs"), &endless).send());
    let started = async {
        while told(world.get(&format!("{workspace}/files/work/on"))).await.0 != 200 {
            tokio::task::yield_now().await;
        }
    };
    in_time(started).await;
    world.begin_to_stop();
    let result: Value = in_time(in_time(waiting).await.unwrap().unwrap().json()).await.unwrap();
    assert_eq!(result["verdict"], "cancelled", "{result}");
    world.stopped().await;
}
