//! Refuses tools that break a rule. The error names the tool, the field, the value and the rule.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::{check_identifier, check_tool_name};
use super::parameter::is_same;
use super::{Parameter, Place, Tool, ToolError};
use crate::config::{ConfigError, Requirement, RequirementFault, check_secrets};

/// How many parameters a tool may have.
pub(super) const MOST_PARAMETERS: usize = 128;
/// How long a description or an example may be, in bytes. Every prompt carries them.
pub(super) const LONGEST_TEXT: usize = 16 << 10;
/// How many options, and how many examples, there may be.
pub(super) const MOST_VALUES: usize = 256;
/// How long the owner's name of a parameter may be, in bytes.
pub(super) const LONGEST_ORIGINAL: usize = 256;
/// How deep a default or an option may be nested.
const DEEPEST_VALUE: usize = 16;
/// How many parts and bytes a default or an option may have.
const LARGEST_VALUE: usize = 16 << 10;

impl Tool {
    /// Refuses a tool that breaks a rule. The error names the first rule it breaks.
    pub fn validate(&self) -> Result<(), ToolError> {
        let invalid =
            |field: &str, value: &str, rule: &str| ToolError::invalid(&self.name, field, value, rule);
        check_tool_name(&self.name).map_err(|rule| invalid("name", &self.name, rule))?;
        check_text(&self.description).map_err(|rule| invalid("description", &self.description, rule))?;
        self.validate_parameters()?;
        self.validate_dependencies()?;
        check_secrets(&self.secrets).map_err(|error| self.about_secrets(error))?;
        if self.examples.len() > MOST_VALUES {
            let count = self.examples.len();
            return Err(ToolError::invalid(&self.name, "examples", count, "must be at most 256"));
        }
        for (index, example) in self.examples.iter().enumerate() {
            check_text(example).map_err(|rule| invalid(&format!("examples[{index}]"), example, rule))?;
        }
        if let Place::Guest { file_name, .. } = &self.place {
            check_file_name(file_name).map_err(|rule| invalid("place.guest.file_name", file_name, rule))?;
        }
        Ok(())
    }

    fn validate_parameters(&self) -> Result<(), ToolError> {
        let count = self.parameters.len();
        if count > MOST_PARAMETERS {
            let rule = "must be at most 128 parameters, because models lose track of more";
            return Err(ToolError::invalid(&self.name, "parameters", count, rule));
        }
        let (mut names, mut originals) = (BTreeSet::new(), BTreeSet::new());
        for (index, parameter) in self.parameters.iter().enumerate() {
            let field = |field: &str| format!("parameters[{index}].{field}");
            parameter.validate().map_err(|Fault { field: inner, value, rule }| {
                ToolError::invalid(&self.name, field(&inner), value, rule)
            })?;
            if !names.insert(&parameter.name) {
                let rule = "must not be the name of an earlier parameter";
                return Err(ToolError::invalid(&self.name, field("name"), &parameter.name, rule));
            }
            if !originals.insert(parameter.original_name()) {
                let rule = "must not be what the owner calls an earlier parameter too";
                let original = parameter.original_name();
                return Err(ToolError::invalid(&self.name, field("original_name"), original, rule));
            }
        }
        Ok(())
    }

    fn validate_dependencies(&self) -> Result<(), ToolError> {
        for (index, requirement) in self.dependencies.iter().enumerate() {
            let invalid = |rule: String| {
                ToolError::invalid(&self.name, format!("dependencies[{index}]"), requirement, rule)
            };
            if !self.place.is_guest() {
                let rule = "must be left out, because only a guest tool imports what a cell has installed";
                return Err(invalid(rule.to_owned()));
            }
            match Requirement::parse(requirement) {
                Ok(Requirement::Local) => return Err(invalid(RequirementFault::Local.to_string())),
                Ok(_) => {}
                Err(fault) => return Err(invalid(fault.to_string())),
            }
        }
        Ok(())
    }

