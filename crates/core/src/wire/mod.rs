//! The protocol between host and guest: one JSON object a line, UTF-8, on a private channel.
//!
//! ```text
//!  host ── execute {execution_id, seal, script, …}, interrupt {seal}? ───► guest
//!  host ◄── log* intermediate* display* (final_result | error)? script_done ─ guest
//!
//!  host ◄── tool_call {call_id, tool, args} ────────────────────────────── guest   any number, at
//!  host ── tool_result {call_id, success, data, message} ────────────────► guest   any time
//!
//!  host ── ask {seal, about, …} ─────────────────────────────────────────► guest   between two
//!  host ◄── answer {data} ─────────────────────────────────────────────── guest   steps
//! ```
//!
//! Every guest frame but `ready` carries the **seal** of its execution. The seal is 128 random
//! bits. The host makes a new one for each `execute` and tells nobody else. A line without the
//! current seal is ignored, whoever wrote it: a script that prints JSON, a child that found the
//! descriptor, a thread left from an earlier step.
//!
//! The seal keeps out accidents and blind writes. It does not have to stop a script that finds it
//! in its own interpreter. Such a script can then send what `emit_result` sends, which it could do
//! anyway. No verdict is the guest's to choose.
//!
//! A new kind of frame is a variant of [`HostFrame`] or [`GuestFrame`]. The shape of every frame is
//! in `schema/wire-1.json`, rendered from these types (`make reference`). A change that an older
//! guest or host would not understand raises [`PROTOCOL`], and the schema gets a new file.

use std::time::Duration;

mod guest;
mod host;
mod lines;
#[cfg(test)]
pub(crate) mod schema;

pub use guest::{Envelope, GuestFrame, GuestReport, PrintedBefore};
pub use host::{Ask, Execute, HostFrame, Question, StartProgram, TerminalSize};
pub use lines::{LineTooLong, Lines};

/// How long a script may continue once its outcome is known, so that its last output is not lost.
/// Then it is interrupted, or killed.
pub const OUTCOME_GRACE: Duration = Duration::from_millis(500);

/// The protocol's number. The guest sends it in `ready`. A guest with another number is refused.
pub const PROTOCOL: u32 = 1;
