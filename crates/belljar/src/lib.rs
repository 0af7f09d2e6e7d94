//! Runs code that a language model wrote. Each run gets a fresh sandbox and a verdict about how it
//! really ended.
//!
//! ```no_run
//! #[tokio::main]
//! async fn main() -> Result<(), belljar::RuntimeError> {
//!     let runtime = belljar::Runtime::new().await?;
//!     let sandbox = runtime.sandbox(belljar::SandboxConfig::default()).await?;
//!     let result = sandbox.run("emit_result(sum(range(10)))").await?;
//!     println!("{} {:?}", result.verdict, result.final_data);
//!     Ok(())
//! }
//! ```
//!
//! This crate is a facade: it re-exports the runtime and the shared types. `examples/` has a
//! one-shot run, a streaming run and a session.

pub use belljar_core::{ExitCode, config, environment};
#[cfg(feature = "native")]
pub use belljar_engine::{host, python};
pub use belljar_runtime::*;

/// The engines, which make cells. [`RuntimeBuilder::engine`] takes any of them.
pub mod engine {
    #[cfg(any(feature = "native", feature = "local"))]
    pub use belljar_engine::Streams;
    #[cfg(feature = "docker")]
    pub use belljar_engine::docker::{Docker, DockerEngine, DockerError, Pruned};
    #[cfg(any(feature = "native", feature = "docker"))]
    pub use belljar_engine::egress;
    #[cfg(feature = "local")]
    pub use belljar_engine::local::{Local, LocalEngine};
    #[cfg(feature = "native")]
    pub use belljar_engine::native::{Native, NativeEngine, NativeError};
    #[cfg(any(feature = "native", feature = "local"))]
    pub use belljar_engine::provision::{ProvisionError, default_cache_dir};
    pub use belljar_engine::{
        Autopsy, Blueprint, BoxFuture, Burst, Capabilities, Cell, CellIo, CellLife, CellUsage, CellView, End,
        Engine, EngineError, EngineFailure, Fault, IntoEngine, Leftovers, Need, Outbox, Output, Progress,
        Protection, State, Template, TemplateReport, ToolSource, Until, check, guest,
    };
}