    fn about_secrets(&self, error: ConfigError) -> ToolError {
        match error {
            ConfigError::Invalid { field, value, rule } => {
                ToolError::Invalid { tool: self.name.clone(), field, value, rule }
            }
            other => ToolError::Config { sandbox: self.sandbox.clone(), error: other },
        }
    }
}

/// The rule that a parameter breaks.
struct Fault {
    field: String,
    value: Value,
    rule: String,
}

impl Parameter {
    fn validate(&self) -> Result<(), Fault> {
        let fault =
            |field: &str, value: Value, rule: &str| Fault { field: field.into(), value, rule: rule.into() };
        let text = |field: &str, value: &str, rule: &str| fault(field, value.into(), rule);
        check_identifier(&self.name).map_err(|rule| text("name", &self.name, rule))?;
        check_text(&self.description).map_err(|rule| text("description", &self.description, rule))?;
        if let Some(original) = self.original_name.as_deref().filter(|name| name.len() > LONGEST_ORIGINAL) {
            return Err(text("original_name", original, "must be at most 256 bytes long"));
        }
        if self.kind.is_too_deep() {
            return Err(text("kind", "(too deep)", "must be nested at most 8 levels deep"));
        }
        for (field, values) in [("options", &self.options), ("examples", &self.examples)] {
            if values.len() > MOST_VALUES {
                return Err(fault(field, values.len().into(), "must be at most 256 values"));
            }
        }
        for (index, option) in self.options.iter().enumerate() {
            let field = format!("options[{index}]");
            check_size(option).map_err(|rule| text(&field, "(not shown)", rule))?;
            if !self.kind.admits(option) {
                return Err(fault(&field, option.clone(), &format!("must be of the kind {}", self.kind)));
            }
            if self.options[..index].iter().any(|earlier| is_same(earlier, option)) {
                return Err(fault(&field, option.clone(), "must not be an earlier option again"));
            }
        }
        for (index, example) in self.examples.iter().enumerate() {
            let field = format!("examples[{index}]");
            self.check_value(example).map_err(|rule| fault(&field, brief(example), &rule))?;
        }
        match &self.default {
            Some(default) => {
                self.check_value(default).map_err(|rule| fault("default", brief(default), &rule))
            }
            None => Ok(()),
        }
    }

    fn check_value(&self, value: &Value) -> Result<(), String> {
        check_size(value)?;
        if value.is_null() && !self.admits(value) {
            return Err(format!("must be of the kind {}, because the parameter is not nullable", self.kind));
        }
        if !self.admits(value) {
            return Err(format!("must be of the kind {}", self.kind));
        }
        if !self.has_option(value) {
            return Err("must be one of the options".to_owned());
        }
        Ok(())
    }
}

/// The value for an error, if it is small enough to be looked at.
fn brief(value: &Value) -> Value {
    if check_size(value).is_ok() { value.clone() } else { "(not shown)".into() }
}

fn check_text(text: &str) -> Result<(), &'static str> {
    if text.len() > LONGEST_TEXT {
        return Err("must be at most 16 KiB long, because every prompt carries it");
    }
    Ok(())
}

/// Refuses values that a signature cannot sensibly show.
pub(super) fn check_size(value: &Value) -> Result<(), &'static str> {
    let mut left = LARGEST_VALUE;
    if is_within(value, DEEPEST_VALUE, &mut left) {
        return Ok(());
    }
    Err("must be at most 16 levels deep and 16 KiB large, because signatures show it")
}

fn is_within(value: &Value, levels: usize, left: &mut usize) -> bool {
    let mut spend = |cost: usize| left.checked_sub(cost).map(|rest| *left = rest).is_some();
    let Some(levels) = levels.checked_sub(1) else { return false };
    match value {
        Value::String(text) => spend(text.len() + 1),
        Value::Array(values) => spend(1) && values.iter().all(|value| is_within(value, levels, left)),
        Value::Object(map) => {
            spend(1)
                && map.iter().all(|(key, value)| {
                    left.checked_sub(key.len()).map(|rest| *left = rest).is_some()
                        && is_within(value, levels, left)
                })
        }
        _ => spend(1),
    }
}

