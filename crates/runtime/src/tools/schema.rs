//! The type of a tool's arguments as a Python signature.

use belljar_engine::{HostParameter, HostToolFace};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde_json::Value;

/// What a script sees of a tool with such arguments.
pub(super) fn face<A: DeserializeOwned + JsonSchema>(name: String, description: &str) -> HostToolFace {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<A>().to_value();
    let none = serde_json::Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|known| known == name))
    };
    // Maps have lost the order of the fields.
    let order = fields::<A>();
    let mut names: Vec<&String> = properties.keys().collect();
    names.sort_by_key(|name| {
        let place = order.iter().position(|field| field == name).unwrap_or(usize::MAX);
        (!required(name), place)
    });
    let mut lines = vec![description.trim().to_owned()];
    let parameters = names
        .into_iter()
        .map(|name| {
            let property = &properties[name];
            if let Some(text) = property.get("description").and_then(Value::as_str) {
                lines.push(format!("{name}: {}", text.replace('\n', " ")));
            }
            HostParameter {
                name: name.clone(),
                annotation: annotation(property),
                default: property.get("default").cloned().unwrap_or_default(),
                required: required(name),
            }
        })
        .collect();
    if lines.len() > 1 {
        lines.insert(1, String::new());
    }
    HostToolFace { name, doc: lines.join("\n"), parameters, raises: false }
}

/// The kind of a value in Python, if it has one.
fn annotation(property: &Value) -> Option<String> {
    let kind = |name: &str| {
        Some(match name {
            "string" => "str",
            "integer" => "int",
            "number" => "float",
            "boolean" => "bool",
            "array" => "list",
            "object" => "dict",
            _ => return None,
        })
    };
    let found = match property.get("type")? {
        Value::String(name) => kind(name)?,
        // Optional ones may be null as well.
        Value::Array(names) => names.iter().filter_map(Value::as_str).find_map(kind)?,
        _ => return None,
    };
    Some(found.to_owned())
}

/// The names of a struct's fields, in order. Empty for anything else.
fn fields<A: DeserializeOwned>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    // It asks for its fields, and gets none.
    let _ = A::deserialize(Asked { found: &mut found });
    found
}

struct Asked<'a> {
    found: &'a mut &'static [&'static str],
}

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("only its fields are asked for"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.found = fields;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// What to look for.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape is looked at")]
    struct Search {
        /// The words.
        query: String,
        #[serde(default)]
        zone: Option<String>,
        #[serde(default = "ten")]
        limit: u32,
        tags: Vec<String>,
    }

    fn ten() -> u32 {
        10
    }

    #[test]
    fn a_struct_becomes_a_signature_in_the_order_of_its_fields() {
        let face = face::<Search>("search".into(), "Search the catalogue");
        let shown: Vec<_> = face
            .parameters
            .iter()
            .map(|part| {
                let kind = part.annotation.as_deref().unwrap_or("?");
                format!("{}: {kind} = {}{}", part.name, part.default, if part.required { "!" } else { "" })
            })
            .collect();
        assert_eq!(
            shown,
            ["query: str = null!", "tags: list = null!", "zone: str = null", "limit: int = 10"]
        );
        assert_eq!(face.doc, "Search the catalogue\n\nquery: The words.");
    }
}
