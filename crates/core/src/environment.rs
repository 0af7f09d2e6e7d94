//! The environment variables that Belljar reads: their names, and what each is for.
//!
//! This file holds names only. Nothing here reads a variable. The page in the manual is rendered
//! from [`ALL`]. Two other kinds of variables are not listed: those that a script sees inside a
//! cell, and secrets, whose names the user chooses.

/// The sandbox file.
pub const SANDBOX: &str = "BELLJAR_SANDBOX";
/// The engine.
pub const ENGINE: &str = "BELLJAR_ENGINE";
/// The time limit.
pub const TIMEOUT: &str = "BELLJAR_TIMEOUT";
/// The memory limit.
pub const MEMORY: &str = "BELLJAR_MEMORY";
/// How the docker daemon's host names the paths of this process.
pub const HOST_PATH_MAP: &str = "BELLJAR_HOST_PATH_MAP";
/// What to log.
pub const LOG: &str = "BELLJAR_LOG";
/// What to log, where [`LOG`] is not set.
pub const RUST_LOG: &str = "RUST_LOG";
/// In which form to log.
pub const LOG_FORMAT: &str = "BELLJAR_LOG_FORMAT";
/// Where spans are exported to.
pub const OTEL_EXPORTER_OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The same, for spans alone.
pub const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// Headers for whoever spans are exported to.
pub const OTEL_EXPORTER_OTLP_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// What the exported spans are said to be of.
pub const OTEL_SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
/// Where dependency layers are kept.
pub const CACHE: &str = "BELLJAR_CACHE";
/// The cache directory of a service, which systemd sets.
pub const CACHE_DIRECTORY: &str = "CACHE_DIRECTORY";
/// The interpreter to use.
pub const PYTHON: &str = "BELLJAR_PYTHON";
/// The user's home directory.
pub const HOME: &str = "HOME";
/// Where to look for programs.
pub const PATH: &str = "PATH";
/// The user's cache directory.
pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
/// The user's data directory.
pub const XDG_DATA_HOME: &str = "XDG_DATA_HOME";
/// The user's directory for what programs remember.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// The kind of terminal.
pub const TERM: &str = "TERM";
/// Where workspaces are kept.
pub const WORKSPACES: &str = "BELLJAR_WORKSPACES";
/// Where artifacts are kept.
pub const ARTIFACTS: &str = "BELLJAR_ARTIFACTS";
/// The user's directory for sockets.
pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
/// Where a server keeps its tokens and its history.
pub const STATE: &str = "BELLJAR_STATE";
/// The state directory of a service, which systemd sets.
pub const STATE_DIRECTORY: &str = "STATE_DIRECTORY";
/// Where pyenv keeps interpreters.
pub const PYENV_ROOT: &str = "PYENV_ROOT";
/// Where uv keeps interpreters.
pub const UV_PYTHON_INSTALL_DIR: &str = "UV_PYTHON_INSTALL_DIR";
/// Where the docker daemon listens.
pub const DOCKER_HOST: &str = "DOCKER_HOST";
/// Whether to use TLS with the daemon.
pub const DOCKER_TLS_VERIFY: &str = "DOCKER_TLS_VERIFY";
/// Where the keys for that TLS are.
pub const DOCKER_CERT_PATH: &str = "DOCKER_CERT_PATH";
/// The program that is the docker engine's egress proxy.
pub const PROXY_PROGRAM: &str = "BELLJAR_PROXY_PROGRAM";

/// The key for a model, whoever's it is.
pub const MODEL_KEY: &str = "BELLJAR_MODEL_KEY";
/// The key for a model of OpenAI's.
pub const OPENAI_API_KEY: &str = "OPENAI_API_KEY";
/// The key for a model of Anthropic's.
pub const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";

/// Who reads a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reader {
    /// The `belljar` command. An option on the command line wins.
    Command,
    /// The library, and therefore the command too. A value that a program sets in code wins.
    Library,
    /// The docker engine.
    Docker,
}

/// A variable that Belljar reads.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Who reads it.
    pub reader: Reader,
    /// What it is for.
    pub meaning: &'static str,
}

const fn variable(name: &'static str, reader: Reader, meaning: &'static str) -> Variable {
    Variable { name, reader, meaning }
}

