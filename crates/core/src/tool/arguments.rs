//! Checks the arguments of a call.
//!
//! A model wrote the call, and reads the error. So each error is one sentence that says what to do.
//! Arguments come from a cell: nothing long is copied into an error, and the work is linear in
//! their size.

use serde_json::{Map, Value};

use super::error::cut;
use super::python::{lines, literal};
use super::validation::check_size;
use super::{Kind, Parameter, Tool};

/// How many names and values a sentence lists.
const MOST_LISTED: usize = 20;

/// Why the arguments of a call are wrong. It is for the model that wrote the call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// A required one is not there.
    #[error("tool `{tool}` needs `{name}` ({kind}): call it as {usage}")]
    Missing {
        /// The tool.
        tool: String,
        /// The parameter.
        name: String,
        /// Its kind.
        kind: Kind,
        /// A call with all that is required.
        usage: String,
    },
    /// There is no such parameter.
    #[error("tool `{tool}` has no parameter `{name}`: {hint}")]
    Unknown {
        /// The tool.
        tool: String,
        /// What was given.
        name: String,
        /// What was probably meant, or what there is.
        hint: String,
    },
    /// A value is of another kind.
    #[error("`{place}` of tool `{tool}` must be {kind}, not {value}{hint}")]
    WrongKind {
        /// The tool.
        tool: String,
        /// The parameter, and the place in it: `points[2]`.
        place: String,
        /// The kind it must have.
        kind: Kind,
        /// What was given, in short.
        value: String,
        /// What to do about it, if there is more to say.
        hint: &'static str,
    },
    /// A value is not one of the options.
    #[error("`{name}` of tool `{tool}` must be one of {options}, not {value}")]
    NoOption {
        /// The tool.
        tool: String,
        /// The parameter.
        name: String,
        /// The options.
        options: String,
        /// What was given, in short.
        value: String,
    },
}

/// Checks the arguments of a call, and fills in defaults.
///
/// What comes back has only names of parameters, in values of their kinds and options. `None` for a
/// parameter that need not be given and is not nullable counts as left out: it is how Python says
/// "nothing".
pub fn check_arguments(
    tool: &Tool,
    mut arguments: Map<String, Value>,
) -> Result<Map<String, Value>, ArgumentError> {
    if let Some(name) = arguments.keys().find(|name| tool.parameter(name).is_none()) {
        return Err(unknown(tool, name));
    }
    let mut checked = Map::new();
    for parameter in &tool.parameters {
        let given = arguments.remove(&parameter.name);
        let means_nothing =
            |value: &Value| value.is_null() && !parameter.is_required() && !parameter.admits(value);
        match given.filter(|value| !means_nothing(value)) {
            Some(value) => {
                check(tool, parameter, &value)?;
                checked.insert(parameter.name.clone(), value);
            }
            None if parameter.is_required() => return Err(missing(tool, parameter)),
            None => {
                if let Some(default) = &parameter.default {
                    checked.insert(parameter.name.clone(), default.clone());
                }
            }
        }
    }
    Ok(checked)
}

impl Tool {
    /// Checked arguments by the names that the tool's owner has for them.
    pub fn original_arguments(&self, mut checked: Map<String, Value>) -> Map<String, Value> {
        let named = |parameter: &Parameter| {
            let value = checked.remove(&parameter.name)?;
            Some((parameter.original_name().to_owned(), value))
        };
        self.parameters.iter().filter_map(named).collect()
    }
}

fn check(tool: &Tool, parameter: &Parameter, value: &Value) -> Result<(), ArgumentError> {
    if parameter.nullable && value.is_null() {
        return Ok(());
    }
    if let Some(misfit) = parameter.kind.misfit(value) {
        return Err(ArgumentError::WrongKind {
            tool: tool.name.clone(),
            place: format!("{}{}", parameter.name, misfit.path),
            kind: misfit.kind.clone(),
            value: brief(misfit.value),
            hint: hint(misfit.kind, misfit.value),
        });
    }
    if !parameter.has_option(value) {
        let options = parameter.options.iter().map(|option| cut(&literal(option)));
        return Err(ArgumentError::NoOption {
            tool: tool.name.clone(),
            name: parameter.name.clone(),
            options: listed(options),
            value: brief(value),
        });
    }
    Ok(())
}

fn hint(kind: &Kind, value: &Value) -> &'static str {
    match (kind, value) {
        (Kind::Int, Value::Number(number)) if number.as_f64().is_some_and(|number| number.abs() >= 9e15) => {
            ": whole numbers have at most 64 bits"
        }
        (Kind::Int, Value::Number(_)) => ": use int(…) or round(…)",
        (Kind::Int | Kind::Float, Value::String(_)) => ": pass a number, not text",
        (Kind::Str, Value::Number(_) | Value::Bool(_)) => ": use str(…)",
        (Kind::List(_), Value::String(_) | Value::Number(_) | Value::Object(_)) => ": put it in [ ]",
        _ => "",
    }
}

fn missing(tool: &Tool, parameter: &Parameter) -> ArgumentError {
    let required = tool.parameters.iter().filter(|parameter| parameter.is_required());
    let arguments: Vec<_> =
        required.take(MOST_LISTED).map(|parameter| format!("{}=…", parameter.name)).collect();
    ArgumentError::Missing {
        tool: tool.name.clone(),
        name: parameter.name.clone(),
        kind: parameter.kind.clone(),
        usage: format!("{}({})", tool.name, arguments.join(", ")),
    }
}

