//! The kinds of values that a tool takes.
//!
//! A kind is written as Python writes the type: `str`, `list[int]`, `dict[str, float]`. Documents,
//! prompts and error messages all use that notation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::ToolBytes;

/// How deep kinds may be nested. A list of lists has two levels.
const DEEPEST_KIND: usize = 8;

/// The kind of a parameter's value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Text.
    Str,
    /// A whole number of at most 64 bits.
    Int,
    /// Any number.
    Float,
    /// True or false.
    Bool,
    /// Bytes, as [`ToolBytes`](super::ToolBytes) writes them.
    Bytes,
    /// A list, and the kind of its items if they have one.
    List(Option<Box<Kind>>),
    /// An object whose keys are text, and the kind of its values if they have one.
    Dict(Option<Box<Kind>>),
    /// Any JSON value, null included.
    #[default]
    Any,
}

impl Kind {
    /// A list of such items.
    pub fn list_of(item: Self) -> Self {
        Self::List(Some(Box::new(item)))
    }

    /// An object of such values.
    pub fn dict_of(item: Self) -> Self {
        Self::Dict(Some(Box::new(item)))
    }

    /// Whether a value is of this kind. Python's rules hold: a bool is no number here, a whole
    /// number is a float too, and 1.0 is no `int`.
    pub fn admits(&self, value: &Value) -> bool {
        self.misfit(value).is_none()
    }

    /// The first part of a value that is not of its kind, with the kind it should have.
    ///
    /// The work grows with the value and never with its depth alone: a value is followed only as
    /// deep as its kind goes.
    pub(super) fn misfit<'a>(&'a self, value: &'a Value) -> Option<Misfit<'a>> {
        let here = |fits: bool| (!fits).then(|| Misfit { path: String::new(), kind: self, value });
        match (self, value) {
            (Self::Any, _) => None,
            (Self::List(Some(item)), Value::Array(values)) => {
                values.iter().enumerate().find_map(|(index, value)| {
                    item.misfit(value).map(|misfit| misfit.within(&format!("[{index}]")))
                })
            }
            (Self::Dict(Some(item)), Value::Object(map)) => map.iter().find_map(|(key, value)| {
                item.misfit(value).map(|misfit| misfit.within(&format!("[{}]", shown_key(key))))
            }),
            (Self::Str, _) => here(value.is_string()),
            (Self::Int, _) => here(value.is_i64() || value.is_u64()),
            (Self::Float, _) => here(value.as_f64().is_some_and(f64::is_finite)),
            (Self::Bool, _) => here(value.is_boolean()),
            (Self::Bytes, _) => here(ToolBytes::is(value)),
            (Self::List(_), _) => here(value.is_array()),
            (Self::Dict(_), _) => here(value.is_object()),
        }
    }

    /// The kind of one value, as far as one can tell from it.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Any,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) if number.is_f64() => Self::Float,
            Value::Number(_) => Self::Int,
            Value::String(_) => Self::Str,
            Value::Array(_) => Self::List(None),
            Value::Object(_) if ToolBytes::is(value) => Self::Bytes,
            Value::Object(_) => Self::Dict(None),
        }
    }

    /// Whether it is nested deeper than a signature can sensibly be.
    pub(super) fn is_too_deep(&self) -> bool {
        let mut kind = self;
        for _ in 0..DEEPEST_KIND {
            match kind {
                Self::List(Some(item)) | Self::Dict(Some(item)) => kind = item,
                _ => return false,
            }
        }
        true
    }
}

/// A part of a value that is not of its kind.
pub(super) struct Misfit<'a> {
    /// Where it is in the value: `[2]`, or nothing.
    pub path: String,
    /// What it should be.
    pub kind: &'a Kind,
    /// What it is.
    pub value: &'a Value,
}

impl Misfit<'_> {
    fn within(mut self, place: &str) -> Self {
        self.path.insert_str(0, place);
        self
    }
}

/// A key as part of a path. Strangers choose keys, so only their beginning is shown.
fn shown_key(key: &str) -> String {
    let short: String = key.chars().take(40).collect();
    format!("{short:?}")
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str => f.write_str("str"),
            Self::Int => f.write_str("int"),
            Self::Float => f.write_str("float"),
            Self::Bool => f.write_str("bool"),
            Self::Bytes => f.write_str("bytes"),
            Self::List(None) => f.write_str("list"),
            Self::List(Some(item)) => write!(f, "list[{item}]"),
            Self::Dict(None) => f.write_str("dict"),
            Self::Dict(Some(item)) => write!(f, "dict[str, {item}]"),
            Self::Any => f.write_str("any"),
        }
    }
}

