//! Functions of Python files as tools, from what the guest tells of them.
//!
//! The guest reads the files without running them, and says what it found: names, types as kinds,
//! defaults, what docstrings say. The author of a file chose all of that. So nothing of it is
//! believed beyond what a tool may be: what does not fit together is left out, and
//! [`Tool::validate`] has the last word.

use serde::Deserialize;
use serde_json::Value;

use super::validation::{LONGEST_TEXT, MOST_VALUES, check_size};
use super::{Failure, Kind, Parameter, Tool};

/// What the guest tells of a function.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Signature {
    /// The function's name.
    pub name: String,
    /// Its file.
    pub file: String,
    /// The line of its `def`.
    pub line: u32,
    /// What its docstring says besides the parameters.
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Vec<Signed>,
    /// What it returns, as the file has it.
    #[serde(default)]
    returns: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Signed {
    name: String,
    kind: Passing,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    takes: Takes,
    /// The default, if JSON has it.
    #[serde(default)]
    value: Vec<Value>,
    #[serde(default)]
    description: String,
}

/// How an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Passing {
    PositionalOnly,
    PositionalOrKeyword,
    VarPositional,
    KeywordOnly,
    VarKeyword,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
struct Takes {
    kind: String,
    nullable: bool,
    options: Vec<Value>,
}

impl Signature {
    /// The function as a tool. `source` is the text of its file.
    pub fn into_tool(self, source: impl Into<String>) -> Tool {
        let returned = self.returns.as_deref().unwrap_or("").trim_matches(['"', '\'', ' ']);
        let failure = match returned.rsplit('.').next() {
            Some("ToolResponse") => Failure::Response,
            _ => Failure::Exception,
        };
        let mut notes = Vec::new();
        let more: Vec<_> = self.parameters.iter().filter_map(Signed::further).collect();
        if !more.is_empty() {
            notes.push(format!("Takes further arguments: {}.", more.join(", ")));
        }
        if failure == Failure::Exception && !matches!(returned, "" | "None" | "Any") {
            notes.push(format!("Returns {}.", beginning(returned, 200)));
        }
        let mut description = self.description;
        for note in notes {
            description += if description.is_empty() { "" } else { "\n\n" };
            description += &note;
        }
        let parameters = self.parameters.into_iter().filter_map(Signed::into_parameter).collect();
        Tool {
            parameters,
            failure,
            ..Tool::new(self.name, beginning(&description, LONGEST_TEXT)).in_guest(self.file, source)
        }
    }
}

impl Signed {
    /// `*args` or `**options`, which are no parameters of a tool.
    fn further(&self) -> Option<String> {
        match self.kind {
            Passing::VarPositional => Some(format!("*{}", self.name)),
            Passing::VarKeyword => Some(format!("**{}", self.name)),
            _ => None,
        }
    }

    fn into_parameter(self) -> Option<Parameter> {
        if self.further().is_some() {
            return None;
        }
        let Takes { kind, nullable, options } = self.takes;
        let mut description = self.description;
        if self.kind == Passing::PositionalOnly {
            description += if description.is_empty() { "" } else { " " };
            description += "Must be given by its position.";
        }
        let mut parameter = Parameter {
            description: beginning(&description, LONGEST_TEXT),
            nullable,
            required: self.required,
            keyword_only: self.kind == Passing::KeywordOnly,
            ..Parameter::new(self.name, kind.parse().unwrap_or(Kind::Any))
        };
        let fits = |option: &Value| parameter.kind.admits(option) && check_size(option).is_ok();
        if options.len() <= MOST_VALUES && options.iter().all(fits) {
            parameter.options = options;
        }
        if let Some(default) = self.value.into_iter().next().filter(|_| !parameter.required) {
            parameter.take_default(default);
        }
        Some(parameter)
    }
}

impl Parameter {
    /// Gives it the default that its author gave it. If that is none of its kind, the author meant
    /// another: `limit: int = None`, `mode: str = 0`.
    fn take_default(&mut self, default: Value) {
        if check_size(&default).is_err() {
            return;
        }
        self.nullable |= default.is_null();
        if !self.admits(&default) {
            (self.kind, self.options) = (Kind::Any, Vec::new());
        }
        if !self.has_option(&default) {
            self.options.clear();
        }
        self.default = Some(default);
    }
}

