//! What a tool is.

use serde::{Deserialize, Serialize};

use super::{DEFAULT_SANDBOX, Parameter};

/// A function that scripts call: what it is called, what it takes, what it needs, where it runs.
///
/// The fields are plain and public. [`Tool::validate`] is the gate, and [`ToolSet::add`] calls it.
///
/// [`ToolSet::add`]: super::ToolSet::add
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Tool {
    /// The global by which scripts call it: a Python identifier.
    pub name: String,
    /// What it does, for models and people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it takes, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// Packages that a guest tool imports, in an installer's notation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// Names of the secrets it needs. Those of a guest tool are variables of the cell. Those of
    /// other tools stay on the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The sandbox it belongs to.
    #[serde(default = "default_sandbox")]
    pub sandbox: String,
    /// Calls to learn from, as Python: `search("red shoes", limit=3)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// What a script sees when it fails.
    #[serde(default)]
    pub failure: Failure,
    /// Where it runs.
    #[serde(default)]
    pub place: Place,
}

fn default_sandbox() -> String {
    DEFAULT_SANDBOX.to_owned()
}

/// What a script sees when a tool fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Failure {
    /// The tool returns a `ToolResponse` whose `success` says how it went. It never raises.
    #[default]
    Response,
    /// The tool returns its data, and raises an exception if it fails.
    Exception,
}

/// Where a tool runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Place {
    /// In the cell. It is a function of a Python file.
    Guest {
        /// The file's name, ending in `.py`. Tools of one file have the same name and source.
        file_name: String,
        /// The file's source text.
        source: String,
    },
    /// In the host's process.
    #[default]
    Host,
    /// In an MCP server that the host talks to.
    Mcp {
        /// The server, by the name the host has for it.
        server: String,
        /// The server's own name for the tool, which need not be an identifier.
        tool: String,
    },
}

impl Place {
    /// Its name in documents and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Guest { .. } => "guest",
            Self::Host => "host",
            Self::Mcp { .. } => "mcp",
        }
    }

    /// Whether the tool runs in the cell.
    pub fn is_guest(&self) -> bool {
        matches!(self, Self::Guest { .. })
    }
}

impl Tool {
    /// A tool of the host's without parameters. A failure is a `ToolResponse`.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: Vec::new(),
            dependencies: Vec::new(),
            secrets: Vec::new(),
            sandbox: default_sandbox(),
            examples: Vec::new(),
            failure: Failure::default(),
            place: Place::default(),
        }
    }

    /// Adds a parameter behind those there are.
    #[must_use]
    pub fn with_parameter(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// Adds a package that it imports.
    #[must_use]
    pub fn with_dependency(mut self, requirement: impl Into<String>) -> Self {
        self.dependencies.push(requirement.into());
        self
    }

    /// Adds a secret that it needs.
    #[must_use]
    pub fn with_secret(mut self, name: impl Into<String>) -> Self {
        self.secrets.push(name.into());
        self
    }

    /// Puts it into a sandbox.
    #[must_use]
    pub fn with_sandbox(mut self, name: impl Into<String>) -> Self {
        self.sandbox = name.into();
        self
    }

    /// Adds a call to learn from.
    #[must_use]
    pub fn with_example(mut self, call: impl Into<String>) -> Self {
        self.examples.push(call.into());
        self
    }

    /// Says what a script sees when it fails.
    #[must_use]
    pub fn with_failure(mut self, failure: Failure) -> Self {
        self.failure = failure;
        self
    }

    /// Makes it a function of a Python file that is in the cell.
    #[must_use]
    pub fn in_guest(mut self, file_name: impl Into<String>, source: impl Into<String>) -> Self {
        self.place = Place::Guest { file_name: file_name.into(), source: source.into() };
        self
    }

    /// Makes it a tool of an MCP server, which has its own name for it.
    #[must_use]
    pub fn on_mcp_server(mut self, server: impl Into<String>, tool: impl Into<String>) -> Self {
        self.place = Place::Mcp { server: server.into(), tool: tool.into() };
        self
    }

    /// Its documentation as Python has it: what it does, its parameters, examples.
    pub fn documentation(&self) -> String {
        super::python::documentation(self).join("\n")
    }

    /// Whether its name is one that every script has when it starts, such as `emit_result`. No tool
    /// may have such a name.
    pub fn is_given_to_scripts(&self) -> bool {
        super::names::is_given_to_scripts(&self.name)
    }

    /// The parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// How many parameters can be given by position. Those behind them need their names.
    pub fn positional(&self) -> usize {
        let mut has_optional = false;
        self.parameters
            .iter()
            .take_while(|parameter| {
                let needs_name = parameter.keyword_only || (has_optional && parameter.is_required());
                has_optional |= !parameter.is_required();
                !needs_name
            })
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Kind;

    #[test]
    fn what_python_cannot_take_by_position_needs_its_name() {
        let required = |name| Parameter::new(name, Kind::Str);
        let optional = |name| Parameter::new(name, Kind::Str).optional();
        let count = |parameters: &[Parameter]| {
            Tool { parameters: parameters.to_vec(), ..Tool::new("t", "") }.positional()
        };
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&[required("a"), optional("b"), optional("c")]), 3);
        assert_eq!(count(&[optional("a"), required("b"), optional("c")]), 1);
        assert_eq!(count(&[required("a"), optional("b").keyword_only(), optional("c")]), 1);
    }

    #[test]
    fn a_name_is_all_that_json_must_have() {
        let tool: Tool = serde_json::from_str(r#"{"name":"search"}"#).unwrap();
        assert_eq!(tool, Tool::new("search", ""));
        let error = serde_json::from_str::<Tool>(r#"{"name":"search","secrts":[]}"#).unwrap_err();
        assert!(error.to_string().contains("unknown field `secrts`"), "{error}");
    }
}
