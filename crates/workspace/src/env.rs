//! The environment of a program, and variables that callers add to every program.
//!
//! What counts, the first before the others:
//!
//! 1. the variables of the [spec](RunProgramSpec),
//! 2. those of a [provider](RunEnvProvider) around the engine,
//! 3. the workspace's own, such as `OUTPUT_DIR`,
//! 4. those of the engine's surroundings, or only a `PATH` if the program starts clean.

mod inject;
mod scrub;

use std::collections::BTreeMap;

use crate::{RunProgramSpec, WorkspaceError, layout};

pub use inject::{
    ProvidedEnv, RunEnvProvider, env_injecting_engine, env_injecting_executor, merge_provided_env,
};
pub use scrub::is_safe_for_clean_env;

/// The variables that tell a program where things are in its workspace.
///
/// `root` is the workspace as the program sees it. `run` is the directory of this run, below it.
pub fn workspace_env(root: &str, run: &str) -> BTreeMap<String, String> {
    let root = root.trim_end_matches('/');
    let below = |name: &str| format!("{root}/{name}");
    [
        (layout::WORKSPACE_DIR, if root.is_empty() { "/".to_owned() } else { root.to_owned() }),
        (layout::SKILLS_DIR, below(layout::SKILLS)),
        (layout::WORK_DIR, below(layout::WORK)),
        (layout::OUTPUT_DIR, below(layout::OUT)),
        (layout::RUN_DIR, below(run)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// All variables of a program: those of its surroundings, unless it starts clean, those of its
/// workspace, and its own. A name or value that no environment can hold is refused.
pub fn program_env(
    inherited: impl IntoIterator<Item = (String, String)>,
    workspace: BTreeMap<String, String>,
    spec: &RunProgramSpec,
) -> Result<BTreeMap<String, String>, WorkspaceError> {
    if let Some(name) = spec.env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        let reason = format!("`{}` cannot be the name of a variable", name.escape_debug());
        return Err(WorkspaceError::InvalidProgram { reason });
    }
    if let Some((name, _)) = spec.env.iter().find(|(_, value)| value.contains('\0')) {
        let reason = format!("the value of the variable {name} has a NUL in it");
        return Err(WorkspaceError::InvalidProgram { reason });
    }
    let mut all: BTreeMap<_, _> = if spec.clean_env {
        [(belljar_core::environment::PATH.to_owned(), layout::MINIMAL_PATH.to_owned())].into()
    } else {
        inherited.into_iter().collect()
    };
    all.extend(workspace);
    all.extend(spec.env.clone());
    Ok(all)
}

#[cfg(test)]
mod tests;
