//! Runs code a language model wrote: each time in a fresh sandbox, and honest about how it ended.
//!
//! ```no_run
//! # #[cfg(feature = "native")]
//! #[tokio::main]
//! async fn main() -> Result<(), belljar::RuntimeError> {
//!     let runtime = belljar::Runtime::new().await?;
//!     let sandbox = runtime.sandbox(belljar::SandboxConfig::default()).await?;
//!     let result = sandbox.run("emit_result(sum(range(10)))").await?;
//!     println!("{} {:?}", result.verdict, result.final_data);
//!     Ok(())
//! }
//! # #[cfg(not(feature = "native"))]
//! # fn main() {}
//! ```
//!
//! A [`Runtime`] has an engine, a pool and secrets. It makes a [`SandboxConfig`] ready as a
//! [`Sandbox`]. Tools come with a [`Blueprint`]. A sandbox runs scripts, each in a cell that has
//! never run anything: as a future ([`Sandbox::run`]), as a stream of [`Event`]s
//! ([`Sandbox::stream`]), or as the steps of a [`Session`] that share their variables. Every run
//! ends in one [`ExecutionResult`] with one [`Verdict`]. A script's failure is a verdict; an `Err`
//! is Belljar's own failure or the caller's, as [`RuntimeError::fault`] says. Dropping a run kills
//! it; [`Execution::cancel`] kills it and gives a result all the same.
//!
//! * [`config`]: what is in a sandbox, and what it may do.
//! * [`files`]: files into a run and out of it, and what it reads from stdin.
//! * [`engine`]: what makes cells. [`RuntimeBuilder::engine`] takes one of ours or yours.
//! * [`pool`]: what is kept warm, for how long, and what it has done.
//! * [`network`]: what a run asked of the network, and how the proxy is set up.
//! * [`environment`]: the environment variables that are read.
//! * [`program`]: any command in a cell, not only a script.
//! * `workspace` and `artifacts`, with the feature `workspace`: directories that outlive the
//!   programs in them, and named versions of files.
//! * `agent`, with that feature: a model writes scripts for a task, until it is done.
//!
//! `examples/` has a one-shot run, a streaming run, a session, a host tool, an MCP server and an
//! agent.
//!
//! # Features
//!
//! | feature | what it compiles | default |
//! |---|---|---|
//! | `native` | cells made of Linux namespaces; needs no daemon | yes |
//! | `docker` | cells made of containers, over Docker's API | yes |
//! | `local` | Python as a plain subprocess, which isolates nothing | no |
//! | `mcp` | tools of MCP servers | no |
//! | `agent` | models that write scripts, and an orchestrator that runs them | no |
//! | `workspace` | workspaces that stay, programs in them, and artifacts | no |
//! | `jupyter` | code blocks in a Jupyter kernel that lives in a workspace | no |
//! | `s3` | artifacts in a bucket of S3 | no |
//!
//! # What it does to your program
//!
//! * It needs a tokio runtime with time and I/O enabled, and uses the one it is called on.
//! * With `native`, a constructor runs before `main`. It looks at the program's name and returns,
//!   unless this process is a helper of Belljar's: the native engine starts your executable again
//!   under another name to build a jail. Nothing else of your program runs in it.
//! * Opening the native engine raises the soft limit on open files (`RLIMIT_NOFILE`) of this
//!   process to the hard one, because a warm cell holds five descriptors.
//! * Looking at the machine, finding interpreters and installing packages run other programs. They
//!   do so on threads of their own. Cells end on a thread called `belljar-reaper`.
//! * Dropping the last handle of a native engine waits until its cells are gone, because nobody
//!   could remove their control groups later. [`Runtime::shutdown`] waits without blocking.

pub use belljar_core::{
    CellId, Display, DisplayData, Event, EventKind, ExecutionId, ExecutionRequest, ExecutionResult, ExitCode,
    Intermediate, Json, LogLevel, LogLine, OutputStream, SandboxConfig, ScriptError, ScriptMetadata,
    ScriptMetadataError, ScriptMetadataFault, Secret, Usage, Verdict, environment, metrics,
};
pub use belljar_engine::{Blueprint, Fault, Forked, Progress, TemplateReport, ToolSource};
#[cfg(feature = "mcp")]
pub use belljar_mcp::{McpConnection, McpServer};
pub use belljar_runtime::{
    Completions, EventSink, Execution, MissingSecret, RunHandle, Runtime, RuntimeBuilder, RuntimeError,
    Sandbox, SecretError, SecretSource, SecretSourceError, Secrets, Session, ToolRegistry,
    UnknownSecretSource, Variable,
};

