//! `belljar ws`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::artifact::SessionArgs;
use super::{EngineArgs, SandboxArgs};
use crate::{env, exit, units};

/// `belljar ws`.
#[derive(Debug, Subcommand)]
pub(crate) enum WsCommand {
    /// Make an empty workspace
    New(NewArgs),
    /// List the workspaces that there are
    Ls(LsArgs),
    /// Copy files and directories into a workspace. What has the same name there is replaced
    Put(PutArgs),
    /// Copy a file or a directory out of a workspace. Links in it are not followed
    Get(GetArgs),
    /// Run a program in a workspace, and pass on what it prints
    Run(WsRunArgs),
    /// Open a terminal in a workspace
    Shell(WsShellArgs),
    /// Show the files that match, save them to a directory, or keep them as artifacts
    Collect(CollectArgs),
    /// Make a second workspace of the same content
    Fork(ForkArgs),
    /// Show what is different in a second workspace
    Diff(DiffArgs),
    /// Remove workspaces with everything in them
    Rm(RmArgs),
}

/// Where workspaces are kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workspaces")]
pub(crate) struct StoreArgs {
    /// Where workspaces are kept; each engine has a directory in it [default: belljar/workspaces in
    /// XDG_DATA_HOME, or in ~/.local/share]
    #[arg(long, value_name = "DIR", env = env::WORKSPACES, hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// `belljar ws new`.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// What to call it: letters, digits, `-` and `_`
    pub(crate) name: String,
    /// How much it may hold: MiB, or with a unit such as 1.5g [default: as much as the disk has]
    #[arg(long, value_name = "SIZE", value_parser = units::mebibytes)]
    pub(crate) max_disk: Option<u64>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `belljar ws ls`.
#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// Also add up what is in them, which takes longer
    #[arg(long)]
    pub(crate) size: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `belljar ws put`.
#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// The workspace
    pub(crate) name: String,
    /// Files and directories of this machine. `DIR/.` is what is in a directory, and `-` is stdin
    #[arg(required = true, value_name = "SRC")]
    pub(crate) sources: Vec<PathBuf>,
    /// Where to: the new name, or a directory if it is one, ends in `/`, or there are several
    /// sources [default: the workspace itself]
    #[arg(long, value_name = "PATH")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `belljar ws get`.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The workspace
    pub(crate) name: String,
    /// A file or a directory in it; `.` is everything
    pub(crate) path: String,
    /// Where to: a directory that is there, or the new name. `-` writes a file to stdout [default:
    /// the current directory]
    #[arg(value_name = "DEST")]
    pub(crate) to: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `belljar ws run`.
#[derive(Debug, Args)]
#[command(after_help = exit::in_help())]
pub(crate) struct WsRunArgs {
    /// The workspace
    pub(crate) name: String,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
    /// Where it starts, below the workspace
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) cwd: String,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Print one JSON object with its exit code and what it printed, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// What a program reads.
#[derive(Debug, Default, Args)]
pub(crate) struct InputArgs {
    /// Pass on stdin also if it is a terminal. Anything else is always passed on
    #[arg(long, conflicts_with = "no_stdin")]
    pub(crate) stdin: bool,
    /// Do not pass on stdin
    #[arg(long)]
    pub(crate) no_stdin: bool,
}

/// `belljar ws shell`.
#[derive(Debug, Args)]
pub(crate) struct WsShellArgs {
    /// The workspace
    pub(crate) name: String,
    /// What to run in the terminal [default: bash, or sh where that is not found]
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
    /// Where it starts, below the workspace
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) cwd: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// `belljar ws collect`.
#[derive(Debug, Args)]
pub(crate) struct CollectArgs {
    /// The workspace
    pub(crate) name: String,
    /// Which files, such as `out/**` or `*.png`
    #[arg(required = true, value_name = "GLOB")]
    pub(crate) globs: Vec<String>,
    /// Save them below this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// With --out: replace files that are there already
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Keep them as artifacts, each as a new version
    #[arg(long)]
    pub(crate) save: bool,
    /// With --save: what their names begin with
    #[arg(long, value_name = "TEXT", default_value = "", requires = "save")]
    pub(crate) prefix: String,
    /// With --save: where artifacts are kept, a directory or `s3://BUCKET/PREFIX`
    #[arg(long, value_name = "DIR|URL", env = env::ARTIFACTS, hide_env_values = true)]
    pub(crate) artifacts: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `belljar ws fork`.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// The workspace
    pub(crate) name: String,
    /// What to call the second
    pub(crate) new: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `belljar ws diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first
    pub(crate) one: String,
    /// The second
    pub(crate) other: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `belljar ws rm`.
#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The workspaces
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// One that is not there is no error
    #[arg(long, short)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
