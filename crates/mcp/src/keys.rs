//! The values that a server was given to use, kept out of what it says.
//!
//! A server that fails likes to quote the request, with the key in it, and a script reads that.
//! This stops such accidents. A server that means to tell a script its key can: it need only write
//! it in another way.

use std::cmp::Reverse;
use std::sync::Arc;

use belljar_core::Secret;
use serde_json::{Map, Value};

use crate::server::{McpServer, Place};

/// Bytes of the shortest value that is hidden. A shorter one (`true`, `8080`) is part of ordinary
/// text by chance.
const SHORTEST: usize = 6;
const HIDDEN: &str = "***";
/// Bytes as a script reads them. They are base64, in which a short value may be by chance.
const BYTES: &str = "__bytes__";
/// Words of a schema that mean the same to everybody, and names of parameters.
const MEANT: [&str; 3] = ["type", "required", "$ref"];

/// Those values: of the environment of a process, or of the headers of a request. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys(Arc<Vec<Secret>>);

impl Keys {
    pub(crate) fn of(server: &McpServer) -> Self {
        let mut values: Vec<&str> = match &server.place {
            Place::Process { environment, .. } => environment.values().map(|value| value.expose()).collect(),
            // After `Bearer`, the key is alone.
            Place::Address { headers, .. } => headers
                .values()
                .map(|value| value.expose().trim())
                .flat_map(|value| [Some(value), value.split_once(' ').map(|(_, key)| key.trim())])
                .flatten()
                .collect(),
        };
        values.retain(|value| value.len() >= SHORTEST);
        // A value may begin with another one.
        values.sort_by_key(|value| Reverse(value.len()));
        Self(Arc::new(values.into_iter().map(Secret::new).collect()))
    }

    /// The text without them.
    pub(crate) fn hidden(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, key| match text.contains(key.expose()) {
            true => text.replace(key.expose(), HIDDEN),
            false => text,
        })
    }

    /// Hides them in all texts of an answer, and in the names in it.
    pub(crate) fn hide_in_answer(&self, value: &mut Value) {
        self.hide(value, &|name| name == BYTES);
        self.hide_in_names(value);
    }

    /// Hides them in what a schema says, but not in what it means.
    pub(crate) fn hide_in_schema(&self, schema: &mut Value) {
        self.hide(schema, &|name| MEANT.contains(&name));
    }

    fn hide(&self, value: &mut Value, is_left: &impl Fn(&str) -> bool) {
        match value {
            Value::String(text) if self.is_in(text) => *text = self.hidden(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide(value, is_left)),
            Value::Object(values) => values
                .iter_mut()
                .filter(|(name, value)| value.is_object() || !is_left(name))
                .for_each(|(_, value)| self.hide(value, is_left)),
            _ => {}
        }
    }

    fn hide_in_names(&self, value: &mut Value) {
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide_in_names(value)),
            Value::Object(values) => {
                values.values_mut().for_each(|value| self.hide_in_names(value));
                if values.keys().any(|name| self.is_in(name)) {
                    let named = std::mem::take(values).into_iter();
                    *values = named.map(|(name, value)| (self.hidden(&name), value)).collect::<Map<_, _>>();
                }
            }
            _ => {}
        }
    }

    fn is_in(&self, text: &str) -> bool {
        self.0.iter().any(|key| text.contains(key.expose()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_hidden_with_its_scheme_and_alone() {
        let server = McpServer::url("http://localhost")
            .header("Authorization", Secret::new("Bearer hunter2"))
            .header("X-Mode", Secret::new("fast"));
        let keys = Keys::of(&server);
        let said = "bad Bearer hunter2 (hunter2), Bearer of fast news";
        assert_eq!(keys.hidden(said), "bad *** (***), Bearer of fast news");
        let mut answer = json!({"a": ["xhunter2"], "hunter2": 1, "b": {"__bytes__": "hunter2="}});
        keys.hide_in_answer(&mut answer);
        assert_eq!(answer, json!({"a": ["x***"], "***": 1, "b": {"__bytes__": "hunter2="}}));
    }

    #[test]
    fn a_schema_means_what_it_meant() {
        let server = McpServer::command("a", ["b"]).env("KIND", Secret::new("string"));
        let mut schema = json!({"properties": {"string": {"type": "string", "description": "a string"}},
            "required": ["string"]});
        Keys::of(&server).hide_in_schema(&mut schema);
        let expected = json!({"properties": {"string": {"type": "string", "description": "a ***"}},
            "required": ["string"]});
        assert_eq!(schema, expected);
    }
}
