//! The tools of a sandbox.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use belljar_core::config::SandboxConfig;
use belljar_core::tool::{Tool, ToolError, ToolSet, safe_tool_name};
use belljar_engine::{Blueprint, ToolSource, UnreadableTool};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::HostTool;

/// Why a tool cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Its description breaks a rule, or another tool has the same name.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A tool file cannot be read.
    #[error(transparent)]
    File(#[from] UnreadableTool),
    /// Two tool files have one name.
    #[error("two tool files are called {file_name}, and they differ: give one of them another name")]
    SameFile {
        /// The name.
        file_name: String,
    },
}

/// Tools for a sandbox: Python files, and closures of this program.
///
/// ```
/// use belljar_runtime::{SandboxConfig, ToolRegistry};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Area { width: f64, height: f64 }
///
/// let tools = ToolRegistry::new()
///     .host("area", "Of a rectangle", |it: Area| async move {
///         Ok::<_, String>(it.width * it.height)
///     })
///     .unwrap();
/// let equipped = tools.for_config(SandboxConfig::default());
/// ```
#[derive(Debug, Clone, Default)]
pub struct ToolRegistry {
    guest: Vec<ToolSource>,
    host: HostTools,
}

/// The closures, by name.
pub(crate) type HostTools = Arc<BTreeMap<String, HostTool>>;

/// A config and its tools. A [`Runtime`](crate::Runtime) makes a sandbox of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Equipped {
    /// The environment.
    pub config: SandboxConfig,
    /// What scripts can call there.
    pub tools: ToolRegistry,
}

impl From<SandboxConfig> for Equipped {
    fn from(config: SandboxConfig) -> Self {
        Self { config, tools: ToolRegistry::default() }
    }
}

impl ToolRegistry {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a closure as a tool. [`HostTool`] has more to set.
    pub fn host<A, T, E, F>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Result<Self, RegistryError>
    where
        A: DeserializeOwned + JsonSchema,
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize,
        E: fmt::Display,
    {
        self.with(HostTool::new(name, description, function))
    }

    /// Adds a tool of the host's.
    pub fn with(mut self, tool: HostTool) -> Result<Self, RegistryError> {
        // By itself, it breaks no rule. Beside the others, only its name can.
        let mut set = ToolSet::new();
        for tool in self.host.get(&tool.tool.name).into_iter().chain([&tool]) {
            set.add(tool.tool.clone())?;
        }
        Arc::make_mut(&mut self.host).insert(tool.tool.name.clone(), tool);
        Ok(self)
    }

    /// A name for a stranger's tool that none of these has: `github_list_issues`.
    pub fn free_name(&self, server: &str, tool: &str) -> String {
        safe_tool_name(server, tool, |name| self.host.contains_key(name))
    }

    /// Adds the functions of a Python file, or of all such files in a directory. They run in the
    /// cell. Two files must not have one name.
    pub fn guest(mut self, path: impl AsRef<Path>) -> Result<Self, RegistryError> {
        for file in ToolSource::read(path.as_ref())? {
            match self.guest.iter().find(|other| other.file_name == file.file_name) {
                Some(other) if *other == file => {}
                Some(_) => return Err(RegistryError::SameFile { file_name: file.file_name }),
                None => self.guest.push(file),
            }
        }
        Ok(self)
    }

    pub(super) fn guest_files(&self) -> &[ToolSource] {
        &self.guest
    }

    pub(super) fn host_tools(&self) -> impl Iterator<Item = &Tool> {
        self.host.values().map(|tool| &tool.tool)
    }

    /// The tools of the host's, for a model: prompt, schemas, stubs.
    /// [`Runtime::describe`](crate::Runtime::describe) has those of files too.
    pub fn descriptions(&self) -> ToolSet {
        let mut tools = ToolSet::new();
        for tool in self.host.values() {
            tools.add(tool.tool.clone()).expect("it was added to others before");
        }
        tools
    }

    /// These tools in that environment.
    pub fn for_config(self, config: SandboxConfig) -> Equipped {
        Equipped { config, tools: self }
    }

    /// Adds what goes into a template. The closures stay here.
    pub(crate) fn add_to(self, blueprint: &mut Blueprint) -> HostTools {
        blueprint.tools.extend(self.guest);
        blueprint.host_tools.extend(self.host.values().map(|tool| tool.tool.clone()));
        self.host
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    fn named(registry: ToolRegistry, name: &str) -> Result<ToolRegistry, RegistryError> {
        registry.host(name, "", |_: Nothing| async { Ok::<_, String>(()) })
    }

    #[test]
    fn a_name_is_one_of_a_function_and_there_once() {
        let one = named(ToolRegistry::new(), "search").unwrap();
        assert_eq!(one.descriptions().len(), 1);
        assert!(matches!(named(one, "search"), Err(RegistryError::Tool(ToolError::Duplicate { .. }))));
        for name in ["", "1a", "a-b", "é", "class", "__import__", "emit_result", "ToolError", &"x".repeat(65)]
        {
            let refused = named(ToolRegistry::new(), name);
            assert!(matches!(refused, Err(RegistryError::Tool(ToolError::Invalid { .. }))), "{name}");
        }
    }
}
