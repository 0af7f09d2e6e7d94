//! Tools for tests: two that a reader understands, and any that are valid.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::kind::tests::kinds;
use super::{Failure, Kind, Parameter, Tool, ToolSet};
use crate::config::SandboxConfig;

/// A tool with a parameter of each sort.
pub(super) fn search() -> Tool {
    let order = Parameter::new("order", Kind::Str).with_options(["asc", "desc"]).with_default("asc");
    Tool::new("search", "Search the catalogue.\n\nFinds products by their words.")
        .with_parameter(
            Parameter::new("query", Kind::Str)
                .with_description("What to look for.")
                .with_example("red \"shoes\""),
        )
        .with_parameter(Parameter::new("limit", Kind::Int).with_default(10))
        .with_parameter(order.keyword_only())
        .with_parameter(Parameter::new("tags", Kind::list_of(Kind::Str)).optional())
        .with_example("search(\"red shoes\", limit=3)")
}

/// Tools of every place, in two sandboxes.
pub(crate) fn several() -> ToolSet {
    let schema = json!({
        "type": "object",
        "properties": {"repo-name": {"type": "string"}, "state": {"enum": ["open", "closed", null]}},
        "required": ["repo-name"]
    });
    let mut set = ToolSet::new();
    set.set_sandbox(SandboxConfig::new("analytics")).unwrap();
    let plot = Tool::new("plot", "Draws a chart.\r\n\tIt says \"\"\"done\"\"\" \\o/.")
        .with_parameter(Parameter::new("data", Kind::dict_of(Kind::list_of(Kind::Float))))
        .with_parameter(
            Parameter::new("scale", Kind::Float).with_options([json!(0.5), json!(1)]).with_default(1.0),
        )
        .with_parameter(Parameter::new("style", Kind::Any).with_default(json!({"grid": [true, null]})))
        .with_parameter(Parameter::new("title", Kind::Str).with_default(Value::Null))
        .with_parameter(Parameter::new("out", Kind::Str).with_description("Where to put it."))
        .in_guest("plots.py", "def plot(): ...\n")
        .with_failure(Failure::Exception)
        .with_sandbox("analytics");
    let issues = Tool::from_json_schema(set.free_name("github", "list-issues"), "List issues", &schema);
    for tool in [
        search(),
        plot,
        Tool::new("total", "").in_guest("plots.py", "def plot(): ...\n").with_sandbox("analytics"),
        issues.on_mcp_server("github", "list-issues"),
    ] {
        set.add(tool).unwrap();
    }
    set
}

/// Any JSON that is not too large.
pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1000i32..1000).prop_map(|number| Value::from(f64::from(number) / 8.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d_$ ]{0,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A value of a kind.
fn value_of(kind: &Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Str => any::<String>().prop_map(Value::from).boxed(),
        Kind::Int => any::<i64>().prop_map(Value::from).boxed(),
        Kind::Float => (-1000i32..1000).prop_map(|number| Value::from(f64::from(number) / 8.0)).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Kind::Bytes => any::<String>().prop_map(|text| json!({"__bytes__": text})).boxed(),
        Kind::List(item) => {
            let item = item.as_deref().cloned().unwrap_or_default();
            prop::collection::vec(value_of(&item), 0..3).prop_map(Value::from).boxed()
        }
        Kind::Dict(item) => {
            let item = item.as_deref().cloned().unwrap_or_default();
            let map = prop::collection::btree_map(any::<String>(), value_of(&item), 0..3);
            map.prop_map(|map| Value::Object(map.into_iter().collect())).boxed()
        }
        // Null among options would be another way to say that the parameter is nullable.
        Kind::Any => any_json().prop_filter("not null", |value| !value.is_null()).boxed(),
    }
}

fn parameters() -> impl Strategy<Value = Parameter> {
    let name = "[a-z_][a-zA-Z0-9_]{0,8}"
        .prop_filter("no keyword", |name| super::names::check_identifier(name).is_ok());
    // A list of anything is the same as a list.
    let kind = kinds()
        .prop_map(|kind| kind.to_string().replace("list[any]", "list").replace("dict[str, any]", "dict"));
    let kind = kind.prop_map(|text| text.parse::<Kind>().unwrap());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), 0..4usize);
    (name, kind, ".{0,20}", flags)
        .prop_flat_map(|(name, kind, description, (required, nullable, keyword_only, options))| {
            let values = prop::collection::vec(value_of(&kind), 3);
            values.prop_map(move |values| {
                let mut parameter = Parameter::new(&*name, kind.clone()).with_description(&*description);
                (parameter.required, parameter.nullable, parameter.keyword_only) =
                    (required, nullable, keyword_only);
                for value in values.iter().take(options) {
                    if !parameter.options.iter().any(|earlier| super::parameter::is_same(earlier, value)) {
                        parameter.options.push(value.clone());
                    }
                }
                parameter.examples = vec![values[0].clone()];
                if !required && !keyword_only {
                    parameter.default = Some(if nullable { Value::Null } else { values[0].clone() });
                }
                parameter
            })
        })
        .boxed()
}

/// Any valid tool.
pub(super) fn tools() -> impl Strategy<Value = Tool> {
    let name = "[a-zA-Z_][a-zA-Z0-9_]{0,12}"
        .prop_filter("a good name", |name| super::names::check_tool_name(name).is_ok());
    let parameters = prop::collection::vec(parameters(), 0..5);
    let examples = prop::collection::vec(any::<String>(), 0..2);
    (name, any::<String>(), parameters, examples, any::<bool>()).prop_map(
        |(name, description, parameters, examples, raises)| {
            let mut tool = Tool { examples, ..Tool::new(name, description) };
            tool.failure = if raises { Failure::Exception } else { Failure::Response };
            for parameter in parameters {
                if tool.parameter(&parameter.name).is_none() {
                    tool.parameters.push(parameter);
                }
            }
            tool
        },
    )
}

/// Any valid set.
pub(super) fn sets() -> impl Strategy<Value = ToolSet> {
    prop::collection::vec(tools(), 0..4).prop_map(|tools| {
        let mut set = ToolSet::new();
        for tool in tools {
            if set.get(&tool.name).is_none() {
                set.add(tool).unwrap();
            }
        }
        set
    })
}
