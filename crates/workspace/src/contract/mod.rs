//! Who is asked: the traits that engines and executors implement.
//!
//! All are object-safe and take the caller's [`Context`](crate::Context) first. A method gives up
//! when its context ends, and then leaves nothing running that it began.

mod engine;
mod executor;
mod files;
mod manager;
mod runner;
mod session;

pub use engine::{EngineProvider, SimpleEngine, WorkspaceEngine};
pub use executor::CodeExecutor;
pub use files::WorkspaceFs;
pub use manager::WorkspaceManager;
pub use runner::{InteractiveProgramRunner, ProgramRunner};
pub use session::ProgramSession;

/// What an asynchronous method of these traits returns.
pub use belljar_engine::BoxFuture;
