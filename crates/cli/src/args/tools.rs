//! `belljar tools`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::EngineArgs;

/// `belljar tools`.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the functions: what a script calls them with, and what they do
    List {
        #[command(flatten)]
        files: ToolFiles,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print them as JSON Schemas for function calling
    Schema {
        #[command(flatten)]
        files: ToolFiles,
        /// Whose form the schemas have
        #[arg(long, value_enum, default_value = "openai")]
        form: SchemaForm,
    },
    /// Print them as text for a prompt
    Prompt {
        #[command(flatten)]
        files: ToolFiles,
    },
    /// Print them as a Python stub file
    Stubs {
        #[command(flatten)]
        files: ToolFiles,
    },
}

/// Which files, and where they are read.
#[derive(Debug, Args)]
pub(crate) struct ToolFiles {
    /// Python files, or directories of such files
    #[arg(value_name = "FILE.py|DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Read them as this version of Python does, such as 3.12
    #[arg(long, value_name = "VERSION")]
    pub(crate) python: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// Whose API a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaForm {
    Openai,
    Anthropic,
    Mcp,
}
