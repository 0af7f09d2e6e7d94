//! Tools that others describe: an MCP server, or a type's JSON Schema.
//!
//! A schema may say much more than a parameter can, and a stranger's schema may say anything. What
//! is understood becomes kinds, options and defaults. What is not becomes `any` and a note in the
//! description, and the owner of the tool checks it. Nothing here fails, and the work is bounded:
//! references may form circles, and a small schema can describe a huge tree.
//!
//! * `reader`: the kind, options and default that a schema stands for.
//! * `notes`: what else it says, as words for a model.

mod notes;
mod reader;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::names::{check_identifier, safe_parameter_name};
use super::validation::{LONGEST_ORIGINAL, MOST_PARAMETERS};
use super::{Parameter, Tool};
use reader::Reader;

/// How long a stranger's description of a tool may be, in bytes. The rest is cut off.
const LONGEST_DESCRIPTION: usize = 8 << 10;

impl Tool {
    /// A tool whose parameters are the properties of a JSON Schema.
    ///
    /// Required ones come first, in the order of the schema's `required`. The others have no order
    /// in a schema, so they can be given by name alone. A property whose name is not a Python
    /// identifier gets one that is, and keeps its own as
    /// [`original_name`](Parameter::original_name). Properties with good names never lose them to
    /// others.
    ///
    /// The name is checked when the tool is added to a set. See
    /// [`safe_tool_name`](super::safe_tool_name) for a stranger's.
    pub fn from_json_schema(name: impl Into<String>, description: &str, schema: &Value) -> Self {
        let mut reader = Reader::new(schema);
        let properties = reader.properties();
        let is_good = |(name, _): &&(&str, reader::Property)| check_identifier(name).is_ok();
        let mut taken: BTreeSet<String> =
            properties.iter().filter(is_good).map(|(name, _)| (*name).to_owned()).collect();
        let mut parameters = Vec::with_capacity(properties.len());
        for (original, property) in properties {
            let name = match check_identifier(original) {
                Ok(()) => original.to_owned(),
                Err(_) => safe_parameter_name(original, |name| taken.contains(name)),
            };
            taken.insert(name.clone());
            let original_name = (name != original).then(|| original.to_owned());
            parameters.push(Parameter { original_name, ..reader.parameter(name, &property) });
        }
        Self { parameters, ..Self::new(name, notes::readable(description, LONGEST_DESCRIPTION)) }
    }
}

