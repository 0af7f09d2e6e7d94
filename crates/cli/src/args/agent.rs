//! `belljar agent`.

use std::time::Duration;

use belljar::agent::{AgentMode, Provider};
use clap::{Args, ValueEnum};

use super::{EngineArgs, FileArgs, McpArgs, SandboxArgs};
use crate::{exit, units};

/// `belljar agent`.
#[derive(Debug, Args)]
#[command(after_help = exit::in_help())]
pub(crate) struct AgentArgs {
    /// What is to be done, in words
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// `plan`: one script does it all, and is written again if it fails. `interactive`: steps in
    /// one session, of which the model sees each
    #[arg(long, value_enum, default_value = "plan")]
    pub(crate) mode: AgentModeName,
    /// With `plan`: how many scripts are tried
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_attempts: u32,
    /// With `interactive`: how many steps there may be
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) max_steps: u32,
    /// End the whole task after this time: seconds, or with a unit such as 5m
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    pub(crate) max_time: Duration,
    /// Ask no more when the model has read and written so many tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Print the record of the task as one JSON object, and nothing else on stdout
    #[arg(long, conflicts_with = "events")]
    pub(crate) json: bool,
    /// Print each event as one line of JSON as it happens. The last one, `ended`, has the record
    #[arg(long)]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) mcp: McpArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// Which model writes the scripts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// The model that writes the scripts. Its key is in BELLJAR_MODEL_KEY, OPENAI_API_KEY or
    /// ANTHROPIC_API_KEY
    #[arg(long, value_name = "NAME")]
    pub(crate) model: String,
    /// How its server speaks: `openai`, as many do, or `anthropic` [default: `anthropic` for names
    /// that begin with `claude`, or `openai`]
    #[arg(long, value_name = "NAME", value_parser = provider)]
    pub(crate) provider: Option<Provider>,
    /// Where its server is, such as http://127.0.0.1:8000/v1 [default: that of the provider]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

impl ModelArgs {
    /// How its server speaks.
    pub(crate) fn provider(&self) -> Provider {
        let by_name = || match self.model.starts_with("claude") {
            true => Provider::Anthropic,
            false => Provider::OpenAi,
        };
        self.provider.unwrap_or_else(by_name)
    }
}

fn time(text: &str) -> Result<Duration, String> {
    const LONGEST: f64 = 30.0 * 86_400.0;
    match units::seconds(text)? {
        seconds if seconds > 0.0 && seconds <= LONGEST => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("must be more than 0 s and at most 30 days".into()),
    }
}

fn provider(name: &str) -> Result<Provider, String> {
    name.parse().map_err(|error: belljar::agent::UnknownProvider| error.to_string())
}

/// One script, or steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentModeName {
    Plan,
    Interactive,
}

impl From<AgentModeName> for AgentMode {
    fn from(mode: AgentModeName) -> Self {
        match mode {
            AgentModeName::Plan => Self::Plan,
            AgentModeName::Interactive => Self::Interactive,
        }
    }
}