fn unknown(tool: &Tool, name: &str) -> ArgumentError {
    let names = || tool.parameters.iter().map(|parameter| parameter.name.as_str());
    // Comparing long texts takes long, and no parameter has a long name.
    let closest = names()
        .filter(|_| name.len() <= super::LONGEST_TOOL_NAME)
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4);
    let hint = match closest {
        Some((_, known)) => format!("did you mean `{known}`?"),
        None if tool.parameters.is_empty() => "it has none".to_owned(),
        None => format!("it has {}", listed(names().map(|name| format!("`{name}`")))),
    };
    // Whoever wrote the call chose the name, and somebody may see the error on a terminal.
    let name = lines(&cut(name)).join(" ");
    ArgumentError::Unknown { tool: tool.name.clone(), name, hint }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.take(MOST_LISTED + 1).collect();
    if items.len() > MOST_LISTED {
        items[MOST_LISTED] = "…".to_owned();
    }
    items.join(", ")
}

/// A value in short: itself if it is small, otherwise its size.
fn brief(value: &Value) -> String {
    let (kind, short) = match value {
        Value::Null => return "None".to_owned(),
        Value::Array(values) if values.len() > 8 => return format!("a list of {} items", values.len()),
        Value::Object(map) if map.len() > 8 => return format!("a dict of {} keys", map.len()),
        Value::String(text) if text.len() > 200 => return format!("a str of {} bytes", text.len()),
        value => (Kind::of(value), value),
    };
    let kind = match kind {
        Kind::List(_) => "list",
        Kind::Dict(_) => "dict",
        _ => return format!("{} ({kind})", literal(short)),
    };
    match check_size(short) {
        Ok(()) => cut(&literal(short)),
        Err(_) => format!("a large {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::tool::tests::{any_json, search, tools};

    fn checked(tool: &Tool, arguments: Value) -> Result<Value, String> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        check_arguments(tool, arguments).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_filled_in_and_what_is_absent_stays_absent() {
        let given = checked(&search(), json!({"query": "x"}));
        assert_eq!(given, Ok(json!({"query": "x", "limit": 10, "order": "asc"})));
        let given = checked(&search(), json!({"query": "x", "limit": null, "tags": null}));
        assert_eq!(given, Ok(json!({"query": "x", "limit": 10, "order": "asc"})), "None is nothing");
        let given = checked(&search(), json!({"query": "x", "limit": 3, "order": "desc", "tags": ["a"]}));
        assert_eq!(given, Ok(json!({"query": "x", "limit": 3, "order": "desc", "tags": ["a"]})));
    }

    #[test]
    fn each_mistake_has_a_sentence_to_act_on() {
        let mut sentences = Vec::new();
        for arguments in [
            json!({}),
            json!({"query": null}),
            json!({"query": 3}),
            json!({"query": "x", "limits": 3}),
            json!({"query": "x", "colour": 3}),
            json!({"query": "x", "limit": "3"}),
            json!({"query": "x", "limit": 3.0}),
            json!({"query": "x", "limit": 1e30}),
            json!({"query": "x", "limit": true}),
            json!({"query": "x", "order": "up"}),
            json!({"query": "x", "tags": "a"}),
            json!({"query": "x", "tags": ["a", {"b": null}]}),
            json!({"query": vec![0; 1000]}),
            json!({"query": "x", "order": "y".repeat(1000)}),
        ] {
            let text = serde_json::to_string(&arguments).unwrap();
            sentences.push(format!("{}\n    {}", cut(&text), checked(&search(), arguments).unwrap_err()));
        }
        insta::assert_snapshot!(sentences.join("\n"));
        assert_eq!(
            checked(&Tool::new("now", ""), json!({"x": 1})),
            Err("tool `now` has no parameter `x`: it has none".to_owned())
        );
    }

    #[test]
    fn the_owner_gets_the_names_it_knows() {
        let properties = json!({"X-Key": {"type": "string"}, "class": {"default": 1}});
        let schema = json!({"properties": properties, "required": ["X-Key"]});
        let tool = Tool::from_json_schema("call", "", &schema);
        let Value::Object(arguments) = json!({"X_Key": "k"}) else { unreachable!() };
        let original = tool.original_arguments(check_arguments(&tool, arguments).unwrap());
        assert_eq!(Value::Object(original), json!({"X-Key": "k", "class": 1}));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Each argument is an example, null, anything or absent.
        #[test]
        fn what_was_checked_is_valid_and_is_taken_again_as_it_is(
            tool in tools(),
            choices in prop::collection::vec(0..4, 5),
            anything in any_json(),
        ) {
            let chosen = |(parameter, choice): (&Parameter, &i32)| match choice {
                0 => Some(parameter.examples[0].clone()),
                1 => Some(Value::Null),
                2 => Some(anything.clone()),
                _ => None,
            };
            let given = tool.parameters.iter().zip(&choices);
            let arguments: Map<_, _> =
                given.filter_map(|one| Some((one.0.name.clone(), chosen(one)?))).collect();
            match check_arguments(&tool, arguments) {
                Ok(once) => {
                    for parameter in &tool.parameters {
                        let value = once.get(&parameter.name);
                        prop_assert!(value.is_some() || !parameter.is_required());
                        prop_assert!(value.is_none_or(|value| parameter.admits(value)));
                        prop_assert!(value.is_none_or(|value| parameter.has_option(value)));
                    }
                    prop_assert_eq!(check_arguments(&tool, once.clone()), Ok(once));
                }
                Err(error) => prop_assert!(error.to_string().len() < 8000),
            }
        }

        #[test]
        fn a_call_with_the_examples_of_its_parameters_is_right(tool in tools()) {
            let examples = tool.parameters.iter().map(|one| (one.name.clone(), one.examples[0].clone()));
            let checked = check_arguments(&tool, examples.collect());
            prop_assert!(checked.is_ok(), "{checked:?}");
        }
    }
}
