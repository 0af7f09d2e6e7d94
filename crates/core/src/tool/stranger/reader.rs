//! The kind, options and default that a schema stands for.
//!
//! A schema is read in *layers*: itself, what it refers to, and the parts it is put together from.
//! The outermost layer that says something is right: a description beside a `$ref` is about this
//! use of it. Every step costs fuel, and without fuel a schema says nothing, which is `any`.

use serde_json::{Map, Value};

use super::notes;
use crate::tool::bytes;
use crate::tool::parameter::is_same;
use crate::tool::validation::{MOST_VALUES, check_size};
use crate::tool::{Kind, Parameter};

/// How many steps one tool is worth.
const FUEL: usize = 20_000;
/// How deep kinds are followed. A kind may have that many levels.
const DEEPEST: usize = 8;
/// How many layers a schema has.
const MOST_LAYERS: usize = 32;
/// How many variants of a union are looked at.
pub(super) const MOST_VARIANTS: usize = 64;
/// How long a reference may be, in bytes.
const LONGEST_REFERENCE: usize = 512;
/// How many of a stranger's examples are kept.
const MOST_EXAMPLES: usize = 8;

/// Reads one tool's schema.
pub(super) struct Reader<'a> {
    pub(super) root: &'a Value,
    fuel: usize,
}

/// A property, perhaps one that is only said to be required.
pub(super) struct Property<'a> {
    pub(super) schema: Option<&'a Value>,
    pub(super) required: bool,
}

/// A schema with everything that it is put together from, the outermost first.
pub(super) struct Layers<'a> {
    pub(super) maps: Vec<&'a Map<String, Value>>,
    /// Whether it is one schema, or null.
    nullable: bool,
}

/// What a value may be.
pub(super) struct Said {
    pub(super) kind: Kind,
    pub(super) nullable: bool,
    pub(super) options: Vec<Value>,
}

impl Said {
    fn any() -> Self {
        Self { kind: Kind::Any, nullable: false, options: Vec::new() }
    }
}

impl<'a> Layers<'a> {
    /// What the outermost layer with that key says.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.maps.iter().find_map(|map| map.get(key))
    }

    /// The variants of the outermost union, without null. A schema or null is no union.
    pub(super) fn union(&self) -> Option<Vec<&'a Value>> {
        let unions = self.maps.iter().flat_map(|map| [map.get("anyOf"), map.get("oneOf")]).flatten();
        let variants = |union: &'a Value| {
            let some = union.as_array()?.iter().take(MOST_VARIANTS + 2);
            Some(some.filter(|variant| !is_null(variant)).collect::<Vec<_>>())
        };
        unions.filter_map(variants).find(|variants| variants.len() > 1)
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null") || schema.get("const").is_some_and(Value::is_null)
}

