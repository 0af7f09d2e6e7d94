//! Which programs there are where blocks run. Only the engine can tell.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::steps::Steps;
use crate::{Language, RunProgramSpec, WorkspaceError};

/// Programs that were looked for, and whether they were found.
#[derive(Debug, Default)]
pub(super) struct Toolchains(Mutex<BTreeMap<&'static str, bool>>);

/// Prints those of its arguments that can be run by their name.
const LOOK: &str = r#"for name; do command -v "$name" >/dev/null 2>&1 && echo "$name"; done; :"#;

impl Toolchains {
    /// Looks for whatever a language may need and nobody has looked for yet.
    pub(super) async fn look_for(
        &self,
        language: &'static Language,
        steps: &Steps<'_>,
    ) -> Result<(), WorkspaceError> {
        let unknown: Vec<&'static str> = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            language.programs().filter(|program| !known.contains_key(program)).collect()
        };
        if unknown.is_empty() {
            return Ok(());
        }
        let spec = RunProgramSpec::new("sh", ["-c", LOOK, "sh"].into_iter().chain(unknown.iter().copied()));
        let answer = steps.run(spec).await?;
        if !answer.is_success() {
            let said = format!("{}{}", answer.stdout_text(), answer.stderr_text());
            let reason = format!("`sh` cannot be asked for {}: {}", unknown.join(", "), said.trim());
            return Err(WorkspaceError::InvalidProgram { reason });
        }
        let text = answer.stdout_text();
        let found: Vec<&str> = text.lines().collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(unknown.into_iter().map(|program| (program, found.contains(&program))));
        Ok(())
    }

    pub(super) fn has(&self, program: &str) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(program).copied().unwrap_or_default()
    }
}
