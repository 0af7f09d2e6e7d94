//! Named, versioned files.

use belljar_server::{Scope, TokenLimits};
use belljar_testing::in_time;
use serde_json::{Value, json};

use crate::world::{World, told};

fn save(
    world: &World,
    token: &str,
    name: &str,
    content: impl Into<reqwest::Body>,
) -> reqwest::RequestBuilder {
    world
        .ask("POST", token, &format!("/v1/artifacts/{name}"))
        .header("content-type", "text/html")
        .body(content)
}

#[tokio::test]
async fn an_artifact_has_versions_which_stay_what_they_are() {
    let Some(world) = World::new().await else { return };
    for (version, content) in ["first", "second"].iter().enumerate() {
        let (status, info) = told(save(&world, &world.admin, "out%2Freport.html", *content)).await;
        assert_eq!((status, &info["version"]), (201, &json!(version)), "{info}");
        assert_eq!((&info["name"], &info["mime_type"]), (&json!("out/report.html"), &json!("text/html")));
    }
    let path = "/v1/artifacts/out%2Freport.html";
    let load = async |query: &str| in_time(world.get(&format!("{path}{query}")).send()).await.unwrap();
    let latest = load("").await;
    // A guest may have made it, so no browser shows it.
    assert_eq!(latest.headers()["content-type"], "application/octet-stream");
    assert_eq!(latest.headers()["content-disposition"], "attachment");
    assert_eq!(latest.headers()["belljar-media-type"], "text/html");
    assert_eq!(latest.headers()["belljar-version"], "1");
    assert_eq!(in_time(latest.text()).await.unwrap(), "second");
    assert_eq!(in_time(load("?version=0").await.text()).await.unwrap(), "first");
    assert_eq!(load("?version=2").await.status().as_u16(), 404);
    assert_eq!(load("?version=x").await.status().as_u16(), 400);
    assert_eq!(told(world.get(&format!("{path}/versions"))).await.1["versions"], json!([0, 1]));
    let (_, listed) = told(world.get("/v1/artifacts")).await;
    assert_eq!(listed["artifacts"][0]["name"], "out/report.html");
    let long = "x".repeat(256);
    assert_eq!(told(save(&world, &world.admin, &long, "x")).await.1["field"], "name");
    let state = world.stop().await;
    let Some(world) = World::on(state, |_| {}).await else { return };
    let owner = listed["artifacts"][0]["owner"].as_str().unwrap();
    let theirs = format!("{path}?owner={owner}");
    let answer = in_time(world.get(&theirs).send()).await.unwrap();
    assert_eq!(in_time(answer.text()).await.unwrap(), "second", "they outlive the server");
    assert_eq!(told(world.ask("DELETE", &world.admin, &theirs)).await.0, 204);
    assert_eq!(told(world.get(&theirs)).await.0, 404);
    assert_eq!(told(world.ask("DELETE", &world.admin, &theirs)).await.0, 404);
    world.stop().await;
}

#[tokio::test]
async fn artifacts_of_another_cannot_be_seen_and_there_is_only_so_much_room() {
    let Some(world) = World::with(|options| options.limits.artifact_bytes = 100_000).await else { return };
    let [mine, theirs, reader] =
        [Scope::Run, Scope::Run, Scope::Read].map(|scope| world.token(scope, TokenLimits::default()));
    assert_eq!(told(save(&world, &mine, "a.txt", "mine")).await.0, 201);
    let owner = mine.split('_').nth(1).unwrap();
    for path in ["/v1/artifacts/a.txt".to_owned(), format!("/v1/artifacts/a.txt?owner={owner}")] {
        for method in ["GET", "DELETE"] {
            assert_eq!(told(world.ask(method, &theirs, &path)).await.0, 404, "{method} {path}");
        }
    }
    for path in ["/v1/artifacts/a.txt?owner=..", "/v1/artifacts/a.txt?owner=", "/v1/artifacts/..%2Fx"] {
        assert_eq!(told(world.get(path)).await.0, 404, "{path}");
    }
    assert_eq!(told(world.ask("GET", &theirs, "/v1/artifacts")).await.1["artifacts"], json!([]));
    let (_, listed) = told(world.ask("GET", &reader, "/v1/artifacts")).await;
    assert_eq!(listed["artifacts"], json!([{"name": "a.txt", "owner": owner}]));
    assert_eq!(told(save(&world, &reader, "b.txt", "x")).await.0, 403);
    let remove = world.ask("DELETE", &reader, &format!("/v1/artifacts/a.txt?owner={owner}"));
    assert_eq!(told(remove).await.0, 403);
    let (status, problem): (u16, Value) = told(save(&world, &mine, "b.txt", vec![b'x'; 200_000])).await;
    assert_eq!((status, &problem["code"]), (413, &json!("no-room")));
    assert_eq!(told(world.ask("GET", &mine, "/v1/artifacts/b.txt")).await.0, 404, "no half of it stays");
    assert_eq!(told(save(&world, &theirs, "b.txt", vec![b'x'; 50_000])).await.0, 201);
    world.stop().await;
}