impl<'a> Reader<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, fuel: FUEL }
    }

    /// Everything that a schema is put together from.
    pub(super) fn layers(&mut self, schema: &'a Value) -> Layers<'a> {
        let mut layers = Layers { maps: Vec::new(), nullable: false };
        let mut waiting = vec![schema];
        while let Some(schema) = waiting.pop() {
            let Some(fuel) = self.fuel.checked_sub(1) else { break };
            self.fuel = fuel;
            let Some(map) = schema.as_object() else { continue };
            // A schema that was there already is a circle.
            if layers.maps.len() == MOST_LAYERS || layers.maps.iter().any(|seen| std::ptr::eq(*seen, map)) {
                continue;
            }
            layers.maps.push(map);
            // The last one that waits is the next one.
            for key in ["anyOf", "oneOf"] {
                let Some(variants) = map.get(key).and_then(Value::as_array) else { continue };
                let some = variants.iter().take(MOST_VARIANTS);
                let (nulls, others): (Vec<_>, Vec<_>) = some.partition(|variant| is_null(variant));
                layers.nullable |= !nulls.is_empty();
                if let [only] = others.as_slice() {
                    waiting.push(only);
                }
            }
            let parts = map.get("allOf").and_then(Value::as_array).into_iter().flatten();
            waiting.extend(parts.take(MOST_LAYERS).collect::<Vec<_>>().into_iter().rev());
            waiting.extend(map.get("$ref").and_then(Value::as_str).and_then(|place| self.referred(place)));
        }
        layers
    }

    /// Only places in the same document: nothing is ever fetched.
    fn referred(&self, place: &str) -> Option<&'a Value> {
        let pointer = place.strip_prefix('#').filter(|pointer| pointer.len() <= LONGEST_REFERENCE)?;
        self.root.pointer(pointer)
    }

    /// A parameter for a property.
    pub(super) fn parameter(&mut self, name: String, property: &Property<'a>) -> Parameter {
        let mut parameter = Parameter::new(name, Kind::Any);
        parameter.required = property.required;
        parameter.keyword_only = !property.required;
        let Some(schema) = property.schema else { return parameter };
        let said = self.read(schema, DEEPEST);
        (parameter.kind, parameter.nullable, parameter.options) = (said.kind, said.nullable, said.options);
        parameter.description = notes::description(self, schema);
        let layers = self.layers(schema);
        let fits = |value: &&Value| {
            check_size(value).is_ok() && parameter.admits(value) && parameter.has_option(value)
        };
        let default = layers.get("default").filter(fits).cloned();
        let examples = layers.get("examples").and_then(Value::as_array).into_iter().flatten();
        let examples = examples.take(MOST_EXAMPLES).filter(fits).cloned().collect();
        (parameter.default, parameter.examples) = (default, examples);
        parameter
    }

    /// What a value may be, as far as kinds and options can say it.
    pub(super) fn read(&mut self, schema: &'a Value, levels: usize) -> Said {
        let Some(levels) = levels.checked_sub(1) else { return Said::any() };
        let layers = self.layers(schema);
        let union = layers.union().map(|variants| self.union(&variants, levels));
        // Variants may speak of fields alone, beside the type of them all.
        let mut said = match union.filter(|said| said.kind != Kind::Any) {
            Some(said) => said,
            None => self.single(&layers, levels),
        };
        said.nullable |= layers.nullable;
        let options = options(&layers);
        self.fuel = self.fuel.saturating_sub(options.as_ref().map_or(0, Vec::len));
        said.restrict(options);
        said
    }

    /// One kind of several variants: theirs if they agree. Their options are options of all, if
    /// each has some: that is how enums with a description for each value are written.
    fn union(&mut self, variants: &[&'a Value], levels: usize) -> Said {
        if variants.len() > MOST_VARIANTS {
            return Said::any();
        }
        let all: Vec<_> = variants.iter().map(|variant| self.read(variant, levels)).collect();
        let nullable = all.iter().any(|said| said.nullable);
        let kind = common(all.iter().map(|said| said.kind.clone()));
        let has_options = all.iter().all(|said| !said.options.is_empty());
        let mut said = Said { kind, nullable, options: Vec::new() };
        if has_options {
            said.restrict(Some(all.into_iter().flat_map(|said| said.options).collect()));
        }
        said
    }

    fn single(&mut self, layers: &Layers<'a>, levels: usize) -> Said {
        let (names, nullable) = match layers.get("type") {
            Some(Value::String(name)) => (vec![name.as_str()], false),
            Some(Value::Array(names)) => {
                let names: Vec<_> = names.iter().take(MOST_LAYERS).filter_map(Value::as_str).collect();
                (names.iter().copied().filter(|name| *name != "null").collect(), names.contains(&"null"))
            }
            _ => (vec![implied(layers)], false),
        };
        let kinds: Vec<_> = names.into_iter().map(|name| self.named(name, layers, levels)).collect();
        Said { kind: common(kinds.into_iter()), nullable, options: Vec::new() }
    }

    fn named(&mut self, name: &str, layers: &Layers<'a>, levels: usize) -> Kind {
        let mut item = |key: &str| {
            let item = self.read(layers.get(key).filter(|item| item.is_object())?, levels);
            (item.kind != Kind::Any && !item.nullable).then(|| Box::new(item.kind))
        };
        match name {
            "string" => Kind::Str,
            "integer" => Kind::Int,
            "number" => Kind::Float,
            "boolean" => Kind::Bool,
            "array" => Kind::List(item("items").filter(|_| layers.get("prefixItems").is_none())),
            "object" if layers.get("properties").is_some_and(|fields| fields.get(bytes::KEY).is_some()) => {
                Kind::Bytes
            }
            "object" => {
                Kind::Dict(item("additionalProperties").filter(|_| layers.get("properties").is_none()))
            }
            _ => Kind::Any,
        }
    }
}

/// The type of a schema that names none, by the other things it says.
fn implied(layers: &Layers<'_>) -> &'static str {
    let says = |keys: [&str; 2]| keys.iter().any(|key| layers.get(key).is_some());
    if says(["properties", "additionalProperties"]) {
        "object"
    } else if says(["items", "prefixItems"]) {
        "array"
    } else {
        ""
    }
}

/// The one kind of several, or `any`. Whole numbers are numbers.
fn common(mut kinds: impl Iterator<Item = Kind>) -> Kind {
    let Some(first) = kinds.next() else { return Kind::Any };
    let both = |one: Kind, other: Kind| match (one, other) {
        (one, other) if one == other => one,
        (Kind::Int, Kind::Float) | (Kind::Float, Kind::Int) => Kind::Float,
        _ => Kind::Any,
    };
    kinds.fold(first, both)
}

/// The values that a schema allows. Too many to show, or too large ones, are left to the tool's
/// owner.
fn options(layers: &Layers<'_>) -> Option<Vec<Value>> {
    let values = match (layers.get("const"), layers.get("enum")) {
        (Some(only), _) => std::slice::from_ref(only),
        (None, Some(Value::Array(values))) => values,
        _ => return None,
    };
    let is_modest = values.len() <= MOST_VALUES && values.iter().all(|value| check_size(value).is_ok());
    is_modest.then(|| values.to_vec())
}

impl Said {
    /// Allows these values only.
    fn restrict(&mut self, options: Option<Vec<Value>>) {
        let Some(options) = options else { return };
        let mut unique: Vec<Value> = Vec::new();
        for option in options {
            if option.is_null() {
                self.nullable = true;
            } else if !unique.iter().any(|earlier| is_same(earlier, &option)) {
                unique.push(option);
            }
        }
        let kind = common(unique.iter().map(Kind::of));
        if unique.is_empty() || unique.len() > MOST_VALUES {
            return;
        }
        if self.kind == Kind::Any {
            self.kind = kind;
        }
        // A schema that contradicts itself says nothing.
        if unique.iter().all(|option| self.kind.admits(option)) {
            self.options = unique;
        } else {
            *self = Self { nullable: self.nullable, ..Self::any() };
        }
    }
}
