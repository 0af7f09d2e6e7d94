//! What a schema says beyond kinds and options, as words for a model.

use serde_json::Value;

use super::reader::Reader;
use crate::is_printable;
use crate::tool::error::cut;
use crate::tool::python::literal;
use crate::tool::validation::{MOST_PARAMETERS, check_size};

/// How long a stranger's description of a parameter may be, in bytes. The rest is cut off.
const LONGEST_DESCRIPTION: usize = 2 << 10;
/// How many fields of an object, or options of a list's items, are named.
const MOST_NAMED: usize = 20;
/// How deep the kind of a field is shown.
const LEVELS: usize = 3;

/// Bounds that a kind cannot say, with the words for them.
const BOUNDS: [(&str, &str); 10] = [
    ("minimum", "at least"),
    ("exclusiveMinimum", "more than"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "less than"),
    ("multipleOf", "a multiple of"),
    ("minLength", "shortest length"),
    ("maxLength", "longest length"),
    ("minItems", "fewest items"),
    ("maxItems", "most items"),
    ("pattern", "matches"),
];

/// The description of a parameter: the stranger's own words, then whatever its kind cannot say.
pub(super) fn description<'a>(reader: &mut Reader<'a>, schema: &'a Value) -> String {
    let layers = reader.layers(schema);
    let own = layers.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut parts = vec![readable(own, LONGEST_DESCRIPTION)];
    parts.extend(bounds(|key| layers.get(key)));
    parts.extend(fields(reader, schema).map(|fields| format!("Keys: {fields}.")));
    if let Some(items) = layers.get("items") {
        parts.extend(fields(reader, items).map(|fields| format!("Each item has the keys {fields}.")));
        let options = reader.read(items, 2).options;
        if !options.is_empty() {
            parts.push(format!("Each item is one of {}.", named(options.iter().map(literal))));
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn bounds<'a>(get: impl Fn(&str) -> Option<&'a Value>) -> Option<String> {
    let said = BOUNDS.iter().filter_map(|(key, words)| {
        let value =
            get(key).filter(|value| (value.is_number() || value.is_string()) && check_size(value).is_ok())?;
        Some(format!("{words} {}", cut(&literal(value))))
    });
    // Of numbers it only says how a program would store them.
    let is_text = get("type").is_none_or(|kind| kind == "string");
    let format = get("format").filter(|_| is_text).and_then(Value::as_str);
    let format = format.map(|format| format!("format {}", cut(format)));
    let said: Vec<_> = said.chain(format).collect();
    (!said.is_empty()).then(|| format!("({})", said.join(", ")))
}

/// The fields of an object: `city (str, required), radius (float)`.
fn fields<'a>(reader: &mut Reader<'a>, schema: &'a Value) -> Option<String> {
    let layers = reader.layers(schema);
    let properties = layers.get("properties")?.as_object().filter(|properties| !properties.is_empty())?;
    let required: Vec<_> = layers
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(MOST_PARAMETERS)
        .collect();
    let is_required = |name: &str| required.iter().any(|one| *one == name);
    let described = properties.iter().take(MOST_NAMED + 1).map(|(name, schema)| {
        let kind = reader.read(schema, LEVELS).kind;
        format!("{} ({kind}{})", cut(name), if is_required(name) { ", required" } else { "" })
    });
    Some(named(described.collect::<Vec<_>>().into_iter()))
}

fn named(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<_> = items.take(MOST_NAMED + 1).map(|item| cut(&item)).collect();
    if items.len() > MOST_NAMED {
        items[MOST_NAMED] = "…".to_owned();
    }
    items.join(", ")
}

/// A stranger's text, or its beginning. Characters that nobody sees are left out: they could tell a
/// model what no reader would know of.
pub(super) fn readable(text: &str, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mut seen: String =
        text[..end].chars().filter(|c| is_printable(*c) || matches!(c, '\n' | '\t')).collect();
    if end < text.len() {
        seen.push('…');
    }
    seen
}