/// A word that is not a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a kind: must be str, int, float, bool, bytes, list, dict or any, or nested up to 8 levels \
     like list[str] and dict[str, int]"
)]
pub struct UnknownKind {
    /// The word.
    pub text: String,
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text, DEEPEST_KIND).ok_or_else(|| UnknownKind { text: text.chars().take(80).collect() })
    }
}

fn read(text: &str, levels: usize) -> Option<Kind> {
    let text = text.trim();
    let levels = levels.checked_sub(1)?;
    let item = |inside: &str| Some(Some(Box::new(read(inside, levels)?)));
    Some(match text {
        "str" => Kind::Str,
        "int" => Kind::Int,
        "float" => Kind::Float,
        "bool" => Kind::Bool,
        "bytes" => Kind::Bytes,
        "list" => Kind::List(None),
        "dict" => Kind::Dict(None),
        "any" => Kind::Any,
        _ => {
            let (outer, inside) = text.strip_suffix(']')?.split_once('[')?;
            match outer.trim_end() {
                "list" => Kind::List(item(inside)?),
                "dict" => Kind::Dict(item(
                    inside.trim_start().strip_prefix("str")?.trim_start().strip_prefix(',')?,
                )?),
                _ => return None,
            }
        }
    })
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    pub(in crate::tool) fn kinds() -> impl Strategy<Value = Kind> {
        let leaf = prop_oneof![
            Just(Kind::Str),
            Just(Kind::Int),
            Just(Kind::Float),
            Just(Kind::Bool),
            Just(Kind::Bytes),
            Just(Kind::Any),
            Just(Kind::List(None)),
            Just(Kind::Dict(None)),
        ];
        leaf.prop_recursive(4, 8, 1, |inner| {
            prop_oneof![inner.clone().prop_map(Kind::list_of), inner.prop_map(Kind::dict_of)]
        })
    }

    #[test]
    fn values_are_of_the_kinds_that_python_would_say() {
        for (kind, good, bad) in [
            ("str", json!(["", "x"]), json!([1, null, []])),
            ("int", json!([0, -1, u64::MAX]), json!([1.0, true, "1"])),
            ("float", json!([1, 1.5]), json!([true, "1.5", null])),
            ("bool", json!([true]), json!([0, "true"])),
            ("bytes", json!([{"__bytes__": "aGk="}]), json!(["aGk=", {}, {"__bytes__": 1}])),
            ("list", json!([[], [1, "x"]]), json!([{}, "x"])),
            ("list[int]", json!([[], [1]]), json!([[1, "x"], [null]])),
            ("dict[str, list[str]]", json!([{}, {"a": ["b"]}]), json!([{"a": [1]}, {"a": "b"}])),
            ("any", json!([null, 1, {}]), json!([])),
        ] {
            let kind: Kind = kind.parse().unwrap();
            assert!(good.as_array().unwrap().iter().all(|value| kind.admits(value)), "{kind}");
            assert!(!bad.as_array().unwrap().iter().any(|value| kind.admits(value)), "{kind}");
        }
    }

    #[test]
    fn a_misfit_is_found_where_it_is() {
        let kind: Kind = "dict[str, list[int]]".parse().unwrap();
        let value = json!({"a": [1], "b": [1, "x"]});
        let misfit = kind.misfit(&value).unwrap();
        assert_eq!((misfit.path.as_str(), misfit.kind), ("[\"b\"][1]", &Kind::Int));
    }

    #[test]
    fn what_is_not_a_kind_is_answered_with_the_kinds() {
        let deep = format!("{}int{}", "list[".repeat(9), "]".repeat(9));
        for text in
            ["", "string", "list[", "list[]", "list[x]", "dict[int]", "dict[int, str]", "str[int]", &deep]
        {
            let error = text.parse::<Kind>().unwrap_err().to_string();
            assert!(error.contains("is not a kind: must be str, int"), "{error}");
        }
        assert_eq!("dict[ str , list[ int ] ]".parse(), Ok(Kind::dict_of(Kind::list_of(Kind::Int))));
    }

    proptest! {
        #[test]
        fn a_kind_is_read_back_as_it_was(kind in kinds()) {
            prop_assert_eq!(kind.to_string().parse::<Kind>(), Ok(kind.clone()));
            let text = serde_json::to_string(&kind).unwrap();
            prop_assert_eq!(serde_json::from_str::<Kind>(&text).unwrap(), kind);
        }
    }
}
