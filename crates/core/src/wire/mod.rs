//! The language host and guest speak: one JSON object a line, UTF-8, on a private channel.
//!
//! ```text
//!  host ── execute {execution_id, seal, script, …} ──────────────────────► guest
//!  host ◄── log* intermediate* (final_result | error)? script_done ─────── guest
//! ```
//!
//! Every guest frame but `ready` carries the **seal** of its execution: 128 random bits that the host makes
//! anew for each `execute` and tells nobody else. A line without the current seal is noise, whoever wrote it:
//! a script that prints JSON, a child that found the descriptor, a thread left from an earlier step.
//!
//! The seal keeps accidents and blind writes out. It need not stop a script that digs it out of its own
//! interpreter: such a script gains the power to call `emit_result`, which it had anyway. Verdicts are never
//! taken from the guest.
//!
//! A new kind of frame is a variant of [`HostFrame`] or [`GuestFrame`]. The shape of every frame is in
//! `schema/wire-1.json`, rendered from these types (`make reference`). A change that an older guest or host
//! would not understand raises [`PROTOCOL`], and the schema gets a new file.

use std::time::Duration;

mod guest;
mod host;
mod lines;
#[cfg(test)]
pub(crate) mod schema;

pub use guest::{Envelope, GuestFrame, PrintedBefore};
pub use host::{Execute, HostFrame};
pub use lines::{LineTooLong, Lines};

/// How long a script may go on once its outcome is known, so that its last words are not lost. Then it is
/// interrupted, or killed.
pub const OUTCOME_GRACE: Duration = Duration::from_millis(500);

/// The protocol's number, told by the guest in `ready`. A guest with another number is refused.
pub const PROTOCOL: u32 = 1;
