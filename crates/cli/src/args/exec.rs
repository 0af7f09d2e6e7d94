//! `belljar exec`.

use std::path::PathBuf;

use clap::Args;

use super::workspace::InputArgs;
use super::{EngineArgs, FileArgs, SandboxArgs};
use crate::exit;

/// `belljar exec`.
#[derive(Debug, Args)]
#[command(
    override_usage = "belljar exec [OPTIONS] FILE [-- ARG...]\n       belljar exec [OPTIONS] -- CMD [ARG...]"
)]
#[command(after_help = exit::in_help())]
pub(crate) struct ExecArgs {
    /// A program's source, in any language that `--lang` takes. It is compiled if it has to be
    #[arg(value_name = "FILE")]
    pub(crate) source: Option<PathBuf>,
    /// The arguments of the program; without FILE, the program itself and its arguments
    #[arg(last = true, value_name = "ARG")]
    pub(crate) args: Vec<String>,
    /// The language of FILE [default: what its name ends in]
    #[arg(long, value_name = "LANG", requires = "source")]
    pub(crate) lang: Option<String>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Print one JSON object with its exit code and what it printed, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}
