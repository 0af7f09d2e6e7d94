//! What a script says about itself: the packages it needs, and the Python (PEP 723).
//!
//! ```text
//!  # /// script                      the first line of the block
//!  # requires-python = ">=3.11"      TOML, each line behind `# `
//!  # dependencies = ["pandas<3"]
//!  # [tool.belljar]
//!  # secrets = ["API_KEY"]           of a tool file: names of the secrets that it needs
//!  # ///                             the last line
//! ```
//!
//! Nothing here is done by itself. Whoever runs a script decides whether to believe it: its author
//! then chooses packages whose code runs in the cell.

use serde::Deserialize;
use toml::Spanned;

use crate::config::{ConfigError, PythonRange, Requirement, RequirementFault, SandboxConfig, check_secrets};

/// The first line of a block.
const OPEN: &str = "# /// script";
/// The last line of any block.
const CLOSE: &str = "# ///";

/// The `# /// script` block of a script.
///
/// ```
/// # use belljar_core::{SandboxConfig, ScriptMetadata};
/// let script = "# /// script\n# dependencies = ['pandas']\n# ///\nimport pandas\n";
/// let metadata = ScriptMetadata::of(script)?.expect("it has a block");
/// let config = metadata.add_to(&SandboxConfig::default())?;
/// assert_eq!(config.dependencies, ["pandas"]);
/// # Ok::<_, belljar_core::ScriptMetadataError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptMetadata {
    /// The packages it needs. Each may be given to an installer.
    pub dependencies: Vec<String>,
    /// The versions of Python it runs on.
    pub requires_python: Option<PythonRange>,
    /// The line that says so, or the first line of the block.
    pub python_line: usize,
    /// Names of the secrets it needs. Whoever runs a tool file gives them to the cells that have
    /// it. A script is given none because it asks: a model may have written it.
    pub secrets: Vec<String>,
}

/// A block that cannot be used, and its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
#[non_exhaustive]
pub struct ScriptMetadataError {
    /// The line of the script, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: ScriptMetadataFault,
}

