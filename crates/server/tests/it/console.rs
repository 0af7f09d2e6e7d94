//! The console: a page without data, held by a policy.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use belljar_testing::in_time;

use crate::world::{World, told};

const FILES: [(&str, &str); 4] = [
    ("/", "text/html; charset=utf-8"),
    ("/console/console.css", "text/css; charset=utf-8"),
    ("/console/main.js", "text/javascript; charset=utf-8"),
    ("/console/icon.svg", "image/svg+xml"),
];

/// The directives of a policy, by name.
fn directives(policy: &str) -> std::collections::BTreeMap<&str, &str> {
    policy.split(';').map(|it| it.trim().split_once(' ').unwrap_or((it.trim(), ""))).collect()
}

#[tokio::test]
async fn the_page_needs_no_token_and_its_policy_lets_nothing_in_or_out() {
    let Some(world) = World::new().await else { return };
    for (path, kind) in FILES {
        let answer = in_time(world.http.get(format!("{}{path}", world.url)).send()).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let headers = answer.headers();
        assert_eq!(headers["content-type"], kind, "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert!(!headers.contains_key("access-control-allow-origin") && !headers.contains_key("set-cookie"));
        let policy = headers["content-security-policy"].to_str().unwrap();
        let policy = directives(policy);
        for name in ["default-src", "base-uri", "form-action", "frame-ancestors", "frame-src"] {
            assert_eq!(policy[name], "'none'", "{name}");
        }
        for name in ["script-src", "style-src", "connect-src"] {
            assert_eq!(policy[name], "'self'", "{name}");
        }
        assert_eq!(policy["img-src"], "'self' data:");
        assert_eq!(policy["require-trusted-types-for"], "'script'");
    }
    world.stop().await;
}

#[tokio::test]
async fn the_page_opens_no_other_door() {
    let Some(world) = World::new().await else { return };
    let at = |method: &str, path: &str| {
        world.http.request(method.parse().unwrap(), format!("{}{path}", world.url))
    };
    for (method, path) in [
        ("GET", "/v1/status"),
        ("GET", "/console"),
        ("GET", "/console/"),
        ("GET", "/console/nothing.js"),
        ("GET", "//"),
        ("POST", "/"),
        ("PUT", "/console/main.js"),
        ("DELETE", "/console/main.js"),
        ("OPTIONS", "/"),
    ] {
        let (status, problem) = told(at(method, path)).await;
        assert_eq!((status, &problem["code"]), (401, &json!("unauthorized")), "{method} {path}");
    }
    let (status, problem) = told(world.post("/", &json!({}))).await;
    assert_eq!((status, &problem["code"]), (405, &json!("method-not-allowed")));
    let head = in_time(at("HEAD", "/").send()).await.unwrap();
    assert_eq!(head.status(), 200);
    for (name, value) in [("host", "evil.example"), ("origin", "http://evil.example")] {
        let (status, problem) = told(at("GET", "/").header(name, value)).await;
        assert_eq!((status, &problem["code"]), (403, &json!("wrong-origin")), "{name}");
    }
    world.stop().await;
}

/// A path as it stands: libraries tidy it up before they send it.
#[tokio::test]
async fn a_path_that_begins_as_the_page_does_leads_nowhere_else() {
    let Some(world) = World::new().await else { return };
    let address = world.url.strip_prefix("http://").unwrap();
    for path in
        ["/console/../v1/runs", "/console/%2e%2e/v1/runs", "/console/main.js/../../v1/runs", "/./v1/runs"]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        in_time(stream.read_to_string(&mut answer)).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 401"), "{path}: {answer}");
    }
    world.stop().await;
}
