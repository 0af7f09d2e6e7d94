//! Directories that stay, and what is in them.

use std::time::Duration;

use belljar_server::{Scope, TokenLimits};
use belljar_testing::in_time;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{World, told};

#[tokio::test]
async fn a_workspace_is_made_listed_shown_and_removed() {
    let Some(world) = World::new().await else { return };
    let make = |body: &Value| world.post("/v1/workspaces", body);
    let (status, made) = told(make(&json!({"name": "job-17", "max_disk_bytes": 1 << 20}))).await;
    assert_eq!((status, &made["name"], &made["max_disk_bytes"]), (201, &json!("job-17"), &json!(1 << 20)));
    let (status, problem) = told(make(&json!({"name": "job-17"}))).await;
    assert_eq!((status, &problem["code"], &problem["field"]), (409, &json!("conflict"), &json!("name")));
    for (body, field) in
        [(json!({"name": "../x"}), "name"), (json!({"name": 3}), "name"), (json!({"nmae": "x"}), "nmae")]
    {
        let (status, problem) = told(make(&body)).await;
        assert_eq!((status, &problem["field"]), (400, &json!(field)));
    }
    let (status, unnamed) = told(make(&json!({}))).await;
    assert_eq!(status, 201);
    let (_, listed) = told(world.get("/v1/workspaces")).await;
    let ids: Vec<_> = listed["workspaces"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&made["id"], &unnamed["id"]]);
    assert_eq!(world.put("/v1/workspaces/job-17/files/work/a.txt", "hello").await.0, 204);
    for id in ["job-17", made["id"].as_str().unwrap()] {
        let (_, without) = told(world.get(&format!("/v1/workspaces/{id}"))).await;
        assert_eq!(without["size_bytes"], json!(null), "it is counted only if that is asked for");
        let (status, shown) = told(world.get(&format!("/v1/workspaces/{id}?size=true"))).await;
        assert_eq!((status, &shown["id"], &shown["is_whole"]), (200, &made["id"], &json!(true)));
        assert!(shown["size_bytes"].as_u64().unwrap() >= 5, "{shown}");
    }
    assert_eq!(told(world.ask("DELETE", &world.admin, "/v1/workspaces/job-17")).await.0, 204);
    for path in ["", "/files", "/files/work/a.txt"] {
        assert_eq!(told(world.get(&format!("/v1/workspaces/job-17{path}"))).await.0, 404);
    }
    assert_eq!(told(world.ask("DELETE", &world.admin, "/v1/workspaces/job-17")).await.0, 404);
    let state = world.stop().await;
    let Some(world) = World::on(state, |_| {}).await else { return };
    let (_, listed) = told(world.get("/v1/workspaces")).await;
    assert_eq!(listed["workspaces"][0]["id"], unnamed["id"], "they outlive the server");
    world.stop().await;
}

#[tokio::test]
async fn files_go_in_and_out() {
    let Some(world) = World::new().await else { return };
    let path = world.workspace("job").await;
    let file = |name: &str| format!("{path}/files/{name}");
    assert_eq!(world.put(&file("in/data.bin"), vec![0u8, 255, 7]).await.0, 204);
    assert_eq!(world.put(&file("in/deep/er/b"), "b").await.0, 204);
    let read = in_time(world.get(&file("in/data.bin")).send()).await.unwrap();
    assert_eq!((read.status().as_u16(), &read.headers()["content-length"]), (200, &"3".parse().unwrap()));
    assert_eq!(read.headers()["content-disposition"], "attachment");
    assert_eq!(read.headers()["x-content-type-options"], "nosniff");
    assert_eq!(in_time(read.bytes()).await.unwrap(), vec![0u8, 255, 7]);
    let list = async |query: &str| {
        let (status, body) = told(world.get(&format!("{path}/files{query}"))).await;
        assert_eq!(status, 200, "{body}");
        let entries = body["files"].as_array().unwrap().clone();
        entries
            .iter()
            .map(|it| (it["path"].as_str().unwrap().to_owned(), it["kind"].clone()))
            .collect::<Vec<_>>()
    };
    assert!(list("").await.contains(&("in/data.bin".to_owned(), json!("file"))));
    let mut below = list("?path=in/deep").await;
    below.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(
        below,
        [("in/deep/er".to_owned(), json!("directory")), ("in/deep/er/b".to_owned(), json!("file"))]
    );
    assert_eq!(list("?limit=1").await.len(), 1);
    assert_eq!(told(world.get(&format!("{path}/files?limit=0"))).await.1["field"], "limit");
    assert_eq!(told(world.get(&format!("{path}/files?path=none"))).await.0, 404);
    for (name, status) in [("none", 404), ("in", 400), ("in/data.bin/x", 409)] {
        assert_eq!(told(world.get(&file(name))).await.0, status, "{name}");
    }
    let remove = async |name: &str| told(world.ask("DELETE", &world.admin, &file(name))).await.0;
    assert_eq!(remove("in/data.bin").await, 204);
    assert_eq!(remove("in/data.bin").await, 404);
    assert_eq!(remove("in/deep").await, 409, "a directory goes only if that is said");
    assert_eq!(remove("in/deep?recursive=true").await, 204);
    assert_eq!(list("?path=in").await, []);
    world.stop().await;
}

