//! The language host and guest speak: one JSON object a line, UTF-8, on a private channel.
//!
//! ```text
//!  host ── execute {execution_id, seal, script, …} ──────────────────────► guest
//!  host ◄── log* intermediate* (final_result | error)? script_done ─────── guest
//! ```
//!
//! Every guest frame carries the **seal** of the execution it belongs to: 128 random bits that the host makes anew for each
//! `execute` and tells nobody else. A line without the current seal is noise, whoever wrote it: a script that prints JSON,
//! a child that found the descriptor, a thread left from an earlier step. The seal keeps accidents and blind writes out;
//! it does not need to stop a script that digs it out of its own interpreter, because all such a script gains is the power
//! to call `emit_result`, which it had anyway. Verdicts are never taken from the guest.
//!
//! The shape of every frame is frozen in `schema/wire-1.json`; a test compares it to [`schema`].

use std::time::Duration;

mod guest;
mod host;
mod lines;
mod schema;

pub use guest::{GuestFrame, GuestFrameKind};
pub use host::Execute;
pub use lines::{LineTooLong, Lines};
pub use schema::schema;

/// How long a script may go on once its outcome is known, so that its last words are not lost. Then it is interrupted, or killed.
pub const OUTCOME_GRACE: Duration = Duration::from_millis(500);

/// The protocol's number, told by the guest in `ready`. A guest with another number is refused.
pub const PROTOCOL: u32 = 1;
