//! Where a server is, and how it is started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belljar_core::Secret;

use crate::{McpConnection, McpError, ServerTextError, child, configured, naming};

/// How long a server may take to be ready. Some install themselves at their first start.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How long one call may take.
const CALL_WITHIN: Duration = Duration::from_secs(60);

/// A server that is not connected to yet.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use belljar_mcp::McpServer;
/// use belljar_runtime::{Runtime, SandboxConfig, ToolRegistry};
///
/// let time = McpServer::command("mcp-server-time", ["--local-timezone", "UTC"]).connect().await?;
/// let tools = time.add_to(ToolRegistry::new())?;
/// let sandbox = Runtime::new().await?.sandbox(tools.for_config(SandboxConfig::default())).await?;
/// sandbox.run("emit_result(time_get_current_time(timezone='UTC').data)").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct McpServer {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) ready_within: Duration,
    pub(crate) call_within: Duration,
    pub(crate) raises: bool,
}

/// Where it is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Process {
        program: OsString,
        arguments: Vec<OsString>,
        /// Added to the environment of this process. Values may be keys, so they are not shown.
        environment: BTreeMap<String, Secret>,
        directory: Option<PathBuf>,
    },
    Address {
        url: String,
        headers: BTreeMap<String, Secret>,
    },
}

impl McpServer {
    /// A program that speaks MCP over its stdin and stdout. It gets the environment of this
    /// process.
    pub fn command(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let (program, arguments) =
            (program.into(), arguments.into_iter().map(Into::into).collect::<Vec<_>>());
        let words = std::iter::once(&program).chain(&arguments).map(|word| word.to_string_lossy());
        let name = naming::of_command(words);
        Self::new(name, Place::Process { program, arguments, environment: BTreeMap::new(), directory: None })
    }

    /// A server that is reached over HTTP.
    pub fn url(url: impl Into<String>) -> Self {
        let url = url.into();
        Self::new(naming::of_url(&url), Place::Address { url, headers: BTreeMap::new() })
    }

    fn new(name: String, place: Place) -> Self {
        Self { name, place, ready_within: READY_WITHIN, call_within: CALL_WITHIN, raises: false }
    }

    /// Reads an address, or a command as a shell would split it. No shell is involved.
    ///
    /// `name=` before either is what the server is called.
    pub fn from_text(text: &str) -> Result<Self, ServerTextError> {
        let text = text.trim();
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) if naming::is_name(name) => (Some(name.trim_end()), rest.trim()),
            _ => (None, text),
        };
        let server = if rest.starts_with("http://") || rest.starts_with("https://") {
            Self::url(rest)
        } else {
            let words =
                shlex::split(rest).ok_or_else(|| ServerTextError::Quotes { text: rest.to_owned() })?;
            let mut words = words.into_iter();
            Self::command(words.next().filter(|word| !word.is_empty()).ok_or(ServerTextError::Empty)?, words)
        };
        Ok(match name {
            Some(name) => server.named(name),
            None => server,
        })
    }

    /// The servers of a file of the form `{"mcpServers": {"name": {"command": …}}}`, which most
    /// programs that speak MCP have. `${NAME}` in a value stands for a variable of this process.
    pub fn all_in(path: impl AsRef<Path>) -> Result<Vec<Self>, ServerTextError> {
        configured::servers_in(path.as_ref())
    }

    /// What it is called: the beginning of its functions' names, and its name in messages.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// A variable of its environment, if it is a process.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: Secret) -> Self {
        if let Place::Process { environment, .. } = &mut self.place {
            environment.insert(name.into(), value);
        }
        self
    }

    /// The directory that it starts in, if it is a process.
    #[must_use]
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        if let Place::Process { directory, .. } = &mut self.place {
            *directory = Some(path.into());
        }
        self
    }

    /// A header of each request, if it is reached over HTTP: `Authorization`, for example.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: Secret) -> Self {
        if let Place::Address { headers, .. } = &mut self.place {
            headers.insert(name.into(), value);
        }
        self
    }

    /// How long it may take to be ready. 60 seconds by default.
    #[must_use]
    pub fn ready_within(mut self, within: Duration) -> Self {
        self.ready_within = within;
        self
    }

    /// How long each call may take. 60 seconds by default.
    #[must_use]
    pub fn timeout(mut self, within: Duration) -> Self {
        self.call_within = within;
        self
    }

    /// Has its functions return what they found, and raise `ToolError` if they failed. Otherwise
    /// they return a `ToolResponse` in any case.
    #[must_use]
    pub fn raising(mut self) -> Self {
        self.raises = true;
        self
    }

    /// Waits until no process is left of the servers that this program has started and no longer
    /// holds, but not longer than that. For a program that is about to end: servers would outlive
    /// it that do not end by themselves.
    pub async fn none_left(within: Duration) {
        child::none_left(within).await;
    }

    /// Starts it, or connects to it, and asks for its tools.
    pub async fn connect(self) -> Result<McpConnection, McpError> {
        McpConnection::new(self).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_an_address_or_a_command() {
        let server = McpServer::from_text("npx -y 'a package' --flag=\"x y\"").unwrap();
        let Place::Process { program, arguments, .. } = server.place else { panic!("it is a process") };
        assert_eq!(program, "npx");
        assert_eq!(arguments, ["-y", "a package", "--flag=x y"]);
        let server = McpServer::from_text("docs=https://example.com/mcp?a=b").unwrap();
        assert_eq!(server.name, "docs");
        assert!(matches!(server.place, Place::Address { url, .. } if url == "https://example.com/mcp?a=b"));
        let server = McpServer::from_text("clock = mcp-server-time --local-timezone=UTC").unwrap();
        assert_eq!(server.name, "clock");
        for text in ["", "  ", "name=", "''"] {
            assert!(matches!(McpServer::from_text(text), Err(ServerTextError::Empty)), "{text}");
        }
        assert!(matches!(McpServer::from_text("a 'b"), Err(ServerTextError::Quotes { .. })));
    }

    #[test]
    fn keys_are_not_shown() {
        let server = McpServer::command("a", ["b"]).env("KEY", Secret::new("hunter2"));
        assert!(!format!("{server:?}").contains("hunter2"));
        let server = McpServer::url("https://example.com").header("Authorization", Secret::new("hunter2"));
        assert!(!format!("{server:?}").contains("hunter2"));
    }
}
