//! What `belljar shell` is made of, besides the session itself.
//!
//! ```text
//!  a terminal ──► editor (a thread: rustyline) ─┐
//!                  ├ completion   Tab: asks the session, through the shell
//!                  ├ colours      of the line
//!                  ├ keys         indentation
//!                  └ history      of all shells
//!  pipe, file,                                  ├──► input ──► entry ──► a step, or a command
//!  dumb terminal ──► lines (a thread) ──────────┘
//! ```
//!
//! `commands::shell` holds these together: it owns the session, and everything that is said to a
//! user goes through its printer. Only the editor writes to the terminal itself, and only while a
//! line is typed.

mod colours;
mod commands;
mod completion;
mod editor;
mod entry;
pub(crate) mod files;
mod history;
mod input;
mod keys;
mod lines;
mod python;
mod step;
mod variables;

pub(crate) use self::commands::{Action, help, parse};
pub(crate) use self::entry::{Entry, dedented};
pub(crate) use self::input::{Input, Said};
pub(crate) use self::step::{Ended, follow_step};
pub(crate) use self::variables::table;
