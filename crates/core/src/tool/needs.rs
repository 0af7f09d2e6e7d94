//! What a sandbox must have for its tools.
//!
//! Only guest tools need something of a cell: their files, their packages, their secrets. Tools
//! that run elsewhere have all that on the host.

use std::collections::BTreeMap;

use super::{Place, Tool, ToolError, ToolSet, checksum, dependencies};
use crate::config::SandboxConfig;

impl ToolSet {
    /// The packages of a sandbox and its guest tools, each once: the config's first, then the
    /// tools' in the order of their names. Refuses two that want one package in different ways.
    pub fn aggregate_dependencies(&self, sandbox: &str) -> Result<Vec<String>, ToolError> {
        dependencies::merge(self.sandbox(sandbox)?, self.tools_of(sandbox))
    }

    /// The secrets that a cell of a sandbox gets, each once: the config's first, then those of its
    /// guest tools. Tools that run elsewhere have theirs on the host, and no cell sees them.
    pub fn aggregate_secrets(&self, sandbox: &str) -> Result<Vec<String>, ToolError> {
        let mut all = self.sandbox(sandbox)?.secrets.clone();
        for name in self.tools_of(sandbox).filter(|tool| tool.place.is_guest()).flat_map(|tool| &tool.secrets)
        {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        Ok(all)
    }

    /// A sandbox's config with what its tools need: the config that cells are made from.
    pub fn config(&self, sandbox: &str) -> Result<SandboxConfig, ToolError> {
        let config = SandboxConfig {
            dependencies: self.aggregate_dependencies(sandbox)?,
            secrets: self.aggregate_secrets(sandbox)?,
            ..self.sandbox(sandbox)?.clone()
        };
        match config.validate() {
            Ok(()) => Ok(config),
            Err(error) => Err(ToolError::Config { sandbox: sandbox.to_owned(), error }),
        }
    }

    /// The Python files of a sandbox's guest tools, by their names.
    pub fn guest_sources(&self, sandbox: &str) -> Result<BTreeMap<&str, &str>, ToolError> {
        self.sandbox(sandbox)?;
        Ok(self.tools_of(sandbox).filter_map(file).collect())
    }

    /// A SHA-256 in hexadecimal of all that matters to the cells of a sandbox. It stays the same
    /// as long as whatever was made for the sandbox can be used again.
    pub fn sandbox_checksum(&self, sandbox: &str) -> Result<String, ToolError> {
        Ok(checksum::of(&self.config(sandbox)?, self.tools_of(sandbox)))
    }
}

/// The Python file of a guest tool: its name and its source.
pub(super) fn file(tool: &Tool) -> Option<(&str, &str)> {
    match &tool.place {
        Place::Guest { file_name, source } => Some((file_name, source)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_gets_the_secrets_of_its_guest_tools_and_of_no_other() {
        let mut set = ToolSet::new();
        set.set_sandbox(SandboxConfig { secrets: vec!["A".into()], ..SandboxConfig::default() }).unwrap();
        set.set_sandbox(SandboxConfig::new("other")).unwrap();
        set.add(Tool::new("guest", "").in_guest("g.py", "").with_secret("B").with_secret("A")).unwrap();
        set.add(Tool::new("host", "").with_secret("HOST")).unwrap();
        set.add(Tool::new("mcp", "").on_mcp_server("s", "t").with_secret("MCP")).unwrap();
        set.add(Tool::new("else", "").in_guest("e.py", "").with_secret("C").with_sandbox("other"))
            .unwrap_err();
        set.add(Tool::new("elsewhere", "").in_guest("e.py", "").with_secret("C").with_sandbox("other"))
            .unwrap();
        assert_eq!(set.aggregate_secrets("default").unwrap(), ["A", "B"]);
        assert_eq!(set.config("other").unwrap().secrets, ["C"]);
    }

    #[test]
    fn a_tool_cannot_take_a_variable_of_the_config() {
        let mut set = ToolSet::new();
        let env = [("KEY".to_owned(), "x".to_owned())].into();
        set.set_sandbox(SandboxConfig { env, ..SandboxConfig::default() }).unwrap();
        set.add(Tool::new("guest", "").in_guest("g.py", "").with_secret("KEY")).unwrap();
        let error = set.config("default").unwrap_err().to_string();
        assert!(
            error.starts_with("sandbox \"default\": secrets[0] = \"KEY\" is invalid: must not be in env"),
            "{error}"
        );
    }
}