fn check_file_name(name: &str) -> Result<(), &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_plain = name.bytes().all(plain) && !name.starts_with(['.', '-']) && name.len() <= 128;
    if is_plain && name.len() > ".py".len() && name.ends_with(".py") {
        return Ok(());
    }
    Err("must be a file name such as \"tools.py\", of at most 128 ASCII letters, digits, `.`, `_` and `-`")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::Kind;

    fn limit() -> Parameter {
        Parameter::new("limit", Kind::Int)
    }

    fn with(parameter: Parameter) -> Tool {
        Tool::new("search", "").with_parameter(parameter)
    }

    #[test]
    fn each_bad_field_is_refused_by_tool_field_value_and_rule() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        let deep = (0..20).fold(json!(1), |value, _| json!([value]));
        let table = [
            (Tool::new("class", ""), "name = \"class\" is invalid: must not be a keyword"),
            (
                with(Parameter::new("a b", Kind::Str)),
                "parameters[0].name = \"a b\" is invalid: must be a Python",
            ),
            (
                with(limit()).with_parameter(limit()),
                "parameters[1].name = \"limit\" is invalid: must not be the name",
            ),
            (with(limit().with_default("x")), "parameters[0].default = \"x\""),
            (with(limit().with_options([1, 1])), "parameters[0].options[1] = 1 is invalid: must not be an"),
            (with(limit().with_options(["a"])), "parameters[0].options[0] = \"a\" is invalid: must be of"),
            (
                with(limit().with_options([1, 2]).with_default(3)),
                "parameters[0].default = 3 is invalid: must be one of the options",
            ),
            (with(limit().with_example(true)), "parameters[0].examples[0] = true is invalid: must be of the"),
            (
                with(Parameter { default: Some(Value::Null), ..limit() }),
                "parameters[0].default = null is invalid: must",
            ),
            (
                with(Parameter::new("x", Kind::Any).with_default(deep)),
                "parameters[0].default = \"(not shown)\"",
            ),
            (with(limit().with_description(&*long)), "parameters[0].description = "),
            (Tool::new("search", &*long), "description = \"xxxx"),
            (
                Tool::new("search", "").with_dependency("pandas"),
                "dependencies[0] = \"pandas\" is invalid: must be left",
            ),
            (
                Tool::new("search", "").in_guest("a.py", "").with_dependency("-r x"),
                "dependencies[0] = \"-r x\" is invalid: must not hold a word that begins with `-`",
            ),
            (
                Tool::new("search", "").in_guest("a.py", "").with_dependency("./x"),
                "dependencies[0] = \"./x\" is invalid: must not be a path",
            ),
            (Tool::new("search", "").with_secret("A B"), "secrets[0] = \"A B\" is invalid: must be a name"),
            (
                Tool::new("search", "").in_guest("../a.py", ""),
                "place.guest.file_name = \"../a.py\" is invalid",
            ),
        ];
        for (tool, expected) in table {
            let text = tool.validate().unwrap_err().to_string();
            let expected = format!("tool {:?}: {expected}", tool.name);
            assert!(text.starts_with(&expected), "{text}\n  is not\n{expected}");
            assert!(text.len() < 600, "{text}");
        }
    }

    #[test]
    fn two_parameters_are_never_one_to_the_owner() {
        let twin = Parameter { original_name: Some("limit".into()), ..Parameter::new("limit_2", Kind::Int) };
        let text = with(limit()).with_parameter(twin).validate().unwrap_err().to_string();
        assert!(text.contains("parameters[1].original_name = \"limit\" is invalid"), "{text}");
    }

    #[test]
    fn what_fits_is_taken() {
        for parameter in [
            limit().with_default(10).with_options([10, 20]).with_example(20),
            Parameter::new("x", Kind::Float).with_default(1),
            Parameter::new("x", Kind::Str).with_options(["a"]).with_default(Value::Null),
            Parameter::new("x", Kind::list_of(Kind::Str)).with_default(json!(["a"])),
        ] {
            assert_eq!(with(parameter).validate(), Ok(()));
        }
    }
}
