//! What a model should know of tools, wherever they run.
//!
//! Functions of Python files are told of by the guest's own reader (`signatures.py`), in a cell: of
//! the sandbox that has the tools, or of one that has nothing. The files reach it as data. What
//! comes back is as little trusted as what any script says: it may describe tools of these files,
//! and must fit the rules for tools.

use std::collections::BTreeMap;

use belljar_core::config::{ExecutionMode, SandboxConfig};
use belljar_core::tool::{Signature, Tool, ToolError, ToolSet};
use belljar_core::{ExecutionRequest, ExecutionResult, Json, layout};
use belljar_engine::ToolSource;
use serde::Deserialize;

use super::Equipped;
use crate::{Runtime, RuntimeError, Sandbox};

/// Why tools could not be described.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescribeError {
    /// There was no cell to read files in.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// A file is not Python, or too long.
    #[error("tool file {file}{}: {problem}", .line.map_or_else(String::new, |line| format!(", line {line}")))]
    File {
        /// The file.
        file: String,
        /// The line, if it is one's fault.
        line: Option<u32>,
        /// What is wrong with it.
        problem: String,
    },
    /// Two tools have one name.
    #[error("{second} defines {name}, and so does {first}: a script can call only one of them by that name")]
    Clash {
        /// The name.
        name: String,
        /// Who came first: `a.py, line 3`, or the host's program.
        first: String,
        /// Who came second.
        second: String,
    },
    /// A function of a file cannot be a tool.
    #[error("{place}: {error}")]
    Function {
        /// The file and the line.
        place: String,
        /// The rule it breaks.
        #[source]
        error: ToolError,
    },
    /// A tool or a config breaks a rule.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The reader did not do its work. That is nobody's fault but Belljar's, or a limit's.
    #[error("tool files could not be read in a cell: {reason}")]
    Unanswered {
        /// How it ended.
        reason: String,
    },
}

/// What the reader says of a function, or of a file that it cannot read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Told {
    Unreadable { file: String, line: Option<u32>, error: String },
    Function(Signature),
}

/// A script that reads files, which come on stdin as pairs of a name and a text.
fn reader() -> String {
    format!(
        "import sys\nfrom {}.signatures import signatures\n\
         emit_result(signatures(json.loads(sys.stdin.buffer.read())))\n",
        layout::HARNESS_PACKAGE
    )
}

/// Who has a name that every script starts with.
const EVERYBODY: &str = "every script, from its start";

/// The tools of a sandbox, as it was made with them.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) config: SandboxConfig,
    pub(crate) files: Vec<ToolSource>,
    pub(crate) host: Vec<Tool>,
}

/// Describes tools before there is a sandbox for them. Their files are read in a cell that has
/// nothing else.
pub(crate) async fn describe(runtime: &Runtime, equipped: &Equipped) -> Result<ToolSet, DescribeError> {
    let Equipped { config, tools } = equipped;
    let tools = Tools {
        config: config.clone(),
        files: tools.guest_files().to_vec(),
        host: tools.host_tools().cloned().collect(),
    };
    let bare = match tools.files.is_empty() {
        true => None,
        false => Some(runtime.sandbox(bare(config)).await?),
    };
    describe_in(bare.as_ref(), &tools).await
}

/// Describes tools, and reads their files in a cell of this sandbox.
pub(crate) async fn describe_in(sandbox: Option<&Sandbox>, tools: &Tools) -> Result<ToolSet, DescribeError> {
    let Tools { config, files, host } = tools;
    let mut set = ToolSet::new();
    set.set_sandbox(config.clone())?;
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    for tool in host {
        owners.insert(tool.name.clone(), "the host's program".to_owned());
        set.add(tool.clone().with_sandbox(&config.name))?;
    }
    let told = match sandbox.filter(|_| !files.is_empty()) {
        Some(sandbox) => told(sandbox, files).await?,
        None => Vec::new(),
    };
    for (signature, source) in told {
        let place = format!("{}, line {}", signature.file, signature.line);
        let name = signature.name.clone();
        if let Some(first) = owners.insert(name.clone(), place.clone()) {
            return Err(DescribeError::Clash { name, first, second: place });
        }
        let mut tool = signature.into_tool(source.source.clone());
        if tool.is_given_to_scripts() {
            return Err(DescribeError::Clash { name, first: EVERYBODY.to_owned(), second: place });
        }
        tool.sandbox.clone_from(&config.name);
        if let Ok(Some(needs)) = source.needs() {
            (tool.secrets, tool.dependencies) = (needs.secrets, needs.dependencies);
        }
        set.add(tool).map_err(|error| DescribeError::Function { place, error })?;
    }
    Ok(set)
}

/// The functions of files, in order.
async fn told<'a>(
    sandbox: &Sandbox,
    files: &'a [ToolSource],
) -> Result<Vec<(Signature, &'a ToolSource)>, DescribeError> {
    let mut found = Vec::new();
    for told in read(sandbox, files).await? {
        let (file, told) = match told {
            Told::Function(signature) => (signature.file.clone(), Ok(signature)),
            Told::Unreadable { file, line, error } => (file, Err((line, error))),
        };
        let source = files.iter().find(|source| source.file_name == file);
        match (told, source) {
            (Ok(signature), Some(source)) => found.push((signature, source)),
            (Err((line, problem)), Some(_)) => return Err(DescribeError::File { file, line, problem }),
            (_, None) => return Err(unanswered("it tells of a file that nobody asked about")),
        }
    }
    Ok(found)
}

/// The Python that will run tools and what guards it, and nothing else of what they will have.
fn bare(config: &SandboxConfig) -> SandboxConfig {
    let SandboxConfig { python_version, base_image, require, .. } = config.clone();
    let plain = SandboxConfig::new("tool-reader");
    let preload = Some(Vec::new());
    SandboxConfig { python_version, base_image, require, preload, pool_size: 0, ..plain }
}

async fn read(sandbox: &Sandbox, files: &[ToolSource]) -> Result<Vec<Told>, DescribeError> {
    let pairs: Vec<_> = files.iter().map(|file| (&file.file_name, &file.source)).collect();
    let given = Json::of(&pairs).map_err(|error| unanswered(&error.to_string()))?;
    let request =
        ExecutionRequest::new(reader()).with_mode(ExecutionMode::Plan).with_stdin(given.as_str().to_owned());
    let ExecutionResult { verdict, final_data, error, .. } = sandbox.run(request).await?;
    let answer = final_data.and_then(|answer| answer.to::<Vec<Told>>().ok());
    answer.ok_or_else(|| unanswered(&error.unwrap_or_else(|| verdict.to_string())))
}

fn unanswered(reason: &str) -> DescribeError {
    DescribeError::Unanswered { reason: reason.to_owned() }
}