/// What is wrong with a block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptMetadataFault {
    /// It does not end.
    #[error("the block `{OPEN}` has no end: write `{CLOSE}` on a line of its own after it")]
    Open,
    /// There is another one.
    #[error("there is a second block `{OPEN}`, and a script can have one")]
    Second,
    /// It is not TOML, or has another shape.
    #[error("the block `{OPEN}` cannot be read: {reason}")]
    Toml {
        /// The reason.
        reason: String,
    },
    /// A dependency that is not given to an installer.
    #[error("dependency {text:?} is refused: it {reason}")]
    Requirement {
        /// The dependency.
        text: String,
        /// The rule it breaks.
        reason: RequirementFault,
    },
    /// No secret can have that name.
    #[error("secret {name:?} is invalid: {reason}")]
    Secret {
        /// The name.
        name: String,
        /// The rule it breaks.
        reason: String,
    },
    /// `requires-python` is not a range of versions.
    #[error("requires-python: {reason}")]
    Range {
        /// The reason.
        reason: String,
    },
    /// The sandbox has another Python.
    #[error("requires-python is {range:?}, but the sandbox has Python {version}")]
    Python {
        /// The range.
        range: String,
        /// The version of the sandbox.
        version: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Block {
    #[serde(default)]
    dependencies: Vec<Spanned<String>>,
    requires_python: Option<Spanned<String>>,
    #[serde(default)]
    tool: Tools,
}

/// Settings of programs. Those of others are not looked at.
#[derive(Default, Deserialize)]
struct Tools {
    #[serde(default)]
    belljar: Settings,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    secrets: Vec<Spanned<String>>,
}

/// The rule that a name breaks.
fn rule(error: ConfigError) -> String {
    match error {
        ConfigError::Invalid { rule, .. } => rule,
        other => other.to_string(),
    }
}

impl ScriptMetadata {
    /// Reads the block of a script. `None` if the script has none.
    pub fn of(script: &str) -> Result<Option<Self>, ScriptMetadataError> {
        let Some((first, text)) = find(script)? else { return Ok(None) };
        // The text begins on the line after the first one.
        let line_at = |offset: usize| first + 1 + text[..offset.min(text.len())].matches('\n').count();
        let failed = |offset, fault| ScriptMetadataError { line: line_at(offset), fault };
        let block: Block = toml::from_str(&text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            failed(offset, ScriptMetadataFault::Toml { reason: error.message().to_owned() })
        })?;
        let mut dependencies = Vec::new();
        for dependency in block.dependencies {
            let text = dependency.get_ref().trim();
            Requirement::parse(text).map_err(|reason| {
                let text = text.to_owned();
                failed(dependency.span().start, ScriptMetadataFault::Requirement { text, reason })
            })?;
            dependencies.push(text.to_owned());
        }
        let mut python_line = first;
        let mut requires_python = None;
        if let Some(text) = block.requires_python {
            python_line = line_at(text.span().start);
            let range: Result<PythonRange, _> = text.get_ref().parse();
            requires_python = Some(range.map_err(|error| {
                failed(text.span().start, ScriptMetadataFault::Range { reason: error.to_string() })
            })?);
        }
        let mut secrets: Vec<String> = Vec::new();
        for secret in block.tool.belljar.secrets {
            let at = secret.span().start;
            let name = secret.into_inner();
            check_secrets(std::slice::from_ref(&name)).map_err(|error| {
                failed(at, ScriptMetadataFault::Secret { reason: rule(error), name: name.clone() })
            })?;
            if !secrets.contains(&name) {
                secrets.push(name);
            }
        }
        Ok(Some(Self { dependencies, requires_python, python_line, secrets }))
    }

    /// A config that also has the script's packages. A config that names a Python which the script
    /// does not run on is refused. One that names none stays so: which Python there is only its
    /// engine knows.
    pub fn add_to(&self, config: &SandboxConfig) -> Result<SandboxConfig, ScriptMetadataError> {
        if let (Some(range), Some(version)) = (&self.requires_python, config.python_version)
            && !range.admits_some(version)
        {
            return Err(self.other_python(version));
        }
        Ok(config.with_tool_dependencies(self.dependencies.iter().cloned()))
    }

    /// The error for a Python that the script does not run on.
    pub fn other_python(&self, version: impl ToString) -> ScriptMetadataError {
        let range = self.requires_python.as_ref().map(ToString::to_string).unwrap_or_default();
        let fault = ScriptMetadataFault::Python { range, version: version.to_string() };
        ScriptMetadataError { line: self.python_line, fault }
    }
}

