//! The command line, word by word. [`settings`](crate::settings) says what it means together.

mod agent;
mod artifact;
mod cache;
mod exec;
mod mcp;
mod secrets;
mod serve;
mod tools;
mod workspace;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::agent::{AgentArgs, ModelArgs};
pub(crate) use self::artifact::{ArtifactCommand, ArtifactStoreArgs, LoadArgs, SaveArgs};
pub(crate) use self::cache::{CacheCommand, ClearArgs, PruneCacheArgs};
pub(crate) use self::exec::ExecArgs;
pub(crate) use self::mcp::McpArgs;
pub(crate) use self::secrets::{GivenSecret, SecretArgs};
pub(crate) use self::serve::{
    ListRunsArgs, LogsArgs, McpServerArgs, NewTokenArgs, OfferArgs, OneRunArgs, RunsCommand, ServeArgs,
    StateArgs, TokenCommand,
};
pub(crate) use self::tools::{SchemaForm, ToolFiles, ToolsCommand};
pub(crate) use self::workspace::{
    CollectArgs, DiffArgs, ForkArgs, GetArgs, InputArgs, LsArgs, NewArgs, PutArgs, RmArgs, StoreArgs,
    WsCommand, WsRunArgs, WsShellArgs,
};
use crate::{env, exit, units};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "belljar", version, max_term_width = 110)]
#[command(
    about = "Runs Python that a model wrote: each time in a fresh sandbox, and honest about how it ended"
)]
#[command(after_help = exit::in_help())]
pub(crate) struct Arguments {
    /// Print more on stderr, such as the output of installers
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a script in a fresh sandbox, pass on what it prints, and print its result as JSON
    Run(RunArgs),
    /// Run one program in a fresh sandbox: a source in any language, or a command
    Exec(ExecArgs),
    /// Keep workspaces: directories that outlive the programs that run in them
    #[command(subcommand, visible_alias = "workspace")]
    Ws(WsCommand),
    /// Keep files that outlive their workspaces, in versions
    #[command(subcommand)]
    Artifact(ArtifactCommand),
    /// Have a model write scripts for a task, run them, and print the result as JSON
    Agent(AgentArgs),
    /// Type Python step by step into one sandbox that keeps its variables
    Shell(ShellArgs),
    /// Serve all of this over HTTP: runs, sessions, and their history
    Serve(Box<ServeArgs>),
    /// Serve it to a model's client: the Model Context Protocol over stdin and stdout
    Mcp(Box<McpServerArgs>),
    /// Manage the tokens of a server's clients
    #[command(subcommand)]
    Token(TokenCommand),
    /// Show what a server has run
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Show which protections this machine offers, and what to do about those it lacks
    Doctor(DoctorArgs),
    /// Measure how fast sandboxes are on this machine
    Bench(BenchArgs),
    /// Build the container image of a sandbox, unless it exists already, and print its name
    Build(BuildArgs),
    /// Show what a model should know of the functions in Python files. Nothing of them runs
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Manage the packages that belljar keeps on this machine
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Manage what belljar keeps on a container daemon
    #[command(subcommand)]
    Docker(DockerCommand),
    /// Print a script that completes this command in a shell
    Completions(CompletionsArgs),
    /// Print the manual page of this command, or write the pages of all commands
    Man(ManArgs),
}

/// `belljar completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to print it for
    pub(crate) shell: clap_complete::Shell,
}

/// `belljar man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write one page for each command into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// `belljar build`.
#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// `belljar docker`.
#[derive(Debug, Subcommand)]
pub(crate) enum DockerCommand {
    /// Remove what earlier programs left behind, after asking. Nothing that is in use is removed
    Prune(PruneArgs),
}

/// `belljar docker prune`.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Also remove images that no container uses. They are built again when needed
    #[arg(long)]
    pub(crate) images: bool,
    /// Remove without asking
    #[arg(long, short = 'y', conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Only show what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `belljar run`.
