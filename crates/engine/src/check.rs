//! What a blueprint asks for that an engine may be unable to enforce. This is the part that every
//! engine checks first.

use std::collections::BTreeSet;

use belljar_core::config::{Protection, SandboxConfig};

use crate::engine::Blueprint;
use crate::{Capabilities, EngineError, ProtectionState};

/// Refuses a config that breaks a rule.
pub fn config(config: &SandboxConfig) -> Result<(), EngineError> {
    config.validate().map_err(|source| EngineError::Config { name: config.name.clone(), source })
}

/// Refuses a config that requires a protection that is not in force.
pub fn required(
    engine: &'static str,
    config: &SandboxConfig,
    here: &Capabilities,
) -> Result<(), EngineError> {
    for required in config.require.iter().flat_map(Protection::layers) {
        let unknown =
            ProtectionState::Missing { reason: "it is not known here".into(), remedy: String::new() };
        let found = here.protection(required.name());
        let state = found.map_or(&unknown, |protection| &protection.state);
        if !state.is_active() {
            return Err(unenforceable(engine, format!("require = [\"{}\"]", required.name()), state));
        }
    }
    Ok(())
}

/// Refuses tools whose file names are not plain or not unique.
pub fn tool_names(blueprint: &Blueprint) -> Result<(), EngineError> {
    let mut seen = BTreeSet::new();
    for tool in &blueprint.tools {
        let stem = tool.file_name.strip_suffix(".py").unwrap_or_default();
        let plain = !stem.is_empty()
            && stem.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
            && !stem.starts_with('.');
        let rule = match (plain, seen.insert(&tool.file_name)) {
            (false, _) => "must be letters, digits, `_`, `-` or `.`, and end in .py",
            (_, false) => "is used twice",
            _ => continue,
        };
        return Err(EngineError::ToolName { name: tool.file_name.clone(), rule });
    }
    Ok(())
}

pub(crate) fn unenforceable(engine: &'static str, what: String, state: &ProtectionState) -> EngineError {
    let (reason, remedy) = why(state);
    EngineError::Unenforceable { engine, what, reason, remedy }
}

pub(crate) fn why(state: &ProtectionState) -> (String, String) {
    match state {
        ProtectionState::Active { detail } => (detail.clone(), String::new()),
        ProtectionState::Degraded { reason, remedy, .. } | ProtectionState::Missing { reason, remedy } => {
            (reason.clone(), remedy.clone())
        }
    }
}
