//! Attempts to get out of a cell through its proxy. Each must be refused by the rule it breaks,
//! before a byte reaches anybody.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should say so at once")]

mod attack;
mod ends;
mod greeting;
mod injection;
mod limits;
mod mutations;
mod names;
mod pace;
mod passage;
mod rebinding;
mod resolver;
mod reuse;
mod secrecy;
mod world;
