//! A model writes scripts, Belljar runs them, and the model learns how they ended.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use belljar_agent::{ToolOrchestrator, models::HttpModel};
//! use belljar_runtime::{Runtime, SandboxConfig, Secret};
//!
//! let sandbox = Runtime::new().await?.sandbox(SandboxConfig::default()).await?;
//! let model = HttpModel::openai("some-model").key(Secret::new("…")).build()?;
//! let record = ToolOrchestrator::new(sandbox, model).run("Count the primes below 1000").await?;
//! println!("{}: {:?}", record.outcome, record.result);
//! # Ok(()) }
//! ```
//!
//! ```text
//!  Task ─► prompt ─► Model ─► fences ─► vet ─► Sandbox ─► result ─┬► RunRecord
//!            ▲                           │ findings         failed │
//!            └───────────────────────────┴─────────────────────────┘  within attempts, steps, time
//!                                                                     and tokens, without circles
//! ```
//!
//! * [`ToolOrchestrator`] does it: in one script ([`AgentMode::Plan`]) or step by step in a session
//!   ([`AgentMode::Interactive`]). Everything that happens is an [`AgentEvent`].
//! * [`model`] is what writes scripts. [`models`] has clients for models behind HTTP.
//! * [`fences`] takes a script out of a reply. [`vet`] looks at it before it is run.
//! * [`RunRecord`] is what is left at the end.
//!
//! What a script may do is up to its sandbox. Nothing here makes that any safer.

mod error;
pub mod fences;
pub mod model;
pub mod models;
mod orchestrator;
mod prompt;
mod record;
mod task;
pub mod vet;

pub use error::AgentError;
pub use orchestrator::{AgentEvent, AgentHandle, AgentLimits, AgentRun, AgentSink, ToolOrchestrator};
pub use record::{AgentMode, GaveUp, Outcome, RunRecord, StepRecord};
pub use task::Task;