#[tokio::test]
async fn strangers_see_nothing_readers_change_nothing_and_admins_see_all() {
    let Some(world) = World::new().await else { return };
    let [mine, theirs, reader] =
        [Scope::Run, Scope::Run, Scope::Read].map(|scope| world.token(scope, TokenLimits::default()));
    let body = json!({"name": "job"});
    let (_, made) = told(world.post_as(&mine, "/v1/workspaces", &body)).await;
    let id = made["id"].as_str().unwrap();
    let path = format!("/v1/workspaces/{id}");
    let file = format!("{path}/files/work/a.txt");
    assert_eq!(told(world.ask("PUT", &mine, &file).body("mine")).await.0, 204);
    let everything = [
        ("GET", path.clone()),
        ("DELETE", path.clone()),
        ("GET", format!("{path}/files")),
        ("GET", file.clone()),
        ("PUT", file.clone()),
        ("DELETE", file.clone()),
        ("POST", format!("{path}/fork")),
        ("POST", format!("{path}/programs")),
    ];
    for (method, path) in &everything {
        let request = world.ask(method, &theirs, path).json(&json!({"command": "true"}));
        assert_eq!(told(request).await.0, 404, "{method} {path}");
    }
    let (_, listed) = told(world.ask("GET", &theirs, "/v1/workspaces")).await;
    assert_eq!(listed["workspaces"], json!([]));
    for (method, path) in &everything {
        let status = if *method == "GET" { 200 } else { 403 };
        let response = in_time(world.ask(method, &reader, path).send()).await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{method} {path}");
    }
    assert_eq!(told(world.post_as(&reader, "/v1/workspaces", &json!({}))).await.0, 403);
    // The same name is another workspace.
    assert_eq!(told(world.post_as(&theirs, "/v1/workspaces", &body)).await.0, 201);
    assert_eq!(told(world.ask("GET", &theirs, "/v1/workspaces/job/files/work/a.txt")).await.0, 404);
    let read = in_time(world.ask("GET", &mine, "/v1/workspaces/job/files/work/a.txt").send()).await.unwrap();
    assert_eq!(in_time(read.text()).await.unwrap(), "mine");
    let read = in_time(world.get(&file).send()).await.unwrap();
    assert_eq!(in_time(read.text()).await.unwrap(), "mine");
    let (_, listed) = told(world.get("/v1/workspaces")).await;
    assert_eq!(listed["workspaces"].as_array().unwrap().len(), 2);
    world.stop().await;
}