#[derive(Debug, Args)]
#[command(after_help = exit::in_help())]
pub(crate) struct RunArgs {
    /// The script; `-` or nothing reads it from stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Run this code instead of a file
    #[arg(short = 'c', value_name = "CODE", conflicts_with = "file")]
    pub(crate) code: Option<String>,
    /// Run this module instead of a file, as `python -m` does
    #[arg(short = 'm', value_name = "MODULE", conflicts_with_all = ["file", "code"])]
    pub(crate) module: Option<String>,
    /// What the script finds in `sys.argv` after its own name
    #[arg(last = true, value_name = "ARG")]
    pub(crate) args: Vec<String>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Do not pass on stdin, which is otherwise read as soon as the script starts
    #[arg(long)]
    pub(crate) no_stdin: bool,
    /// Print the result as one JSON object, and nothing else on stdout
    #[arg(long, conflicts_with = "events")]
    pub(crate) json: bool,
    /// Print each event as one line of JSON as it happens. The last one, `ended`, has the result
    #[arg(long)]
    pub(crate) events: bool,
    /// `script`: what `python FILE` does, with the script's own exit code. `plan`: the script must
    /// call emit_result. `interactive`: it need not, and its last expression is shown [default:
    /// what the sandbox file says, or `script`]
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// Name the execution in events and result. Without it, a name is made up
    #[arg(long, value_name = "ID")]
    pub(crate) execution_id: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
    #[command(flatten)]
    pub(crate) mcp: McpArgs,
}

/// Files for scripts, and files of theirs.
#[derive(Debug, Default, Args)]
pub(crate) struct FileArgs {
    /// Put a file or directory into the script's directory before it starts. `DIR:.` puts in what
    /// is in it. May be repeated
    #[arg(id = "given_files", long = "file", value_name = "PATH[:NAME]")]
    pub(crate) given: Vec<String>,
    /// Save every file that the script makes or changes in its directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// With --out: save only these files, such as `*.png` or `plots/**`. May be repeated
    #[arg(long, value_name = "GLOB", requires = "out")]
    pub(crate) collect: Vec<String>,
}

/// `belljar shell`.
#[derive(Debug, Args)]
pub(crate) struct ShellArgs {
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
    #[command(flatten)]
    pub(crate) mcp: McpArgs,
}

/// `belljar doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// The engine to look at: native, docker or local
    #[arg(long, value_name = "NAME", default_value = "native", env = env::ENGINE, hide_env_values = true, value_parser = engine)]
    pub(crate) engine: EngineName,
}

/// `belljar bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Calls to measure; slow things are measured fewer times
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) count: u32,
    /// How long each load is kept up, in seconds
    #[arg(long, value_name = "SECS", default_value_t = 3.0, value_parser = seconds_of_load)]
    pub(crate) seconds: f64,
    /// The largest number of cells to keep alive at once
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) cells: u32,
    /// Run a soak test instead: so many runs by 32 callers on 4 warm cells and 4 more, and what
    /// they leave behind
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u32).range(32..=1_000_000))]
    pub(crate) soak: Option<u32>,
    /// The engine to measure: native or docker
    #[arg(long, value_name = "NAME", default_value = "native", env = env::ENGINE, hide_env_values = true, value_parser = engine)]
    pub(crate) engine: EngineName,
    /// With docker: how often a container is used before a new one replaces it
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_uses: u32,
    /// Also measure cells with pandas imported ahead (installs it once)
    #[arg(long)]
    pub(crate) pandas: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn seconds_of_load(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("must be a number from 0.01 to 600".into()),
    }
}

/// Which engine makes the sandbox.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct EngineArgs {
    /// How to make it: `native` from Linux namespaces, `docker` from containers, `local` as a plain
    /// subprocess with no isolation at all
    #[arg(id = "engine", long, value_name = "NAME", default_value = "native", env = env::ENGINE, hide_env_values = true, value_parser = engine)]
    pub(crate) name: EngineName,
}

