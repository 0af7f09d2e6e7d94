//! The tools of a sandbox.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belljar_core::config::SandboxConfig;
use belljar_engine::{HostToolFace, ToolSource};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::HostTool;

/// Why a tool cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The name is no name of a function, or means something else to scripts.
    #[error("tool {name:?}: its name {rule}")]
    Name {
        /// The name.
        name: String,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// Two tools have the same name.
    #[error("tool `{name}` is there twice; give one of them another name")]
    Twice {
        /// The name.
        name: String,
    },
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
    ) -> Result<Self, ToolError>
    where
        A: DeserializeOwned + JsonSchema,
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize,
        E: fmt::Display,
    {
        self.with(HostTool::new(name, description, function))
    }

    /// Adds a tool of the host's.
    pub fn with(mut self, tool: HostTool) -> Result<Self, ToolError> {
        let name = tool.face.name.clone();
        for name in std::iter::once(&name).chain(tool.face.parameters.iter().map(|part| &part.name)) {
            check_name(name)?;
        }
        if self.host.contains_key(&name) {
            return Err(ToolError::Twice { name });
        }
        Arc::make_mut(&mut self.host).insert(name, tool);
        Ok(self)
    }

    /// Adds the functions of a Python file, or of all such files in a directory. They run in the
    /// cell.
    pub fn guest(mut self, path: impl AsRef<Path>) -> Result<Self, ToolError> {
        let path = path.as_ref();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ToolError::File { path, source }
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

    /// These tools in that environment.
    pub fn for_config(self, config: SandboxConfig) -> Equipped {
        Equipped { config, tools: self }
    }

    /// The files, what is seen of the closures, and the closures.
    pub(crate) fn into_parts(self) -> (Vec<ToolSource>, Vec<HostToolFace>, HostTools) {
        let faces = self.host.values().map(|tool| tool.face.clone()).collect();
        (self.guest, faces, self.host)
    }
}

/// What scripts find under these names is not to be hidden.
const TAKEN: [&str; 6] =
    ["emit_result", "emit_intermediate", "emit_log", "display", "ToolResponse", "ToolError"];

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

fn check_name(name: &str) -> Result<(), ToolError> {
    let refused = |rule| Err(ToolError::Name { name: name.to_owned(), rule });
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !name.chars().all(is_letter)
        || name.starts_with(|first: char| first.is_ascii_digit())
        || name.is_empty()
    {
        return refused("must be a name in Python: ASCII letters, digits and `_`, no digit first");
    }
    if name.len() > 64 {
        return refused("must be at most 64 bytes long");
    }
    if KEYWORDS.contains(&name) {
        return refused("must not be a keyword of Python");
    }
    if name.starts_with("__") {
        return refused("must not begin with two `_`, which mean something to Python");
    }
    if TAKEN.contains(&name) {
        return refused("must not hide what every script has under it");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    fn named(registry: ToolRegistry, name: &str) -> Result<ToolRegistry, ToolError> {
        registry.host(name, "", |_: Nothing| async { Ok::<_, String>(()) })
    }

    #[test]
    fn a_name_is_one_of_a_function_and_there_once() {
        let one = named(ToolRegistry::new(), "search").unwrap();
        assert!(matches!(named(one, "search"), Err(ToolError::Twice { .. })));
        for name in ["", "1a", "a-b", "a b", "é", "class", "__import__", "emit_result", &"x".repeat(65)] {
            assert!(matches!(named(ToolRegistry::new(), name), Err(ToolError::Name { .. })), "{name}");
        }
    }
}