/// What is in a sandbox, and what it may do: the parts of a [`SandboxConfig`].
pub mod config {
    pub use belljar_core::config::{
        ConfigError, ExecutionMode, FileResource, HostPathMap, Injection, NetworkPolicy, Protection,
        PythonRange, PythonRangeError, PythonVersion, PythonVersionError, Requirement, RequirementFault,
        ResourceLimits, UnknownProtection,
    };
    pub use belljar_core::{GuestPath, GuestPathError};
}

/// Functions that scripts call: the parts of a [`ToolRegistry`], and what is kept of a call.
pub mod tools {
    pub use belljar_core::tool::{
        ArgumentError, DependencyConflict, Failure, Kind, Parameter, Place, Signature, Tool, ToolBytes,
        ToolError, ToolSet, UnknownKind, check_arguments, safe_tool_name,
    };
    pub use belljar_core::{MOST_TOOL_CALLS, ToolCallRecord};
    pub use belljar_engine::UnreadableTool;
    #[cfg(feature = "mcp")]
    pub use belljar_mcp::{McpError, ServerTextError};
    pub use belljar_runtime::{DescribeError, Equipped, HostTool, RegistryError, ToolContext, ToolFailure};
}

/// The engines, which make cells. [`RuntimeBuilder::engine`] takes any of them.
///
/// An engine of your own implements [`Engine`], [`Template`] and [`Cell`] with its three parts. It
/// carries the files of the [`guest`] into a cell, waits for its `ready` frame ([`wire`]), and from
/// then on passes bytes on. `Streams` and `provision` help on Linux, with the feature `native` or
/// `local`.
pub mod engine {
    pub use belljar_core::{layout, random_hex, wire};
    #[cfg(any(feature = "native", feature = "local"))]
    pub use belljar_engine::Streams;
    #[cfg(feature = "docker")]
    pub use belljar_engine::docker::{Docker, DockerEngine, DockerError, OrphanContainer, Orphans, Pruned};
    #[cfg(feature = "native")]
    pub use belljar_engine::host;
    #[cfg(feature = "local")]
    pub use belljar_engine::local::{Local, LocalEngine};
    #[cfg(feature = "native")]
    pub use belljar_engine::native::{Native, NativeEngine, NativeError};
    pub use belljar_engine::{
        Autopsy, Background, BoxFuture, Burst, Bytes, Capabilities, Cell, CellFiles, CellIo, CellLife,
        CellUsage, CellView, End, Engine, EngineError, EngineFailure, Entry, EntryKind, Files, IntoEngine,
        Leftovers, LinkOnTheWay, Listing, Need, Outbox, Output, ProtectionState, ProtectionStatus, Template,
        Until, check, guest, make_directory, open_directory, open_file, read_file, real_path,
    };
    #[cfg(any(feature = "native", feature = "local"))]
    pub use belljar_engine::{builder, provision, python};
}

/// Files into a run and out of it, and what it reads from stdin: [`ExecutionRequest::with_file`],
/// [`ExecutionRequest::collecting`], [`ExecutionRequest::with_stdin`], [`Session::files`].
pub mod files {
    pub use belljar_core::{
        CollectLimits, Collected, CollectedFile, FileContent, InputFile, Stdin, StdinStream,
    };
    pub use belljar_runtime::{
        FileEntry, FilesError, SessionFiles, stdin_from_async_reader, stdin_from_reader, stdin_from_stream,
    };
}

/// Any command in a cell, not only a script: [`Sandbox::start_program`].
pub mod program {
    pub use belljar_core::wire::TerminalSize;
    pub use belljar_core::{Program, ProgramError, WorkspaceName, WorkspaceNameError};
    pub use belljar_runtime::{NotRunning, ProgramEnd, ProgramSink, RunningProgram, Stop as StopProgram};
}