/// The number of the block's first line, and what is in the block.
fn find(script: &str) -> Result<Option<(usize, String)>, ScriptMetadataError> {
    let script = script.strip_prefix('\u{feff}').unwrap_or(script);
    let lines: Vec<&str> = script.lines().collect();
    let mut found = None;
    let mut next = 0;
    while let Some(at) = lines[next..].iter().position(|line| *line == OPEN) {
        let first = next + at;
        let error = |fault| ScriptMetadataError { line: first + 1, fault };
        if found.is_some() {
            return Err(error(ScriptMetadataFault::Second));
        }
        let is_comment = |line: &&&str| **line == "#" || line.starts_with("# ");
        let length = lines[first + 1..].iter().take_while(is_comment).count();
        let block = &lines[first + 1..first + 1 + length];
        // The last end counts, because the block itself may have such a line.
        let Some(end) = block.iter().rposition(|line| *line == CLOSE) else {
            return Err(error(ScriptMetadataFault::Open));
        };
        let text = block[..end].iter().map(|line| format!("{}\n", line.get(2..).unwrap_or_default()));
        found = Some((first + 1, text.collect()));
        next = first + 1 + end + 1;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(script: &str) -> ScriptMetadata {
        ScriptMetadata::of(script).unwrap().unwrap()
    }

    fn refusal(script: &str) -> String {
        ScriptMetadata::of(script).unwrap_err().to_string()
    }

    #[test]
    fn a_script_names_its_packages_and_its_python() {
        let script = "#!/usr/bin/env python3\n\
                      # /// script\n\
                      # requires-python = \">=3.11\"\n\
                      # dependencies = [\n\
                      #   'requests<3',\n\
                      #\n\
                      #   \"rich; python_version < '4'\",\n\
                      # ]\n\
                      # [tool.other]\n\
                      # anything = { goes = true }\n\
                      # ///\n\
                      import requests\n";
        for script in [script.to_owned(), script.replace('\n', "\r\n"), format!("\u{feff}{script}")] {
            let metadata = of(&script);
            assert_eq!(metadata.dependencies, ["requests<3", "rich; python_version < '4'"]);
            assert_eq!(metadata.requires_python.as_ref().unwrap().to_string(), ">=3.11");
            assert_eq!(metadata.python_line, 3);
        }
    }

    #[test]
    fn a_tool_file_names_its_secrets() {
        let block = |settings: &str| format!("# /// script\n# [tool.belljar]\n# {settings}\n# ///\n");
        assert_eq!(of(&block("secrets = ['A', 'B', 'A']")).secrets, ["A", "B"]);
        assert_eq!(of("# /// script\n# ///\n").secrets, [""; 0]);
        for (settings, expected) in [
            ("secrets = ['a b']", "line 3: secret \"a b\" is invalid: must be a name of ASCII letters"),
            ("secrets = ['LD_PRELOAD']", "line 3: secret \"LD_PRELOAD\" is invalid: must not be set"),
            ("secrets = 'A'", "line 3: the block `# /// script` cannot be read: "),
            ("secret = ['A']", "line 3: the block `# /// script` cannot be read: unknown field `secret`"),
        ] {
            let text = refusal(&block(settings));
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn a_script_without_a_block_says_nothing() {
        for script in [
            "",
            "import os",
            "# ///",
            "#/// script\n# ///",
            "  # /// script",
            "# /// pyproject\n# x\n# ///\n",
        ] {
            assert_eq!(ScriptMetadata::of(script), Ok(None), "{script}");
        }
        assert_eq!(of("# /// script\n# ///\n").dependencies, [""; 0]);
    }

    #[test]
    fn a_block_ends_at_its_last_end() {
        let script =
            "# /// script\n# dependencies = ['a']\n# [tool.x]\n# y = '''\n# ///\n# '''\n# ///\n# more\n";
        assert_eq!(of(script).dependencies, ["a"]);
    }

    #[test]
    fn a_bad_block_is_refused_with_its_line() {
        for (script, expected) in [
            ("x\n# /// script\n# dependencies = []\n", "line 2: the block `# /// script` has no end"),
            ("# /// script\n# a = 1\nx = 1\n# ///\n", "line 1: the block `# /// script` has no end"),
            ("# /// script\n# ///\n\n# /// script\n# ///\n", "line 4: there is a second block"),
            (
                "# /// script\n#\n# dependencies = [\n# ///\n",
                "line 3: the block `# /// script` cannot be read: unclosed array",
            ),
            (
                "# /// script\n# dependencies = 'a'\n# ///\n",
                "line 2: the block `# /// script` cannot be read: invalid type",
            ),
            (
                "# /// script\n#\n# dependancies = []\n# ///\n",
                "line 3: the block `# /// script` cannot be read: unknown field `dependancies`",
            ),
            (
                "# /// script\n# dependencies = [\n#   'a',\n#   '--pre',\n# ]\n# ///\n",
                "line 4: dependency \"--pre\" is refused: it must not hold a word that begins with `-`",
            ),
            (
                "# /// script\n#\n# requires-python = '^3.11'\n# ///\n",
                "line 3: requires-python: \"^3.11\" is not a range of Python versions",
            ),
        ] {
            let told = refusal(script);
            assert!(told.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn packages_are_added_and_another_python_is_refused() {
        let metadata = of("# /// script\n# dependencies = ['b', 'a']\n# requires-python = '>=3.12'\n# ///\n");
        let config = SandboxConfig { dependencies: vec!["a".into()], ..SandboxConfig::default() };
        let added = metadata.add_to(&config).unwrap();
        assert_eq!((added.dependencies, added.python_version), (vec!["a".to_owned(), "b".to_owned()], None));
        let newer = SandboxConfig { python_version: "3.12".parse().ok(), ..config.clone() };
        assert!(metadata.add_to(&newer).is_ok());
        let older = SandboxConfig { python_version: "3.11".parse().ok(), ..config };
        assert_eq!(
            metadata.add_to(&older).unwrap_err().to_string(),
            "line 3: requires-python is \">=3.12\", but the sandbox has Python 3.11"
        );
    }
}
