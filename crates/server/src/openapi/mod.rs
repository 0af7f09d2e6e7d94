//! What clients can ask for, as an OpenAPI document (3.1).
//!
//! ```text
//!  handler with #[utoipa::path] ──routes!──► router
//!                                    └─────► document ──complete──► GET /openapi.json
//!                                                            └────► docs/reference/openapi.json
//! ```
//!
//! A path is written once, at its handler, and both the router and the document have it from there.
//! What answers look like is said by the types that are answered with. [`request`], [`result`] and
//! [`event`] describe types of the library, which writes its JSON by hand. Tests compare them, and
//! every answer that tests get is compared with the document.
//!
//! [`request`]: self::request
//! [`result`]: self::result
//! [`event`]: self::event

pub(crate) mod event;
pub(crate) mod request;
pub(crate) mod result;

use std::sync::Arc;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use utoipa::{PartialSchema, ToSchema};

use crate::problem::Written;
use crate::state::App;

/// Where the document is.
pub(crate) const PATH: &str = "/openapi.json";

/// What has no form that JSON could describe.
const BYTES: &str = "application/octet-stream";

/// What may be asked without a token.
const PUBLIC: [&str; 2] = ["/healthz", "/readyz"];

/// The routes of graders answer in the words of others, also when they refuse.
const IN_WORDS_OF_OTHERS: [&str; 2] = ["/run_code", "/api/v2/"];

/// The document of this version, as text. It ends with a newline.
pub fn openapi() -> String {
    let collected = crate::serve::described().into_openapi();
    let mut text = serde_json::to_string_pretty(&complete(&collected)).unwrap_or_default();
    text.push('\n');
    text
}

/// Serves the document. It has no data in it, so it needs no token.
pub(crate) fn routes(collected: &OpenApi) -> Router<Arc<App>> {
    let text: Arc<str> = complete(collected).to_string().into();
    let answer = async move || ([(CONTENT_TYPE, "application/json")], text.to_string()).into_response();
    Router::new().route(PATH, get(answer))
}

/// Adds what is the same for all paths: what it is, who may ask, and how something is refused.
fn complete(collected: &OpenApi) -> Value {
    let mut document = serde_json::to_value(collected).unwrap_or_default();
    document["openapi"] = json!("3.1.0");
    document["info"] = json!({
        "title": "Belljar",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Runs code that a language model wrote, each time in a fresh sandbox.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    });
    document["servers"] = json!([{"url": "/", "description": "the server that this comes from"}]);
    document["security"] = json!([{"token": []}]);
    let components = &mut document["components"];
    components["securitySchemes"] = json!({
        "token": {"type": "http", "scheme": "bearer", "description": "`belljar token new` makes one"},
    });
    components["schemas"][&*Written::name()] = serde_json::to_value(Written::schema()).unwrap_or_default();
    components["responses"] = json!({"Problem": {
        "description": "What was asked for was not done. `code` says why, for programs.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }});
    let paths = document["paths"].as_object_mut().map(std::mem::take).unwrap_or_default();
    let complete = |(path, mut item): (String, Value)| {
        let operations = item.as_object_mut().into_iter().flat_map(Map::values_mut);
        operations.for_each(|operation| complete_operation(&path, operation));
        // The rest of a path is one parameter like any other, to OpenAPI.
        (path.replace("{*", "{"), item)
    };
    document["paths"] = paths.into_iter().map(complete).collect::<Map<_, _>>().into();
    document
}

fn complete_operation(path: &str, operation: &mut Value) {
    // What `Vec<u8>` is in JSON is not meant.
    let bytes = json!({"type": "string", "format": "binary"});
    for place in ["/requestBody/content", "/responses/200/content"] {
        let content = operation.pointer_mut(place).and_then(|content| content.get_mut(BYTES));
        content.into_iter().for_each(|content| content["schema"] = bytes.clone());
    }
    if path.contains("{*path}") {
        let rest = json!({"name": "path", "in": "path", "required": true, "schema": {"type": "string"}});
        operation["parameters"].as_array_mut().into_iter().for_each(|known| known.push(rest.clone()));
    }
    if PUBLIC.contains(&path) {
        operation["security"] = json!([]);
    }
    let refusal = match IN_WORDS_OF_OTHERS.iter().any(|other| path.starts_with(other)) {
        true => json!({"description": "what was asked for was not done"}),
        false => json!({"$ref": "#/components/responses/Problem"}),
    };
    if operation["responses"]["default"].is_null() {
        operation["responses"]["default"] = refusal;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn document() -> Value {
        serde_json::from_str(&openapi()).unwrap()
    }

    fn operations(document: &Value) -> Vec<(String, &Value)> {
        let paths = document["paths"].as_object().unwrap();
        let mut all = Vec::new();
        for (path, item) in paths {
            for (method, told) in item.as_object().unwrap() {
                all.push((format!("{method} {path}"), told));
            }
        }
        all
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_and_says_what_it_does() {
        let document = document();
        let mut names = BTreeSet::new();
        for (place, told) in operations(&document) {
            let name = told["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{place}: {name} is the name of another");
            assert!(told["summary"].as_str().is_some_and(|text| !text.is_empty()), "{place}");
            assert!(told["tags"].as_array().is_some_and(|tags| tags.len() == 1), "{place}: {}", told["tags"]);
        }
        assert!(names.len() > 40, "{names:?}");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn walk(document: &Value, value: &Value) {
            match value {
                Value::Object(fields) => {
                    if let Some(place) = fields.get("$ref").and_then(Value::as_str) {
                        let pointer = place.strip_prefix('#').unwrap();
                        assert!(document.pointer(pointer).is_some(), "{place}");
                    }
                    fields.values().for_each(|value| walk(document, value));
                }
                Value::Array(values) => values.iter().for_each(|value| walk(document, value)),
                _ => {}
            }
        }
        let document = document();
        walk(&document, &document);
    }

    #[test]
    fn every_parameter_of_a_path_is_described() {
        let document = document();
        for (place, told) in operations(&document) {
            let named: BTreeSet<_> =
                place.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
            let parameters = told["parameters"].as_array().into_iter().flatten();
            let described: BTreeSet<_> = parameters
                .filter(|parameter| parameter["in"] == "path")
                .filter_map(|parameter| parameter["name"].as_str())
                .collect();
            assert_eq!(described, named, "{place}");
        }
    }

    #[test]
    fn what_needs_no_token_is_what_the_guard_lets_in() {
        let document = document();
        for (place, told) in operations(&document) {
            let is_public = told["security"] == json!([]);
            let path = place.split_once(' ').unwrap().1;
            assert_eq!(is_public, PUBLIC.contains(&path), "{place}");
        }
    }

    /// `make reference` sets this.
    const WRITE: &str = "BELLJAR_WRITE_REFERENCE";

    #[test]
    fn generated_files_are_what_the_code_says() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(file, openapi()).unwrap();
        }
        let kept = std::fs::read_to_string(file).unwrap_or_default();
        assert!(
            kept == openapi(),
            "docs/reference/openapi.json is not what the code says: run `make reference` and look at the diff"
        );
    }
}