/// As much of a text as there is room for.
fn beginning(text: &str, most: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or_default()].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::tool::ToolSet;

    fn parameter(name: &str, kind: &str, takes: &str) -> Value {
        let takes = json!({"kind": takes, "nullable": false, "options": []});
        json!({"name": name, "kind": kind, "required": true, "takes": takes, "value": [], "description": ""})
    }

    fn tool(parameters: Value, returns: Option<&str>) -> Tool {
        let signature = json!({
            "name": "find", "file": "shop.py", "line": 3, "is_async": false, "doc": "x",
            "description": "Finds.", "parameters": parameters, "returns": returns,
        });
        serde_json::from_value::<Signature>(signature).unwrap().into_tool("source")
    }

    fn stub(tool: Tool) -> String {
        let mut set = ToolSet::new();
        set.add(tool).unwrap();
        set.stubs().split("def ").nth(1).unwrap().to_owned()
    }

    #[test]
    fn a_function_becomes_a_tool_that_returns_what_it_returns() {
        let mut limit = parameter("limit", "keyword_only", "int");
        limit["required"] = json!(false);
        limit["value"] = json!([10]);
        limit["description"] = json!("How many.");
        let mut order = parameter("order", "positional_or_keyword", "str");
        order["takes"]["options"] = json!(["up", "down"]);
        let found = tool(
            json!([
                parameter("what", "positional_only", "str"),
                order,
                limit,
                parameter("more", "var_keyword", "any")
            ]),
            Some("list[Item]"),
        );
        assert_eq!(
            stub(found),
            "find(what: str, order: Literal[\"up\", \"down\"], *, limit: int = 10) -> Any:\n    \
             \"\"\"Finds.\n\n    Takes further arguments: **more.\n\n    Returns list[Item].\n\n    \
             what: Must be given by its position.\n    limit: How many.\n    \"\"\"\n"
        );
        assert!(stub(tool(json!([]), Some("ToolResponse"))).starts_with("find() -> ToolResponse:"));
        assert!(stub(tool(json!([]), None)).starts_with("find() -> Any:\n    \"\"\"Finds.\"\"\""));
    }

    #[test]
    fn what_does_not_fit_together_is_left_out() {
        let default = |takes: &str, options: Value, value: Value| {
            let mut one = parameter("x", "positional_or_keyword", takes);
            one["required"] = json!(false);
            one["value"] = json!([value]);
            one["takes"]["options"] = options;
            let signature = stub(tool(json!([one]), None));
            signature.lines().next().unwrap().to_owned()
        };
        assert_eq!(default("int", json!([]), json!(null)), "find(x: int | None = None) -> Any:");
        assert_eq!(default("str", json!([]), json!(0)), "find(x: Any = 0) -> Any:");
        assert_eq!(default("float", json!([]), json!(1)), "find(x: float = 1) -> Any:");
        assert_eq!(default("str", json!(["a"]), json!("b")), "find(x: str = \"b\") -> Any:");
        assert_eq!(default("int", json!(["a"]), json!(1)), "find(x: int = 1) -> Any:");
        assert_eq!(default("no kind", json!([]), json!("x".repeat(20_000))), "find(x: Any = ...) -> Any:");
    }

    #[test]
    fn texts_that_no_prompt_carries_are_cut_at_a_character() {
        assert_eq!(beginning("aé", 2), "a");
        assert_eq!(beginning("aé", 3), "aé");
        let mut one = parameter("x", "keyword_only", "str");
        one["description"] = json!("é".repeat(20_000));
        assert_eq!(tool(json!([one]), None).validate(), Ok(()));
    }

    proptest! {
        #[test]
        fn whatever_a_file_says_is_a_tool_or_an_error(
            kind in "[a-z\\[\\], ]{0,12}",
            options in prop::collection::vec(prop_oneof![Just(json!(1)), Just(json!("a")), Just(json!([])), Just(json!(null))], 0..4),
            value in prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!("a")), Just(json!({"a": 1.5}))],
            returns in any::<Option<String>>(),
        ) {
            let mut one = parameter("x", "positional_or_keyword", &kind);
            one["required"] = json!(false);
            one["value"] = json!([value]);
            one["takes"]["options"] = options.into_iter().fold(Vec::new(), |mut all, one| {
                if !all.contains(&one) { all.push(one) }
                all
            }).into();
            prop_assert_eq!(tool(json!([one]), returns.as_deref()).validate(), Ok(()));
        }
    }
}
