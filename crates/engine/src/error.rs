//! Everything that can go wrong with an engine, and whose fault it is.

use std::io;
use std::path::PathBuf;

use belljar_core::config::ConfigError;
use belljar_jail::LaunchError;

use crate::builder::LayerError;
use crate::docker::DockerError;
use crate::python::PythonError;

/// An engine's failure. A script's failure is never one of these: it is a verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The config breaks a rule.
    #[error("sandbox `{name}`: {source}")]
    Config {
        /// The config's name.
        name: String,
        /// The rule.
        source: ConfigError,
    },
    /// This machine lacks something that no cell can do without.
    #[error("no cell can be made on this machine: {what} is missing: {reason}. {remedy}")]
    Machine {
        /// What is missing.
        what: &'static str,
        /// Why.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The config asks for something this engine cannot enforce here.
    #[error("the {engine} engine cannot enforce {what}: {reason}. {remedy}")]
    Unenforceable {
        /// The engine.
        engine: &'static str,
        /// What was asked for.
        what: String,
        /// Why it cannot.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// A file resource is not there.
    #[error("file resource {host_path} -> {container_path}: {source}")]
    Resource {
        /// Where it should be.
        host_path: PathBuf,
        /// Where it would show up.
        container_path: String,
        /// What is wrong.
        source: io::Error,
    },
    /// A file resource that is reached through a link which a guest can have made.
    #[error(
        "file resource {host_path}: {link} is a symbolic link to {target} that is not followed, because somebody else than root \
         could have put it there. Name the place itself that is meant"
    )]
    LinkInResource {
        /// What was asked for.
        host_path: PathBuf,
        /// The link on the way there.
        link: PathBuf,
        /// What it says.
        target: PathBuf,
    },
    /// A file resource that a script could replace by something else.
    #[error(
        "file resource {inner} is inside {outer}, which scripts may write to: a script could put something else in its place. \
         Grant {outer} alone, make it read-only, or move {inner} out of it"
    )]
    ReplaceableResource {
        /// The one inside.
        inner: PathBuf,
        /// The writable one around it.
        outer: PathBuf,
    },
    /// Two tools have one name, or a name that is none.
    #[error("tool file name `{name}` {rule}")]
    ToolName {
        /// The name.
        name: String,
        /// What is wrong with it.
        rule: &'static str,
    },
    /// No interpreter fits.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// The dependencies could not be installed.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The jail did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A step of the jail's set-up was refused by the kernel.
    #[error("the jail could not be built: {step}: {error}. {remedy}")]
    Jail {
        /// The step.
        step: String,
        /// The kernel's answer.
        error: String,
        /// What to do.
        remedy: String,
    },
    /// The zygote died.
    #[error("the zygote of sandbox `{name}` is gone{}", last_words(.stderr))]
    ZygoteGone {
        /// The sandbox.
        name: String,
        /// What it said last.
        stderr: String,
    },
    /// A cell could not be made.
    #[error("a cell of sandbox `{name}` could not be made: {reason}")]
    Spawn {
        /// The sandbox.
        name: String,
        /// Why.
        reason: String,
    },
    /// The way out could not be made ready or opened.
    #[error("the egress proxy cannot serve")]
    Egress(#[source] belljar_proxy::EgressError),
    /// The container daemon, or something on it.
    #[error(transparent)]
    Docker(Box<DockerError>),
    /// A control group could not be made.
    #[error("{message}")]
    Cgroup {
        /// What and where.
        message: String,
        /// Why.
        source: io::Error,
    },
    /// Talking to the zygote failed.
    #[error("{action} failed")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

fn last_words(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        words => format!("; its last words: {words}"),
    }
}

/// Whose fault a failure is; status codes and exit codes follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The caller asked for something impossible.
    Caller,
    /// The machine or a program we depend on does not do its part.
    Backend,
    /// Ours.
    Internal,
}

impl EngineError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Config { .. }
            | Self::Unenforceable { .. }
            | Self::Resource { .. }
            | Self::LinkInResource { .. }
            | Self::ReplaceableResource { .. }
            | Self::ToolName { .. } => Fault::Caller,
            Self::Python(error) if error.is_the_machines() => Fault::Backend,
            Self::Python(_) => Fault::Caller,
            Self::Layer(error) if error.is_the_machines() => Fault::Backend,
            Self::Layer(_) => Fault::Caller,
            Self::Egress(error) if error.is_the_callers() => Fault::Caller,
            Self::Docker(error) if error.is_the_callers() => Fault::Caller,
            Self::Machine { .. }
            | Self::Launch(_)
            | Self::Jail { .. }
            | Self::ZygoteGone { .. }
            | Self::Spawn { .. }
            | Self::Egress(_)
            | Self::Docker(_)
            | Self::Cgroup { .. } => Fault::Backend,
            Self::Io { .. } => Fault::Internal,
        }
    }

    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}
