//! The tools of a sandbox.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belljar_core::config::SandboxConfig;
use belljar_core::tool::{ToolError, ToolSet};
use belljar_engine::{HostToolFace, ToolSource};
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
    /// A file of tools cannot be read.
    #[error("tool file {}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
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
    /// What the tools of the host's are.
    tools: ToolSet,
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
        self.tools.add(tool.tool.clone())?;
        Arc::make_mut(&mut self.host).insert(tool.tool.name.clone(), tool);
        Ok(self)
    }

    /// Adds the functions of a Python file, or of all such files in a directory. They run in the
    /// cell.
    pub fn guest(mut self, path: impl AsRef<Path>) -> Result<Self, RegistryError> {
        let path = path.as_ref();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| RegistryError::File { path, source }
        };
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            let entries = std::fs::read_dir(path).map_err(failed(path))?;
            let entries: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
            files = entries.map_err(failed(path))?;
            files.retain(|file| file.extension().is_some_and(|extension| extension == "py"));
            files.sort();
        }
        for file in files {
            let source = std::fs::read_to_string(&file).map_err(failed(&file))?;
            let name = file.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| failed(&file)(io::Error::other("its name is not UTF-8")))?;
            self.guest.push(ToolSource { file_name: name.to_owned(), source });
        }
        Ok(self)
    }

    /// The tools of the host's, for a model: prompt, schemas, stubs.
    pub fn descriptions(&self) -> &ToolSet {
        &self.tools
    }

    /// These tools in that environment.
    pub fn for_config(self, config: SandboxConfig) -> Equipped {
        Equipped { config, tools: self }
    }

    /// The files, what is seen of the closures, and the closures.
    pub(crate) fn into_parts(self) -> (Vec<ToolSource>, Vec<HostToolFace>, HostTools) {
        let faces = self.host.values().map(HostTool::face).collect();
        (self.guest, faces, self.host)
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