/// The sandbox itself. Each option overrides the sandbox file.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxArgs {
    /// Read the sandbox from this TOML file
    #[arg(long, value_name = "FILE.toml", env = env::SANDBOX, hide_env_values = true)]
    pub(crate) sandbox: Option<PathBuf>,
    #[arg(long, value_name = "TIME", env = env::TIMEOUT, hide_env_values = true, allow_negative_numbers = true, value_parser = units::seconds, help = help::timeout())]
    pub(crate) timeout: Option<f64>,
    #[arg(long, value_name = "SIZE", env = env::MEMORY, hide_env_values = true, allow_negative_numbers = true, value_parser = units::mebibytes, help = help::memory())]
    pub(crate) memory: Option<u64>,
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = units::mebibytes, help = help::disk())]
    pub(crate) disk: Option<u64>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = help::pids())]
    pub(crate) pids: Option<u32>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = help::cpus())]
    pub(crate) cpus: Option<f64>,
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = units::mebibytes, help = help::max_output())]
    pub(crate) max_output: Option<u64>,
    /// Let the script talk to this host (port 443 unless given). May be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) allow_host: Vec<String>,
    /// Show the script a file or directory of this machine, read-only unless `:rw`. May be repeated
    #[arg(long, value_name = "HOST:GUEST[:ro|rw]")]
    pub(crate) mount: Vec<String>,
    /// Load the functions in this file, or in the files of this directory, for scripts to call. May
    /// be repeated
    #[arg(long, value_name = "FILE.py|DIR")]
    pub(crate) tool: Vec<PathBuf>,
    /// Install this package, once, before the first run. May be repeated
    #[arg(long, value_name = "PKG")]
    pub(crate) dep: Vec<String>,
    /// Install the packages that this file lists, as `--dep` does. May be repeated
    #[arg(long, short = 'r', value_name = "FILE.txt")]
    pub(crate) requirements: Vec<PathBuf>,
    /// Use this version of Python and no other, such as 3.11
    #[arg(long, value_name = "VERSION")]
    pub(crate) python: Option<String>,
    #[command(flatten)]
    pub(crate) secrets: SecretArgs,
    /// With docker, if this program runs in a container itself: what the daemon's host calls a path
    /// here. May be repeated
    #[arg(long, value_name = "HERE=THERE", env = env::HOST_PATH_MAP, hide_env_values = true, value_delimiter = ',')]
    pub(crate) map_path: Vec<String>,
    /// Set a variable that the script can read. Do not use it for secrets: others can see this
    /// command line. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
}

/// An engine that this version has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EngineName {
    /// Linux namespaces.
    #[default]
    Native,
    /// Containers.
    Docker,
    /// Plain subprocesses.
    Local,
}

impl EngineName {
    /// As it is called in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Docker => "docker",
            Self::Local => "local",
        }
    }
}

fn engine(name: &str) -> Result<EngineName, String> {
    match name {
        "native" => Ok(EngineName::Native),
        "docker" => Ok(EngineName::Docker),
        "local" => Ok(EngineName::Local),
        _ => Err("no such engine; this version has: native, docker, local".into()),
    }
}

/// Help that names the library's own defaults.
mod help {
    use belljar::SandboxConfig;
    use belljar::config::ResourceLimits;

    fn limits() -> ResourceLimits {
        SandboxConfig::default().resource_limits
    }

    pub(super) fn timeout() -> String {
        let seconds = limits().execution_timeout_sec;
        format!("End the script after this time: seconds, or with a unit such as 2m30s [default: {seconds}s]")
    }

    pub(super) fn memory() -> String {
        let mebibytes = limits().memory_mb;
        format!(
            "Memory that the script and its children may use: MiB, or with a unit such as 1.5g [default: {mebibytes}m]"
        )
    }

    pub(super) fn disk() -> String {
        let mebibytes = SandboxConfig::default().scratch_size_mb;
        format!("Room for files, which are in memory too: MiB, or with a unit [default: {mebibytes}m]")
    }

    pub(super) fn max_output() -> String {
        let mebibytes = limits().max_output_bytes >> 20;
        format!(
            "How much the script may print, emit and show before it is ended: MiB, or with a unit [default: {mebibytes}m]"
        )
    }

    pub(super) fn pids() -> String {
        format!("How many processes and threads there may be at a time [default: {}]", limits().pids_limit)
    }

    pub(super) fn cpus() -> String {
        format!("How many processors the script may keep busy [default: {}]", limits().cpu_quota)
    }
}

/// Whole scripts or steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Script,
    Plan,
    Interactive,
}

impl From<Mode> for belljar::config::ExecutionMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Script => Self::Script,
            Mode::Plan => Self::Plan,
            Mode::Interactive => Self::Interactive,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_engine_that_there_is_not_is_refused_with_those_there_are() {
        let error = Arguments::try_parse_from(["belljar", "run", "--engine", "firecracker"]).unwrap_err();
        assert!(error.to_string().contains("this version has: native, docker, local"), "{error}");
    }

    #[test]
    fn an_image_is_built_for_containers_and_there_is_no_engine_to_choose() {
        assert!(Arguments::try_parse_from(["belljar", "build", "--engine", "native"]).is_err());
        assert!(Arguments::try_parse_from(["belljar", "build", "--json"]).is_ok());
    }
}
