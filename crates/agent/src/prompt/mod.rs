//! What a model is told: the rules, the tools, the task, and how its scripts ended.
//!
//! ```text
//!  rules ──┐
//!  tools ──┼─► system message        the task and its files ─► first message
//!  mode  ──┘                          result, findings       ─► one message for each step
//! ```
//!
//! * `rules` is what a script has to be like, in each mode.
//! * `feedback` says how a step ended. Results come from the runtime, which has hidden the values
//!   of secrets in them already.
//! * `clip` shortens what is long.

mod clip;
mod feedback;
mod rules;

pub(crate) use self::clip::clip;
pub(crate) use self::feedback::{Aside, after_findings, after_run};
pub(crate) use self::rules::{first_message, system_message};
