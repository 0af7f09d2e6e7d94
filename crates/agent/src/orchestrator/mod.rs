//! Task → script → run, again until it is done or enough.
//!
//! ```text
//!  ToolOrchestrator ─► Driver ─┬ plan         a cell for each attempt
//!                              └ interactive  a session for all steps
//!                                 │ turn: ask, take the script out, vet, run
//!                                 ├ loops: has this been before?       (pure)
//!                                 └► AgentEvent ─► AgentSink, or AgentRun: a stream
//! ```
//!
//! The work is one future. The time limit and the caller's wish to cancel end it by dropping it,
//! and whatever it was waiting for ends with it: the request to the model, the session. A run is
//! cancelled, and says how far it came (`underway`). What was recorded until then is kept.

mod driver;
mod event;
mod interactive;
mod loops;
mod plan;
mod settings;
mod stream;
mod turn;
mod underway;

pub use self::event::{AgentEvent, AgentSink};
pub use self::settings::{AgentLimits, ToolOrchestrator};
pub use self::stream::{AgentHandle, AgentRun};
