//! The type of a tool's arguments as the tool's parameters.

use belljar_core::tool::Tool;
use schemars::{JsonSchema, schema_for};
use serde::de::{DeserializeOwned, Deserializer, Visitor};

/// A tool with a parameter for each field of a struct.
pub(super) fn described<A: DeserializeOwned + JsonSchema>(name: String, description: &str) -> Tool {
    let mut tool = Tool::from_json_schema(name, description, schema_for!(A).as_value());
    // A schema has lost the order of the fields. With it, they can be given by position.
    let order = fields::<A>();
    let place = |name: &str| order.iter().position(|field| *field == name).unwrap_or(usize::MAX);
    tool.parameters.sort_by_key(|parameter| (!parameter.is_required(), place(parameter.original_name())));
    for parameter in &mut tool.parameters {
        parameter.keyword_only &= place(parameter.original_name()) == usize::MAX;
    }
    tool
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
    use belljar_core::tool::ToolSet;
    use serde::Deserialize;

    use super::*;

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
        let mut tools = ToolSet::new();
        tools.add(described::<Search>("search".into(), "Search the catalogue")).unwrap();
        let stubs = tools.stubs();
        let signature = "def search(query: str, tags: list[str], zone: str | None = None, limit: int = 10)";
        assert!(stubs.contains(signature) && stubs.contains("The words."), "{stubs}");
    }
}
