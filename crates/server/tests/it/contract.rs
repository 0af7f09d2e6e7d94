//! Compares what the server says with what its OpenAPI document says. Every answer that tests read
//! as JSON comes through here (`world::told`).

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::world::{World, lines, sse, told};

/// A request that is about to be sent.
pub(crate) struct Asked {
    method: String,
    path: String,
    body: Option<Value>,
}

impl Asked {
    pub(crate) fn of(request: &reqwest::Request) -> Self {
        let bytes = request.body().and_then(reqwest::Body::as_bytes);
        Self {
            method: request.method().as_str().to_ascii_lowercase(),
            path: request.url().path().to_owned(),
            body: bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()),
        }
    }

    /// # Panics
    ///
    /// If the answer is not described, or the request was good and is not described.
    pub(crate) fn is_answered_as_described(&self, status: u16, answer: &Value) {
        let Some((path, operation)) = operation(&self.method, &self.path) else {
            assert!(status >= 400 || self.path == "/mcp", "{} {} is not described", self.method, self.path);
            return;
        };
        let place = format!("{} {path}", self.method);
        let response = match &operation["responses"][status.to_string()] {
            Value::Null if status < 400 => panic!("{place}: {status} is not described"),
            Value::Null => &operation["responses"]["default"],
            found => found,
        };
        let is_success = status < 400;
        if let Some((kind, schema)) = schema_of(response, !is_success) {
            check(&format!("{place}: {status} as {kind}"), schema, answer);
        }
        let described = &operation["requestBody"]["content"]["application/json"]["schema"];
        if let (true, Some(body), true) = (is_success, &self.body, described.is_object()) {
            check(&format!("{place}: request"), described, body);
        }
    }
}

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let mut document: Value = serde_json::from_str(&belljar_server::openapi()).unwrap();
        close(&mut document["components"]["schemas"]);
        document
    })
}

/// Lets no answer have a field that is not described. Clients must bear those; this is how we learn
/// of them. Parts of other objects cannot be closed.
fn close(schemas: &mut Value) {
    let text = schemas.to_string();
    for (name, schema) in schemas.as_object_mut().unwrap() {
        let reference = format!("{{\"$ref\":\"#/components/schemas/{name}\"}}");
        let is_part = text.split("\"allOf\":[").skip(1).any(|parts| {
            let end = parts.find("],").or(parts.find(']')).unwrap_or(parts.len());
            parts[..end].contains(&reference)
        });
        if schema["properties"].is_object() && schema["additionalProperties"].is_null() && !is_part {
            schema["additionalProperties"] = json!(false);
        }
    }
}

/// The operation of a path, and the path as it is described.
fn operation(method: &str, path: &str) -> Option<(&'static str, &'static Value)> {
    let fits = |described: &str| {
        let (mut parts, mut described) = (path.split('/'), described.split('/').peekable());
        loop {
            match (parts.next(), described.next()) {
                (None, None) => return true,
                // The rest of a path is one parameter.
                (Some(_), Some("{path}")) if described.peek().is_none() => return true,
                (Some(part), Some(name)) if part == name || name.starts_with('{') => {}
                _ => return false,
            }
        }
    };
    let paths = document()["paths"].as_object().unwrap();
    // A name wins over a parameter.
    let mut found: Vec<_> = paths.iter().filter(|(described, _)| fits(described)).collect();
    found.sort_by_key(|(described, _)| described.matches('{').count());
    let (path, item) = found.first()?;
    item.get(method).map(|operation| (path.as_str(), operation))
}

fn schema_of(response: &'static Value, is_problem: bool) -> Option<(&'static str, &'static Value)> {
    let response = match response["$ref"].as_str() {
        Some(place) => document().pointer(place.trim_start_matches('#')).unwrap(),
        None => response,
    };
    let kind = if is_problem { "application/problem+json" } else { "application/json" };
    response["content"][kind].get("schema").map(|schema| (kind, schema))
}

fn check(place: &str, schema: &Value, value: &Value) {
    static VALIDATORS: Mutex<Option<HashMap<String, Validator>>> = Mutex::new(None);
    let mut known = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let validator = known.get_or_insert_default().entry(schema.to_string()).or_insert_with(|| {
        let mut whole = schema.clone();
        whole["components"] = document()["components"].clone();
        jsonschema::draft202012::new(&whole).unwrap_or_else(|error| panic!("{place}: {error}"))
    });
    let wrong: Vec<_> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{place} is not as described:\n{}\n{value}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_served_to_everybody_and_is_the_one_in_the_repository() {
    let Some(world) = World::new().await else { return };
    let response = world.http.get(format!("{}/openapi.json", world.url)).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let served: Value = response.json().await.unwrap();
    let kept: Value = serde_json::from_str(include_str!("../../../../docs/reference/openapi.json")).unwrap();
    assert_eq!(served, kept);
    assert_eq!(served["openapi"], "3.1.0");
    world.stop().await;
}

/// Every kind of event that a script can cause, in both forms of a stream.
#[tokio::test(flavor = "multi_thread")]
async fn events_are_as_described() {
    let Some(world) = World::new().await else { return };
    let script = "import sys\nprint(1)\nprint(2, file=sys.stderr)\nemit_log('a')\nemit_intermediate('b', [1])\n\
                  display({'text/plain': 'x'}, raw=True)\nopen('out.bin', 'wb').write(b'\\xff')\nraise ValueError('c')";
    let body = json!({"script": script, "collect": ["*.bin"], "files": [{"path": "in.txt", "text": "x"}]});
    let schema = json!({"$ref": "#/components/schemas/Event"});
    for accept in ["application/x-ndjson", "text/event-stream"] {
        let response = world.post("/v1/runs", &body).header("Accept", accept).send().await.unwrap();
        let text = response.text().await.unwrap();
        let events = match accept {
            "application/x-ndjson" => lines(&text),
            _ => sse(&text).into_iter().map(|(_, _, event)| event).collect(),
        };
        for event in &events {
            check(&format!("event {}", event["type"]), &schema, event);
        }
        let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        for kind in ["stdout", "stderr", "log", "intermediate", "display", "error", "ended"] {
            assert!(kinds.contains(&kind), "{kind} is not among {kinds:?}");
        }
    }
    let (status, result) = told(world.post("/v1/runs", &body)).await;
    assert_eq!((status, &result["verdict"]), (200, &json!("exception")));
    world.stop().await;
}

#[test]
fn a_field_that_is_not_described_is_found() {
    let asked = Asked { method: "get".into(), path: "/readyz".into(), body: None };
    asked.is_answered_as_described(200, &json!({"status": "ready"}));
    let wrong = std::panic::catch_unwind(|| {
        asked.is_answered_as_described(200, &json!({"status": "ready", "more": 1}));
    });
    assert!(wrong.is_err());
    let wrong = std::panic::catch_unwind(|| asked.is_answered_as_described(503, &json!({"status": "x"})));
    assert!(wrong.is_err(), "a refusal must be a problem");
}
