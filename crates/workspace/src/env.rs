//! The environment of a program, and variables that callers add to every program.
//!
//! What counts, the first before the others:
//!
//! 1. the variables of the [spec](crate::RunProgramSpec),
//! 2. those of a [provider](RunEnvProvider) around the engine,
//! 3. the workspace's own, such as `OUTPUT_DIR`,
//! 4. those of the engine's surroundings, or only a `PATH` if the program starts clean.

mod inject;
mod scrub;

pub use inject::{
    ProvidedEnv, RunEnvProvider, env_injecting_engine, env_injecting_executor, merge_provided_env,
};
pub use scrub::is_safe_for_clean_env;

#[cfg(test)]
mod tests;
