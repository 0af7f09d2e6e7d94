//! Everything that can go wrong with an engine, and whose fault it is.
//!
//! The variants are failures that every engine can have. A failure that only one engine knows is
//! that engine's own error, carried by [`EngineError::Engine`] together with whose fault it is. So
//! an engine outside this crate can report its own errors.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use belljar_core::config::ConfigError;

use crate::LinkOnTheWay;

/// An engine's failure. A script's failure is never one of these: it is a verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The config breaks a rule.
    #[error("sandbox `{name}`: {source}")]
    Config {
        /// The config's name.
        name: String,
        /// The rule that it breaks.
        source: ConfigError,
    },
    /// This machine lacks something without which no cell can be made.
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
        /// Why it cannot be enforced.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The config asks for more of something than this machine has.
    #[error("{what} is more than this machine has for the {engine} engine: {reason}. {remedy}")]
    Exceeds {
        /// The engine.
        engine: &'static str,
        /// What was asked for.
        what: String,
        /// What there is.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// A file resource does not exist, or cannot be accessed.
    #[error("file resource {host_path} -> {container_path}: {source}")]
    Resource {
        /// Where it should be.
        host_path: PathBuf,
        /// Where it would be mounted.
        container_path: String,
        /// What is wrong.
        source: io::Error,
    },
    /// A file resource is reached through a link that a guest can have made.
    #[error("file resource {host_path}: {link}")]
    LinkInResource {
        /// What was asked for.
        host_path: PathBuf,
        /// The link on the way to it.
        link: LinkOnTheWay,
    },
    /// A script could replace a file resource with something else.
    #[error(
        "file resource {inner} is inside {outer}, which scripts may write to: a script could put something else in its place. \
         Grant {outer} alone, make it read-only, or move {inner} out of it"
    )]
    ReplaceableResource {
        /// The resource inside.
        inner: PathBuf,
        /// The writable resource around it.
        outer: PathBuf,
    },
    /// Two tools have the same file name, or a file name is not valid.
    #[error("tool file name `{name}` {rule}")]
    ToolName {
        /// The name.
        name: String,
        /// What is wrong with it.
        rule: &'static str,
    },
    /// What a template makes its cells from is gone. Preparing the blueprint again may help, and
    /// the pool does that.
    #[error("what sandbox `{name}` makes its cells from is gone{}", quoted(.last_words))]
    TemplateGone {
        /// The sandbox.
        name: String,
        /// What it wrote last.
        last_words: String,
    },
    /// A cell could not be made.
    #[error("a cell of sandbox `{name}` could not be made: {reason}")]
    Spawn {
        /// The sandbox.
        name: String,
        /// Why.
        reason: String,
    },
    /// An ordinary operation failed.
    #[error("{action} failed{}", limit_in_the_way(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A failure that only this engine knows.
    #[error(transparent)]
    Engine(EngineFailure),
}

/// An engine's own error, and whose fault it is. It displays as the error itself does.
#[derive(Debug)]
pub struct EngineFailure {
    engine: &'static str,
    fault: Fault,
    error: Box<dyn Error + Send + Sync>,
}

impl EngineFailure {
    /// The engine's name.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// The engine's own error.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        self.error.as_ref()
    }
}

impl fmt::Display for EngineFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for EngineFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// Whose fault a failure is. Status codes and exit codes follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The caller asked for something impossible.
    Caller,
    /// The machine, or a program we depend on, does not do its part.
    Backend,
    /// Belljar itself is at fault.
    Internal,
}

impl EngineError {
    /// Wraps an engine's own error.
    pub fn of_engine(
        engine: &'static str,
        fault: Fault,
        error: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Engine(EngineFailure { engine, fault, error: error.into() })
    }

    /// For `map_err`: names what was tried.
    pub fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// The engine's own error, if it is of this type.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Engine(failure) => failure.error.downcast_ref(),
            _ => None,
        }
    }

    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            // A shortage on the machine is not the caller's fault.
            Self::Resource { source, .. } if is_shortage(source) => Fault::Backend,
            Self::Config { .. }
            | Self::Unenforceable { .. }
            | Self::Exceeds { .. }
            | Self::Resource { .. }
            | Self::LinkInResource { .. }
            | Self::ReplaceableResource { .. }
            | Self::ToolName { .. } => Fault::Caller,
            Self::Machine { .. } | Self::TemplateGone { .. } | Self::Spawn { .. } => Fault::Backend,
            Self::Io { source, .. } if is_shortage(source) => Fault::Backend,
            Self::Io { .. } => Fault::Internal,
            Self::Engine(failure) => failure.fault,
        }
    }
}

/// The end of a message about an error that a limit on files, processes or threads caused: what to
/// do. Other shortages mean different things in different places.
pub(crate) fn limit_in_the_way(error: &io::Error) -> String {
    #[cfg(any(feature = "native", feature = "docker", feature = "local"))]
    {
        const EAGAIN: i32 = 11;
        const ENFILE: i32 = 23;
        const EMFILE: i32 = 24;
        const EFBIG: i32 = 27;
        const ETOOMANYREFS: i32 = 109;
        if let Some(number @ (EAGAIN | ENFILE | EMFILE | EFBIG | ETOOMANYREFS)) = error.raw_os_error()
            && let Some(remedy) = belljar_jail::shortage(number)
        {
            return format!(": {remedy}");
        }
    }
    let _ = error;
    String::new()
}

/// Whether the machine has run out of something: disk space, memory, descriptors, processes.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    const EAGAIN: i32 = 11;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::OutOfMemory];
    kinds.contains(&error.kind()) || matches!(error.raw_os_error(), Some(EAGAIN | ENFILE | EMFILE))
}

/// Whether a message of a program that runs elsewhere says that a disk is full.
#[cfg(feature = "docker")]
pub(crate) fn says_disk_is_full(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["no space left on device", "disk quota exceeded"].iter().any(|sign| text.contains(sign))
}

fn quoted(words: &str) -> String {
    match words.trim() {
        "" => String::new(),
        words => format!("; its last words: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the kettle is cold")]
    struct Cold(#[source] io::Error);

    #[test]
    fn an_engine_outside_reports_its_own_error_and_whose_fault_it_is() {
        let error =
            EngineError::of_engine("kettle", Fault::Backend, Cold(io::Error::other("nobody lit a fire")));
        assert_eq!(error.to_string(), "the kettle is cold");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("nobody lit a fire"));
        assert_eq!(error.fault(), Fault::Backend);
        assert!(error.downcast_ref::<Cold>().is_some() && error.downcast_ref::<io::Error>().is_none());
    }

    #[test]
    fn a_full_disk_is_nobodys_wish() {
        let resource = |kind: io::ErrorKind| EngineError::Resource {
            host_path: "/data".into(),
            container_path: "/data/x".into(),
            source: kind.into(),
        };
        assert_eq!(resource(io::ErrorKind::NotFound).fault(), Fault::Caller);
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::OutOfMemory] {
            assert_eq!(resource(kind).fault(), Fault::Backend, "{kind}");
        }
        const ENOSPC: i32 = 28;
        let full = EngineError::io("stage a file")(io::Error::from_raw_os_error(ENOSPC));
        assert_eq!(full.fault(), Fault::Backend);
    }
}
