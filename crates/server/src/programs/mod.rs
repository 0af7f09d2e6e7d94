//! Programs in workspaces: any command, to its end or talked to while it runs.
//!
//! ```text
//!  request ──► place in the queue ──► driver ──► the library's program
//!                                       ▲            │ bytes, as they come
//!              orders: size, kill ──────┘            ▼
//!              input ──────────────► stdin          log (the last of them) ──► polls, terminals
//! ```
//!
//! | kind | stdin | whoever asked |
//! |---|---|---|
//! | batch | what the request has | waits for the result, or asks for it later |
//! | interactive | stays open | is given an id, and talks to it |
//! | terminal | the keyboard | the same, over a WebSocket for example |
//!
//! * `request` reads what a client asks for.
//! * `log` has the last bytes that a program printed. Whoever is attached and slow holds a program
//!   up; whoever polls and is slow misses some. Neither makes it grow.
//! * `held` is a program as the server knows it, `table` all of them, `driver` the task of one.
//! * `routes` begins and shows programs, `control` is what clients do with one, `terminal` the
//!   WebSocket; `answers` is what they say.

mod answers;
mod control;
mod driver;
mod held;
mod log;
mod request;
mod routes;
mod table;
mod terminal;

pub(crate) use self::routes::routes;
pub(crate) use self::table::Programs;
