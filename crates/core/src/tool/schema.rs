//! Tools as JSON Schema, in the forms that models' APIs take.
//!
//! | form | shape |
//! |---|---|
//! | OpenAI | `{"type": "function", "function": {name, description, parameters}}` |
//! | Anthropic | `{name, description, input_schema}` |
//! | MCP | `{name, description, inputSchema}` |

use serde_json::{Map, Value, json};

use super::bytes;
use super::{Kind, Parameter, Tool, ToolSet};

impl Tool {
    /// A JSON Schema of its arguments, as [`check_arguments`](super::check_arguments) takes them.
    pub fn parameters_schema(&self) -> Value {
        let properties = self.parameters.iter().map(|one| (one.name.clone(), property(one)));
        let required: Vec<_> =
            self.parameters.iter().filter(|one| one.is_required()).map(|one| one.name.as_str()).collect();
        let mut schema = json!({
            "type": "object",
            "properties": properties.collect::<Map<_, _>>(),
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }

    /// The tool as OpenAI's API takes it.
    pub fn openai_form(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters_schema(),
            },
        })
    }

    /// The tool as OpenAI's API takes it in strict mode, where the model cannot get an argument
    /// wrong.
    ///
    /// Strict mode knows no parameter that can be left out. So each of those may be null, which
    /// [`check_arguments`](super::check_arguments) takes for left out. Strict mode knows no objects
    /// with free keys and no values of any kind either: a tool with such a parameter has no strict
    /// form.
    pub fn openai_strict_form(&self) -> Option<Value> {
        let is_strict = |one: &Parameter| has_strict_form(&one.kind);
        if !self.parameters.iter().all(is_strict) {
            return None;
        }
        let properties = self.parameters.iter().map(|one| (one.name.clone(), strict_property(one)));
        let names: Vec<_> = self.parameters.iter().map(|one| one.name.as_str()).collect();
        Some(json!({
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "strict": true,
                "parameters": {
                    "type": "object",
                    "properties": properties.collect::<Map<_, _>>(),
                    "required": names,
                    "additionalProperties": false,
                },
            },
        }))
    }

    /// The tool as Anthropic's API takes it.
    pub fn anthropic_form(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "input_schema": self.parameters_schema(),
        })
    }

    /// The tool as an MCP server lists it.
    pub fn mcp_form(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": self.parameters_schema(),
        })
    }
}

impl ToolSet {
    /// Every tool as OpenAI's API takes it.
    pub fn openai_forms(&self) -> Vec<Value> {
        self.iter().map(Tool::openai_form).collect()
    }

    /// Every tool as Anthropic's API takes it.
    pub fn anthropic_forms(&self) -> Vec<Value> {
        self.iter().map(Tool::anthropic_form).collect()
    }

    /// Every tool as an MCP server lists it.
    pub fn mcp_forms(&self) -> Vec<Value> {
        self.iter().map(Tool::mcp_form).collect()
    }
}

fn property(parameter: &Parameter) -> Value {
    let mut schema = typed(parameter, parameter.nullable);
    if !parameter.description.is_empty() {
        schema.insert("description".into(), parameter.description.as_str().into());
    }
    if let Some(default) = &parameter.default {
        schema.insert("default".into(), default.clone());
    }
    if !parameter.examples.is_empty() {
        schema.insert("examples".into(), parameter.examples.clone().into());
    }
    Value::Object(schema)
}

/// Strict mode knows no `default`, so the description says it.
fn strict_property(parameter: &Parameter) -> Value {
    let mut schema = typed(parameter, parameter.nullable || !parameter.is_required());
    let mut description = parameter.description.clone();
    if let Some(default) = parameter.default.as_ref().filter(|default| !default.is_null()) {
        description += if description.is_empty() { "" } else { " " };
        description += &format!("The default is {default}.");
    }
    if !description.is_empty() {
        schema.insert("description".into(), description.into());
    }
    Value::Object(schema)
}

fn typed(parameter: &Parameter, nullable: bool) -> Map<String, Value> {
    let mut schema = kind_schema(&parameter.kind);
    if nullable && let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
    }
    if !parameter.options.is_empty() {
        let mut options = parameter.options.clone();
        if nullable && !options.contains(&Value::Null) {
            options.push(Value::Null);
        }
        schema.insert("enum".into(), options.into());
    }
    schema
}

fn kind_schema(kind: &Kind) -> Map<String, Value> {
    let (name, inside) = match kind {
        Kind::Any => return Map::new(),
        Kind::Str => ("string", None),
        Kind::Int => ("integer", None),
        Kind::Float => ("number", None),
        Kind::Bool => ("boolean", None),
        Kind::Bytes => return bytes_schema(),
        Kind::List(item) => ("array", item.as_ref().map(|item| ("items", item))),
        Kind::Dict(item) => ("object", item.as_ref().map(|item| ("additionalProperties", item))),
    };
    let mut schema = Map::from_iter([("type".to_owned(), name.into())]);
    if let Some((key, item)) = inside {
        schema.insert(key.to_owned(), kind_schema(item).into());
    }
    schema
}

pub(super) fn bytes_schema() -> Map<String, Value> {
    let Value::Object(schema) = json!({
        "type": "object",
        "properties": {bytes::KEY: {"type": "string", "contentEncoding": "base64"}},
        "required": [bytes::KEY],
    }) else {
        unreachable!("it is an object")
    };
    schema
}

fn has_strict_form(kind: &Kind) -> bool {
    match kind {
        Kind::Str | Kind::Int | Kind::Float | Kind::Bool => true,
        Kind::List(Some(item)) => has_strict_form(item),
        Kind::List(None) | Kind::Dict(_) | Kind::Bytes | Kind::Any => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tool::tests::{search, several, tools};

    fn pretty(value: &impl serde::Serialize) -> String {
        serde_json::to_string_pretty(value).unwrap()
    }

    #[test]
    fn each_form_looks_like_this() {
        insta::assert_snapshot!("openai", pretty(&search().openai_form()));
        insta::assert_snapshot!("openai_strict", pretty(&search().openai_strict_form()));
        insta::assert_snapshot!("anthropic", pretty(&search().anthropic_form()));
        insta::assert_snapshot!("mcp", pretty(&several().mcp_forms()));
    }

    #[test]
    fn a_tool_with_free_keys_has_no_strict_form() {
        for kind in ["any", "dict", "dict[str, int]", "list", "list[any]"] {
            let tool = Tool::new("t", "").with_parameter(Parameter::new("x", kind.parse().unwrap()));
            assert_eq!(tool.openai_strict_form(), None, "{kind}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Everything but the order of what can be left out comes back from a schema.
        #[test]
        fn a_schema_is_read_back_as_the_parameters_it_was_written_from(tool in tools()) {
            let back = Tool::from_json_schema(&tool.name, &tool.description, &tool.parameters_schema());
            prop_assert_eq!(back.parameters.len(), tool.parameters.len());
            for parameter in &tool.parameters {
                let found = back.parameter(&parameter.name).unwrap();
                prop_assert_eq!(found.is_required(), parameter.is_required());
                prop_assert_eq!(&found.default, &parameter.default);
                prop_assert_eq!(&found.options, &parameter.options);
                prop_assert_eq!(&found.examples, &parameter.examples);
                let is_any = parameter.kind == Kind::Any;
                prop_assert!(is_any || found.kind == parameter.kind);
                prop_assert!(is_any || found.nullable == parameter.nullable);
            }
        }
    }
}
