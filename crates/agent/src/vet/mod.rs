//! Looks at a script before it is run, and says what the model should change.
//!
//! It is advice, so that a model learns of a mistake without a run, and in better words than a
//! traceback has. It is never the security boundary: what a script may do is up to its cell, and
//! every rule here can be got around.
//!
//! Python itself reads the script, with `ast`, in a cell of the same sandbox: the same version, and
//! nothing of it on the host. The script is a file there, and does not run.
//!
//! * `rules` is what is looked for. `finding` is what was found.
//! * `look.py` runs in the cell.

mod finding;
mod rules;

use std::time::Duration;

use belljar_core::config::ExecutionMode;
use belljar_core::{ExecutionRequest, ExecutionResult};
use belljar_runtime::{RuntimeError, Sandbox};
use serde::Serialize;

pub use self::finding::{Finding, Rule};
pub use self::rules::Vetting;

const LOOK: &str = include_str!("look.py");
/// Names of files in the cell.
const CANDIDATE: &str = "candidate.txt";
const RULES: &str = "rules.json";
/// A script that takes longer to read than this is not read.
const WITHIN: Duration = Duration::from_secs(10);
/// The parser takes a hundred times that in memory.
const LONGEST_SCRIPT: usize = 256 << 10;

/// What the cell is told.
#[derive(Serialize)]
struct Question<'a> {
    forbidden_calls: &'a [String],
    tools: &'a [String],
    tools_are_called: bool,
    nothing_is_hidden: bool,
    must_emit: bool,
}

impl Vetting {
    /// Looks at a script. `tools` are the names that it can call. `must_emit` is whether it has to
    /// give a result.
    ///
    /// A script that cannot be looked at has no finding: it is run, and ends as it ends.
    pub async fn vet(
        &self,
        sandbox: &Sandbox,
        script: &str,
        tools: &[String],
        must_emit: bool,
    ) -> Result<Vec<Finding>, RuntimeError> {
        if let Err(error) = ExecutionRequest::new(script).check() {
            return Ok(vec![Finding::new(1, Rule::Syntax, error.to_string())]);
        }
        if script.len() > LONGEST_SCRIPT {
            let message = format!("the script is {} bytes long; write a shorter one", script.len());
            return Ok(vec![Finding::new(1, Rule::Length, message)]);
        }
        let question = Question {
            forbidden_calls: &self.forbidden_calls,
            tools,
            tools_are_called: self.tools_are_called,
            nothing_is_hidden: self.nothing_is_hidden,
            must_emit: must_emit && self.must_emit,
        };
        let question = serde_json::to_string(&question).expect("strings and bools are JSON");
        let request = ExecutionRequest::new(LOOK)
            .with_mode(ExecutionMode::Plan)
            .with_timeout(WITHIN)
            .with_file(CANDIDATE, script.to_owned())
            .with_file(RULES, question);
        let result = sandbox.run(request).await?;
        Ok(findings(&result).unwrap_or_else(|| {
            tracing::warn!(verdict = %result.verdict, error = ?result.error, "a script could not be vetted");
            Vec::new()
        }))
    }
}

fn findings(result: &ExecutionResult) -> Option<Vec<Finding>> {
    result.final_data.as_ref().filter(|_| result.success())?.to().ok()
}
