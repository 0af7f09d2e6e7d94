//! Runs code a language model wrote: each time in a fresh sandbox, and honest about how it ended.
//!
//! ```no_run
//! #[tokio::main]
//! async fn main() -> Result<(), belljar::RuntimeError> {
//!     let runtime = belljar::Runtime::new()?;
//!     let sandbox = runtime.sandbox(belljar::SandboxConfig::default()).await?;
//!     let result = sandbox.run("emit_result(sum(range(10)))").await?;
//!     println!("{} {:?}", result.verdict, result.final_data);
//!     Ok(())
//! }
//! ```
//!
//! This crate is a doorway: it re-exports the runtime and the vocabulary. `examples/` has a one-shot run, a streaming run and a session.

pub use belljar_core::{ExitCode, config, environment};
pub use belljar_engine::{host, python};
pub use belljar_runtime::*;