#[tokio::test]
async fn no_path_leads_out_of_a_workspace() {
    let Some(world) = World::new().await else { return };
    let path = world.workspace("job").await;
    let secret = world.state.path().join("secret.txt");
    std::fs::write(&secret, "secret").unwrap();
    let outside = secret.to_str().unwrap();
    for name in ["..%2f..%2fsecret.txt", "work%2f..%2f..%2f..%2fsecret.txt", "a%00b", "%2e%2e%2fx", "."] {
        for method in ["GET", "PUT", "DELETE"] {
            let request = world.ask(method, &world.admin, &format!("{path}/files/{name}"));
            let status = in_time(request.send()).await.unwrap().status().as_u16();
            assert!([400, 404, 405].contains(&status), "{method} {name}: {status}");
        }
    }
    // As no client writes it that knows what it does.
    let raw = async |target: String| {
        let mut stream = TcpStream::connect(world.url.strip_prefix("http://").unwrap()).await.unwrap();
        let head =
            format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n", world.admin);
        stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        in_time(stream.read_to_string(&mut answer)).await.unwrap();
        answer
    };
    for target in [format!("{path}/files/../../../secret.txt"), format!("{path}/files/{outside}")] {
        let answer = raw(target.clone()).await;
        assert!(answer.starts_with("HTTP/1.1 4") && !answer.contains("secret\""), "{target}: {answer}");
    }
    // Links that a program makes lead nowhere for the server.
    let script = format!("ln -s {outside} link; ln -s / root; mkfifo pipe; ln -s work inside");
    let body = json!({"command": "sh", "args": ["-c", script]});
    let (_, result) = told(world.post(&format!("{path}/programs"), &body)).await;
    assert_eq!(result["exit_code"], 0, "{result}");
    let file = |name: &str| format!("{path}/files/{name}");
    for name in ["link", &format!("root{outside}"), "root", "inside/x"] {
        let (status, problem) = told(world.get(&file(name))).await;
        assert_eq!((status, &problem["code"]), (409, &json!("conflict")), "{name}");
    }
    assert_eq!(told(world.get(&file("pipe"))).await.0, 400, "nobody waits for who writes into it");
    assert_eq!(told(world.get(&format!("{path}/files?path=root"))).await.0, 409);
    let through = format!("root{}/new.txt", world.state.path().display());
    assert_eq!(world.put(&file(&through), "x").await.0, 409);
    assert!(!world.state.path().join("new.txt").exists());
    let remove = world.ask("DELETE", &world.admin, &file(&format!("root{outside}?recursive=true")));
    assert_eq!(told(remove).await.0, 409);
    // Over a link: the link goes, and what it led to stays.
    assert_eq!(world.put(&file("link"), "ours").await.0, 204);
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(
        in_time(in_time(world.get(&file("link")).send()).await.unwrap().text()).await.unwrap(),
        "ours"
    );
    world.stop().await;
}

/// The most memory that this process has had, in MiB.
pub(crate) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

#[tokio::test]
async fn a_large_file_is_never_in_memory() {
    const PIECE: usize = 256 << 10;
    const PIECES: usize = 1024;
    let Some(world) = World::new().await else { return };
    let path = format!("{}/files/work/large.bin", world.workspace("job").await);
    let before = peak_memory();
    let piece = |number: usize| Bytes::from(vec![number as u8; PIECE]);
    let content = stream::iter(0..PIECES).map(move |number| Ok::<_, std::io::Error>(piece(number)));
    assert_eq!(world.put(&path, reqwest::Body::wrap_stream(content)).await.0, 204);
    let answer = in_time(world.get(&path).send()).await.unwrap();
    assert_eq!(answer.content_length(), Some((PIECE * PIECES) as u64));
    let (mut at, mut pieces) = (0, answer.bytes_stream());
    in_time(async {
        while let Some(bytes) = pieces.next().await {
            let mut bytes = bytes.unwrap();
            while !bytes.is_empty() {
                let same = bytes.split_to(bytes.len().min(PIECE - at % PIECE));
                assert!(same == piece(at / PIECE)[..same.len()], "at {at}");
                at += same.len();
            }
        }
    })
    .await;
    assert_eq!(at, PIECE * PIECES);
    // Client and server are both in this process.
    let grown = peak_memory() - before;
    assert!(grown < 64, "{grown} MiB for a file of {} MiB", (PIECE * PIECES) >> 20);
    world.stop().await;
}