impl<'a> Reader<'a> {
    /// The properties of the whole schema, required ones first. A union's properties are all there,
    /// because one of its variants may need them, and none of them is required.
    fn properties(&mut self) -> Vec<(&'a str, reader::Property<'a>)> {
        let root = self.layers(self.root);
        let variants = root.union().into_iter().flatten().take(reader::MOST_VARIANTS);
        let variants: Vec<_> = variants.flat_map(|variant| self.layers(variant).maps).collect();
        let of = |maps: &[&'a Map<String, Value>]| -> Vec<(&'a str, &'a Value)> {
            let inside = maps.iter().filter_map(|map| map.get("properties")?.as_object());
            inside.flatten().map(|(name, schema)| (name.as_str(), schema)).collect()
        };
        let own = of(&root.maps);
        let required = root.maps.iter().filter_map(|map| map.get("required")?.as_array()).flatten();
        let mut found: Vec<(&str, reader::Property)> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut add = |name: &'a str, schema: Option<&'a Value>, required: bool| {
            if found.len() < MOST_PARAMETERS && name.len() <= LONGEST_ORIGINAL && seen.insert(name) {
                found.push((name, reader::Property { schema, required }));
            }
        };
        // The first of several properties of one name counts.
        let schemas: std::collections::BTreeMap<_, _> = own.iter().rev().copied().collect();
        for name in required.filter_map(Value::as_str) {
            add(name, schemas.get(name).copied(), true);
        }
        for (name, schema) in own.iter().chain(&of(&variants)) {
            add(name, Some(schema), false);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::tool::ToolSet;
    use crate::tool::tests::any_json;

    fn prompt(schema: &Value) -> String {
        let tool = Tool::from_json_schema("t", "", schema);
        let mut set = ToolSet::new();
        set.add(tool).unwrap();
        set.prompt().lines().skip(3).collect::<Vec<_>>().join("\n")
    }

    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Search {
        /// What to look for.
        query: String,
        order: Option<Order>,
        #[schemars(range(min = 1, max = 100))]
        limit: Option<u32>,
        tags: Vec<String>,
        within: Area,
        prices: BTreeMap<String, f64>,
        more: Option<Box<Search>>,
        how: Mode,
    }

    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Order {
        /// Smallest first.
        Asc,
        /// Largest first.
        Desc,
    }

    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Mode {
        Fast,
        Thorough,
    }

    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Area {
        city: String,
        radius: Option<f64>,
    }

    #[test]
    fn a_types_schema_becomes_these_parameters() {
        insta::assert_snapshot!(prompt(schemars::schema_for!(Search).as_value()));
    }

    #[test]
    fn a_servers_schema_becomes_these_parameters() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "owner": {"type": "string", "description": "Account\u{202e} of the\nrepository"},
                "issue-number": {"type": "number", "examples": [7]},
                "issue_number": {"type": "string"},
                "class": {"type": ["string", "null"], "default": null},
                "state": {"enum": ["open", "closed", null], "default": "open"},
                "labels": {"type": "array", "items": {"enum": ["bug", "docs"]}, "maxItems": 3},
                "assets": {"type": "array", "items": {"$ref": "#/definitions/asset"}},
                "ratio": {"type": "number", "enum": [0.5, 1], "exclusiveMinimum": 0},
                "version": {"const": 2},
                "any": true,
                "odd": {"type": "integer", "default": "x", "enum": []},
                "mixed": {"type": ["integer", "number"]},
                "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
                "meta": {"type": "object", "additionalProperties": {"type": "integer"}},
                "日本": {"type": "boolean"},
                "": {}
            },
            "required": ["owner", "issue-number", "undeclared", 3],
            "definitions": {"asset": {"properties": {"url": {"type": "string", "format": "uri"}}}}
        });
        insta::assert_snapshot!(prompt(&schema));
        let tool = Tool::from_json_schema("t", "", &schema);
        let renamed: Vec<_> = tool
            .parameters
            .iter()
            .filter_map(|parameter| Some((parameter.name.as_str(), parameter.original_name.as_deref()?)))
            .collect();
        assert_eq!(
            renamed,
            [
                ("issue_number_2", "issue-number"),
                ("parameter", ""),
                ("class_", "class"),
                ("parameter_2", "日本")
            ]
        );
    }

    #[test]
    fn circles_depth_and_size_end_in_any() {
        let deep =
            (0..100).fold(json!({"type": "string"}), |item, _| json!({"type": "array", "items": item}));
        let wide: Map<_, _> = (0..5000).map(|number| (format!("p{number}"), json!({}))).collect();
        let twice = json!({"anyOf": [{"$ref": "#/x"}, {"$ref": "#/x"}, {"items": {"$ref": "#/x"}}]});
        let own_part = json!({"allOf": [{"$ref": "#/a"}, {"$ref": "#/a"}]});
        let lists = "list[list[list[list[list[list[list[list]]]]]]]";
        let own_item = json!({"type": "array", "items": {"$ref": "#/t"}});
        for (schema, kind) in [
            (json!({"$ref": "#"}), None),
            (json!({"properties": {"x": {"$ref": "#/properties/x"}}}), Some("any")),
            (json!({"properties": {"x": {"$ref": "#/a"}}, "a": own_part}), Some("any")),
            (json!({"properties": {"x": {"$ref": "#/x"}}, "x": twice}), Some("any")),
            (json!({"properties": {"x": {"$ref": "https://evil.example/x"}}}), Some("any")),
            (json!({"properties": {"x": {"$ref": "#/t"}}, "t": own_item}), Some(lists)),
            (json!({"properties": {"x": deep}}), Some(lists)),
            (json!({"properties": wide}), Some("any")),
            (json!({"properties": {"x": {"enum": vec!["a"; 100_000]}}}), Some("any")),
        ] {
            let tool = Tool::from_json_schema("t", "", &schema);
            assert_eq!(tool.validate(), Ok(()));
            assert!(tool.parameters.len() <= MOST_PARAMETERS);
            let found = tool.parameters.first().map(|parameter| parameter.kind.to_string());
            assert_eq!(found.as_deref(), kind);
        }
    }

    /// Followed to its end, this would be sixty-four unions of sixty-four at each of eight levels.
    #[test]
    fn a_schema_that_describes_a_huge_tree_is_left_unread() {
        let options: Vec<_> = (0..256).map(|number| format!("{number:0>400}")).collect();
        let variant = json!({"type": "array", "items": {"$ref": "#/x"}, "enum": options});
        let union = json!({"anyOf": vec![variant; 64], "allOf": vec![json!({"$ref": "#/x"}); 64]});
        let properties: Map<_, _> = (0..128).map(|n| (format!("p{n}"), json!({"$ref": "#/x"}))).collect();
        let before = std::time::Instant::now();
        let tool = Tool::from_json_schema("t", "", &json!({"properties": properties, "x": union}));
        assert_eq!(tool.validate(), Ok(()));
        assert!(before.elapsed().as_secs() < 10, "{:?}", before.elapsed());
    }

    #[test]
    fn parts_of_a_schema_are_put_together() {
        let schema = json!({
            "allOf": [
                {"$ref": "#/$defs/base"},
                {"properties": {"b": {"type": "integer"}, "a": {"type": "integer"}}, "required": ["b"]}
            ],
            "oneOf": [
                {"properties": {"c": {"type": "string"}}, "required": ["c"]},
                {"properties": {"d": {"type": "string"}}}
            ],
            "$defs": {"base": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}
        });
        assert_eq!(prompt(&schema), "t(a: str, b: int, *, c: str = ..., d: str = ...) -> ToolResponse");
        let fields = json!([{"required": ["a"]}, {"required": ["b"]}]);
        let schema = json!({"properties": {"x": {"type": "object", "anyOf": fields}}});
        assert_eq!(prompt(&schema), "t(*, x: dict = ...) -> ToolResponse");
    }

    /// JSON that has much in common with a schema.
    fn schemas() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "type",
            "properties",
            "items",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
            "enum",
            "const",
            "default",
            "required",
            "description",
            "additionalProperties",
            "examples",
            "minimum",
            "prefixItems",
            "a-b",
            "if",
        ]);
        let text = prop::sample::select(vec![
            "string",
            "integer",
            "number",
            "boolean",
            "array",
            "object",
            "null",
            "#",
            "#/properties/if",
            "#/items",
            "#/anyOf/0",
            "a-b",
            "if",
            "\u{202e}",
        ]);
        let leaf = prop_oneof![
            4 => text.prop_map(Value::from),
            1 => any_json(),
            1 => Just(json!(["string", "null"])),
            1 => Just(json!({})),
        ];
        leaf.prop_recursive(6, 64, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_becomes_a_valid_tool(
            schema in prop_oneof![schemas(), any_json()],
            description in ".{0,40}",
        ) {
            let inside = json!({"properties": {"x": schema.clone(), "if": schema.clone()}, "items": schema});
            for schema in [schema, inside] {
                let tool = Tool::from_json_schema("t", &description, &schema);
                prop_assert_eq!(tool.validate(), Ok(()));
            }
        }
    }
}
