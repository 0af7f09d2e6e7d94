//! One parameter of a tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Kind;

/// One parameter of a tool.
///
/// It can be given by its name. It can be given by its position too, unless it is
/// [`keyword_only`](Self::keyword_only), stands behind one that is, or is required and stands
/// behind one that is not: Python does not allow that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name: a Python identifier.
    pub name: String,
    /// The kind of its value.
    #[serde(default)]
    pub kind: Kind,
    /// What it means, for models and people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether a call must give it. One with a default need not be given, whatever this says: see
    /// [`is_required`](Self::is_required).
    #[serde(default = "yes")]
    pub required: bool,
    /// Its value if a call does not give it. `Some(Null)` is Python's `None`, and not the same as
    /// no default: without one, a parameter that is not required is simply absent.
    #[serde(default, with = "present", skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Whether it may be null besides its kind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nullable: bool,
    /// Whether it can be given by its name alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keyword_only: bool,
    /// The only values it may have. Empty means any of its kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Value>,
    /// Values to learn from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
    /// The name that the tool's owner has for it, if that is not an identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_name: Option<String>,
}

fn yes() -> bool {
    true
}

impl Parameter {
    /// A required parameter.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
            description: String::new(),
            required: true,
            default: None,
            nullable: false,
            keyword_only: false,
            options: Vec::new(),
            examples: Vec::new(),
            original_name: None,
        }
    }

    /// Says what it means.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Gives it a default, so that it is not required. A null default makes it nullable.
    #[must_use]
    pub fn with_default(mut self, default: impl Into<Value>) -> Self {
        let default = default.into();
        self.nullable |= default.is_null();
        self.required = false;
        self.default = Some(default);
        self
    }

    /// Lets a call leave it out. It is absent then.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// Lets it be null.
    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// Lets it be given by its name alone.
    #[must_use]
    pub fn keyword_only(mut self) -> Self {
        self.keyword_only = true;
        self
    }

    /// Allows these values only.
    #[must_use]
    pub fn with_options(mut self, options: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// Adds a value to learn from.
    #[must_use]
    pub fn with_example(mut self, example: impl Into<Value>) -> Self {
        self.examples.push(example.into());
        self
    }

    /// Its type as Python writes it: `str`, `list[int]`, `Literal["asc", "desc"]`.
    pub fn annotation(&self) -> String {
        super::python::annotation(self)
    }

    /// Whether a call must give it.
    pub fn is_required(&self) -> bool {
        self.required && self.default.is_none()
    }

    /// The name that the tool's owner has for it.
    pub fn original_name(&self) -> &str {
        self.original_name.as_deref().unwrap_or(&self.name)
    }

    /// Whether a value is of its kind, or null if that is allowed.
    pub(super) fn admits(&self, value: &Value) -> bool {
        (self.nullable && value.is_null()) || self.kind.admits(value)
    }

    /// Whether a value is one of the options, or there are none.
    pub(super) fn has_option(&self, value: &Value) -> bool {
        let is_free = self.options.is_empty() || (self.nullable && value.is_null());
        is_free || self.options.iter().any(|option| is_same(option, value))
    }
}

/// Whether two values are the same to Python: 1 and 1.0 are.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() != other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        _ => one == other,
    }
}

/// Serde takes `null` for "not there", which is another default than `None`.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_null_default_is_not_the_same_as_none() {
        for (parameter, text) in [
            (Parameter::new("a", Kind::Str), r#"{"name":"a","kind":"str","required":true}"#),
            (Parameter::new("a", Kind::Str).optional(), r#"{"name":"a","kind":"str","required":false}"#),
            (
                Parameter::new("a", Kind::Str).with_default(Value::Null),
                r#"{"name":"a","kind":"str","required":false,"default":null,"nullable":true}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&parameter).unwrap(), text);
            assert_eq!(serde_json::from_str::<Parameter>(text).unwrap(), parameter);
        }
        let least: Parameter = serde_json::from_str(r#"{"name":"a"}"#).unwrap();
        assert_eq!(least, Parameter::new("a", Kind::Any));
    }

    #[test]
    fn whole_numbers_are_options_however_they_are_written() {
        let ratio = Parameter::new("ratio", Kind::Float).with_options([json!(1), json!(0.5)]);
        assert!(ratio.has_option(&json!(1.0)) && ratio.has_option(&json!(0.5)));
        assert!(!ratio.has_option(&json!(2)) && !ratio.has_option(&json!("1")));
    }
}