#[tokio::test]
async fn an_upload_that_breaks_off_or_does_not_fit_leaves_what_was_there() {
    let Some(world) = World::with(|options| options.limits.workspaces = 2).await else { return };
    let small = json!({"name": "small", "max_disk_bytes": 1 << 20});
    assert_eq!(told(world.post("/v1/workspaces", &small)).await.0, 201);
    let path = "/v1/workspaces/small/files/work/a.txt";
    assert_eq!(world.put(path, "before").await.0, 204);
    let (status, problem) = world.put(path, vec![b'x'; 2 << 20]).await;
    assert_eq!((status, &problem["code"]), (413, &json!("no-room")));
    let failing = stream::iter([Ok(Bytes::from_static(b"half")), Err(std::io::Error::other("no more"))]);
    let request = world.ask("PUT", &world.admin, path).body(reqwest::Body::wrap_stream(failing));
    assert!(in_time(request.send()).await.is_err());
    let read = in_time(world.get(path).send()).await.unwrap();
    assert_eq!(in_time(read.text()).await.unwrap(), "before");
    let (_, files) = told(world.get("/v1/workspaces/small/files?path=work")).await;
    assert_eq!(files["files"].as_array().unwrap().len(), 1, "{files}");
    // A program is held to the same limit.
    let flood = json!({"command": "sh", "args": ["-c", "head -c 3000000 /dev/zero > work/zeros"]});
    let (_, result) = told(world.post("/v1/workspaces/small/programs", &flood)).await;
    assert_ne!(result["exit_code"], 0, "{result}");
    world.workspace("second").await;
    let (status, problem) = told(world.post("/v1/workspaces", &json!({"name": "third"}))).await;
    assert_eq!((status, &problem["code"]), (429, &json!("rate-limited")));
    assert_eq!(told(world.post("/v1/workspaces/small/fork", &json!({}))).await.0, 429);
    let other = world.token(Scope::Run, TokenLimits::default());
    assert_eq!(told(world.post_as(&other, "/v1/workspaces", &json!({}))).await.0, 201);
    world.stop().await;
}

#[tokio::test]
async fn a_fork_has_the_same_content_and_a_life_of_its_own() {
    let Some(world) = World::new().await else { return };
    let path = world.workspace("job").await;
    assert_eq!(world.put(&format!("{path}/files/work/a.txt"), "same").await.0, 204);
    let (status, twin) = told(world.post(&format!("{path}/fork"), &json!({"name": "twin"}))).await;
    assert_eq!((status, &twin["name"]), (201, &json!("twin")), "{twin}");
    assert_eq!(told(world.post(&format!("{path}/fork"), &json!({"name": "twin"}))).await.0, 409);
    assert_eq!(told(world.post(&format!("{path}/fork"), &json!({"nmae": "x"}))).await.1["field"], "nmae");
    let read = async |path: &str| {
        let answer = in_time(world.get(&format!("{path}/files/work/a.txt")).send()).await.unwrap();
        in_time(answer.text()).await.unwrap()
    };
    assert_eq!(read("/v1/workspaces/twin").await, "same");
    assert_eq!(world.put("/v1/workspaces/twin/files/work/a.txt", "other").await.0, 204);
    assert_eq!((read(&path).await, read("/v1/workspaces/twin").await), ("same".into(), "other".into()));
    world.stop().await;
}

#[tokio::test]
async fn there_are_only_so_many_files_on_their_way() {
    let Some(world) = World::with(|options| options.limits.transfers = 1).await else { return };
    let path = format!("{}/files/work/a", world.workspace("job").await);
    let (sender, pieces) = tokio::sync::mpsc::channel::<std::io::Result<Bytes>>(1);
    let pieces = stream::unfold(pieces, async |mut pieces| Some((pieces.recv().await?, pieces)));
    let slow = world.ask("PUT", &world.admin, &path).body(reqwest::Body::wrap_stream(Box::pin(pieces)));
    let slow = tokio::spawn(slow.send());
    sender.send(Ok(Bytes::from_static(b"be"))).await.unwrap();
    sender.send(Ok(Bytes::from_static(b"gun"))).await.unwrap();
    in_time(async {
        while told(world.get(&path)).await.0 != 429 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(sender);
    assert_eq!(in_time(slow).await.unwrap().unwrap().status().as_u16(), 204);
    let read = in_time(world.get(&path).timeout(Duration::from_secs(60)).send()).await.unwrap();
    assert_eq!(in_time(read.text()).await.unwrap(), "begun");
    world.stop().await;
}