/// Every variable that Belljar reads under a fixed name.
pub const ALL: [Variable; 35] = [
    variable(SANDBOX, Reader::Command, "The sandbox file, where `--sandbox` is not given."),
    variable(ENGINE, Reader::Command, "The engine, where `--engine` is not given."),
    variable(TIMEOUT, Reader::Command, "The time limit in seconds, where `--timeout` is not given."),
    variable(MEMORY, Reader::Command, "The memory limit in MiB, where `--memory` is not given."),
    variable(
        HOST_PATH_MAP,
        Reader::Command,
        "What paths are called on the docker daemon's host, where `--map-path` is not given: `HERE=THERE`, with \
         commas between several.",
    ),
    variable(
        LOG,
        Reader::Command,
        "What to log to stderr, as `tracing` filters are written: `debug`, `belljar_engine=trace`.",
    ),
    variable(
        RUST_LOG,
        Reader::Command,
        "The same, where `BELLJAR_LOG` is not set. Other programs read it too.",
    ),
    variable(
        LOG_FORMAT,
        Reader::Command,
        "The form of the log: `text`, or `json` for a JSON object on each line. If not set: `text`.",
    ),
    variable(
        OTEL_EXPORTER_OTLP_ENDPOINT,
        Reader::Command,
        "Where `belljar serve` and `belljar mcp` export spans to, over OTLP/HTTP: `http://localhost:4318`. If not \
         set, nothing is exported. It needs a build with the feature `otlp`, which reads OpenTelemetry's other \
         variables for traces, too.",
    ),
    variable(
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
        Reader::Command,
        "The same, as a whole address: `http://localhost:4318/v1/traces`.",
    ),
    variable(
        OTEL_EXPORTER_OTLP_HEADERS,
        Reader::Command,
        "Headers for the collector, such as its key: `NAME=VALUE`, with commas between several.",
    ),
    variable(
        OTEL_SERVICE_NAME,
        Reader::Command,
        "What exported spans are said to be of. If not set: `belljar`.",
    ),
    variable(
        XDG_STATE_HOME,
        Reader::Command,
        "The history of `belljar shell` is in its `belljar`. If not set: in `~/.local/state/belljar`.",
    ),
    variable(
        STATE,
        Reader::Command,
        "Where `belljar serve` keeps tokens and history, where `--state` is not given. If not set: \
         `STATE_DIRECTORY`, else `belljar/server` in `XDG_STATE_HOME`, else in `~/.local/state`.",
    ),
    variable(
        STATE_DIRECTORY,
        Reader::Command,
        "The state directory of a service, which systemd sets; see `BELLJAR_STATE`.",
    ),
    variable(
        TERM,
        Reader::Command,
        "The kind of terminal. With `dumb`, or not set, `belljar shell` neither edits lines nor uses colours.",
    ),
    variable(
        WORKSPACES,
        Reader::Command,
        "Where workspaces are kept, where `--store` is not given. If not set: `belljar/workspaces` in \
         `XDG_DATA_HOME`, else in `~/.local/share`. Each engine has a directory in it.",
    ),
    variable(
        ARTIFACTS,
        Reader::Command,
        "Where artifacts are kept: a directory, or `s3://BUCKET/PREFIX`. If not set: `belljar/artifacts` in \
         `XDG_DATA_HOME`, else in `~/.local/share`.",
    ),
    variable(MODEL_KEY, Reader::Command, "The key for the model of `belljar agent`, wherever it is."),
    variable(
        OPENAI_API_KEY,
        Reader::Command,
        "The key for OpenAI's own address, where `BELLJAR_MODEL_KEY` is not set. It is sent to no other.",
    ),
    variable(
        ANTHROPIC_API_KEY,
        Reader::Command,
        "The key for Anthropic's own address, where `BELLJAR_MODEL_KEY` is not set. It is sent to no other.",
    ),
    variable(
        CACHE,
        Reader::Library,
        "Where dependency layers are kept. If not set: `belljar` in `CACHE_DIRECTORY`, else in `XDG_CACHE_HOME`, else in \
         `~/.cache`.",
    ),
    variable(
        CACHE_DIRECTORY,
        Reader::Library,
        "The cache directory of a service, which systemd sets; see `BELLJAR_CACHE`.",
    ),
    variable(
        PYTHON,
        Reader::Library,
        "The only interpreter to consider, as a path or as a name to look up in `PATH`.",
    ),
    variable(
        PATH,
        Reader::Library,
        "Where interpreters and uv are looked for. Relative entries are skipped.",
    ),
    variable(
        HOME,
        Reader::Library,
        "The user's home: the cache, interpreters of pyenv and uv, keys for docker.",
    ),
    variable(XDG_CACHE_HOME, Reader::Library, "The user's cache directory; see `BELLJAR_CACHE`."),
    variable(
        XDG_DATA_HOME,
        Reader::Library,
        "Interpreters are looked for in its `uv/python`. The command keeps workspaces and artifacts in its `belljar`.",
    ),
    variable(
        XDG_RUNTIME_DIR,
        Reader::Library,
        "The user's own systemd, and a docker daemon of theirs, are looked for in it.",
    ),
    variable(PYENV_ROOT, Reader::Library, "Interpreters are looked for in its `versions`."),
    variable(UV_PYTHON_INSTALL_DIR, Reader::Library, "Interpreters are looked for in it."),
    variable(
        DOCKER_HOST,
        Reader::Docker,
        "Where the daemon listens: `unix:///…` or `tcp://host:port`. If not set, the usual sockets of Docker and \
         Podman are tried.",
    ),
    variable(DOCKER_TLS_VERIFY, Reader::Docker, "If not empty, the daemon is spoken to over TLS."),
    variable(
        DOCKER_CERT_PATH,
        Reader::Docker,
        "Where `ca.pem`, `cert.pem` and `key.pem` are. If not set: `~/.docker`.",
    ),
    variable(
        PROXY_PROGRAM,
        Reader::Docker,
        "The program that is the egress proxy, in a container of its own: any that links Belljar with the docker \
         engine. If not set, the running program. A shared library has to name one.",
    ),
];