/// Workspaces that outlive the programs that run in them, and what an engine for them is.
#[cfg(feature = "workspace")]
pub mod workspace {
    pub use belljar_workspace::kept::{Change, Difference};
    pub use belljar_workspace::layout as workspace_layout;
    pub use belljar_workspace::{BlockExecutor, BlockExecutorOptions};
    pub use belljar_workspace::{
        BlockPlan, BlockResult, BlockSpec, Capabilities as WorkspaceCapabilities, CodeBlock,
        CodeBlockDelimiter, CodeExecutionInput, CodeExecutionResult, CodeExecutor, Context, CutStream,
        DirectorySpec, EnforcedLimits, EngineProvider, File, FileRef, GlobSet, InputRecord, InputSpec,
        InteractiveProgramRunner, InteractiveProgramSpec, Language, OpenWorkspace, OutputManifest,
        OutputRecord, OutputSpec, ProgramBytes, ProgramLog, ProgramPoll, ProgramRunner, ProgramSession,
        ProgramState, ProgramStatus, PutFile, RegistryOptions, ResourceLimits as ProgramLimits,
        RunEnvProvider, RunProgramSpec, RunResult, SimpleEngine, SkillMeta, StageOptions, StreamedProgram,
        Streaming, Timestamp, Truncated, Workspace, WorkspaceEngine, WorkspaceError, WorkspaceFs,
        WorkspaceHandle, WorkspaceManager, WorkspaceMetadata, WorkspacePolicy, WorkspaceRegistry, Workspaces,
        WorkspacesOptions, build_block_spec, dir_digest, env_injecting_engine, env_injecting_executor,
        extract_code_blocks, is_text_mime, mime_type, normalize_globs, plan_block,
    };
    #[cfg(feature = "jupyter")]
    pub use belljar_workspace::{JupyterExecution, JupyterExecutor, JupyterOptions};
}

/// Named, versioned files that outlive the cells that made them.
#[cfg(feature = "workspace")]
pub mod artifacts {
    pub use belljar_artifacts::{
        Artifact, ArtifactContext, ArtifactError, ArtifactInfo, ArtifactRef, ArtifactService, ArtifactStore,
        ByteStream, DEFAULT_MIME_TYPE, LoadedArtifact, OpenArtifact, SessionInfo, StoreOptions,
        load_artifact, parse_artifact_ref, save_artifact,
    };
}

/// What is kept warm, for how long, and what it has done. A [`Runtime`] has a pool of its own; the
/// pool by itself is for those who run no scripts through one.
pub mod pool {
    pub use belljar_engine::pool::{
        CheckoutError, InProgress, Lease, LiveTemplate, OpenError, PoolError, PoolKey, PoolOptions,
        SandboxPool, TemplateHold, TemplateStats,
    };
}

/// What a run asked of the network, and how the proxy that answers is set up.
pub mod network {
    pub use belljar_core::{Decision, NetworkVerdict};
    #[cfg(any(feature = "native", feature = "docker"))]
    pub use belljar_engine::egress::{
        CellEgress, Egress, EgressError, EgressOptions, Resolve, ResolveError, Resolving, Roots,
    };
}

/// A model writes scripts for a task, until it is done or enough.
#[cfg(feature = "agent")]
pub mod agent {
    pub use belljar_agent::model::{
        Delta, Message, Model, ModelError, Prices, Reply, Role, ScriptedModel, ScriptedReply, Stop,
        TokenUsage,
    };
    pub use belljar_agent::models::{HttpModel, HttpModelBuilder, Provider, Retry, UnknownProvider};
    pub use belljar_agent::vet::{Finding, Rule, Vetting};
    pub use belljar_agent::{
        AgentError, AgentEvent, AgentHandle, AgentLimits, AgentMode, AgentRun, AgentSink, GaveUp, Outcome,
        RunRecord, StepRecord, Task, ToolOrchestrator,
    };
}

/// Makes text from others safe to show.
pub mod text {
    pub use belljar_core::{is_combining, is_printable, json_line};
}

/// Runs the example of the guide.
#[cfg(all(doctest, feature = "native"))]
#[doc = include_str!("../../../docs/guide/embedding.md")]
struct EmbeddingGuide;

/// Runs the example of another chapter.
#[cfg(all(doctest, feature = "native"))]
#[doc = include_str!("../../../docs/guide/scripts.md")]
struct ScriptsGuide;

/// Runs the examples of a third.
#[cfg(all(doctest, feature = "native", feature = "mcp"))]
#[doc = include_str!("../../../docs/guide/tools.md")]
struct ToolsGuide;

/// Runs the example of a fourth.
#[cfg(all(doctest, feature = "native", feature = "agent"))]
#[doc = include_str!("../../../docs/guide/agents.md")]
struct AgentsGuide;

/// Runs the example of a fifth.
#[cfg(all(doctest, feature = "native", feature = "workspace"))]
#[doc = include_str!("../../../docs/guide/workspaces.md")]
struct WorkspacesGuide;
