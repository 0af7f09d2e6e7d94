//! Claims about workspaces, which hold on every engine.
//!
//! `BELLJAR_TEST_ENGINE` says which one is tried. Where it makes no cells every test says so in one
//! line and passes. `hostile` and `races` are attacks, so they are not for the local engine.
//!
//! Numbers are those of the cases that engines for code have to settle one way or the other; where
//! they say that one can do better, we do.
//!
//! * 1–18, 23–25, 27–36: unit tests `case_…` in `crates/workspace/src`
//! * 19–22: `crates/artifacts/tests`
//! * 26: `inputs::case_26_…`, and in `crates/workspace/src/metadata`
//! * 37, 38: `putting::case_37_…`, `putting::case_38_…`
//! * 39: `hostile::case_39_…`: a link is replaced, and nothing goes through one
//! * 40, 41: `staging::case_40_…`, `staging::case_41_…`
//! * 42–44: `collecting::case_42_…` to `case_44_…`
//! * 45–52: `inputs::case_45_…` to `case_52_…`
//! * 53–59: `collecting::case_53_…` to `case_59_…`
//! * 60–68: `programs::case_60_…` to `case_68_…`
//! * 69, 79–81: `crates/workspace/tests/blocks`
//! * 70–75: `sessions::case_70_…` to `case_75_…`; 72 and 73 also in `kept/lines.rs`
//! * 76–78: unit tests `case_…` in `crates/workspace/src/env`
//! * 82: `programs::case_67_and_82_…`: we give no argv to a container; what counts is what a
//!   program sees
//! * 83: no binds are parsed: a workspace is mounted by its descriptor or its path, which is never
//!   text of a caller's
//! * 84: `crates/jupyter`
//! * 85: `putting::case_85_…`: names of directories out of ids
//! * 86: no such engine; results of code are those of `crates/runtime`
//! * 87: `hostile` and `races`: there are no rules for paths, a program has its workspace and
//!   nothing else
//! * 88: no name in a workspace is protected: a program may write all of it
//! * 89: `programs::case_89_…` (output), `programs::case_65_…` (time)
//! * 90: `programs::case_90_…`; every system call in `crates/runtime/tests/escape`
//! * 91: `programs::case_91_…`: nothing queues, so no clock runs while it waits
//! * 92: `programs::case_62_…` and `case_67_…`: a provider and `clean_env` take the place of
//!   patterns
//! * 93–95: host tools: `crates/runtime/tests/it/host_tools/`, `it/refused.rs`, `it/channel.rs`,
//!   `tests/forgery`
//! * 96: no hooks: a caller runs a program, whose result says what went wrong
//!   (`programs::case_64_…`)
//! * 97: `staging::case_40_…` stages the same directory again; there is no bootstrap that
//!   remembers
//! * 98: `limits::case_98_…`

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod collecting;
mod endings;
mod hostile;
mod inputs;
mod large;
mod limits;
mod place;
mod programs;
mod putting;
mod races;
mod sessions;
mod spans;
mod staging;
mod twins;
