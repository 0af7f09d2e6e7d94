//! What is kept of a task.
//!
//! A record is JSON both ways. A step's result is the whole [`ExecutionResult`], so a record says
//! all that there was to see.

use std::fmt;

use belljar_core::{CollectedFile, ExecutionResult, Json, Verdict};
use serde::{Deserialize, Serialize};

use crate::model::TokenUsage;
use crate::vet::Finding;

/// How scripts are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AgentMode {
    /// One script does it all. If it fails, another is written. Each has a cell of its own.
    #[default]
    Plan,
    /// Steps in one session. The model sees what each gives.
    Interactive,
}

impl fmt::Display for AgentMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plan => "plan",
            Self::Interactive => "interactive",
        })
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// There is a result, or the model says that it is done.
    Succeeded,
    /// It went on long enough.
    GaveUp {
        /// What there was enough of.
        reason: GaveUp,
    },
    /// The model gave no reply.
    ModelFailed {
        /// Why.
        error: String,
        /// Whether the caller can do something about it: the key, the name, the address.
        is_callers: bool,
    },
    /// The caller did not want it any more.
    Cancelled,
}

/// Why a task was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GaveUp {
    /// All attempts failed.
    Attempts,
    /// There were as many steps as there may be, and no result.
    Steps,
    /// The model went round in circles.
    Loop,
    /// It took as long as it may.
    Time,
    /// It took as many tokens as it may.
    Tokens,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded => f.write_str("succeeded"),
            Self::GaveUp { reason } => write!(f, "gave up: {reason}"),
            Self::ModelFailed { error, .. } => write!(f, "the model failed: {error}"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attempts => "no attempt succeeded",
            Self::Steps => "there were too many steps",
            Self::Loop => "the model repeats itself",
            Self::Time => "it took too long",
            Self::Tokens => "it took too many tokens",
        })
    }
}

/// Everything about one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// The task, in the caller's words.
    pub task: String,
    /// How scripts were written.
    pub mode: AgentMode,
    /// The model that wrote them.
    pub model: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What the last script passed to `emit_result`.
    pub result: Option<Json>,
    /// What the model said when it was done and had no result.
    pub answer: Option<String>,
    /// Attempts (PLAN) or steps (INTERACTIVE), in order.
    pub steps: Vec<StepRecord>,
    /// From beginning to end, in milliseconds.
    pub duration_ms: f64,
    /// Tokens of all replies whose model counts them.
    pub tokens: TokenUsage,
    /// What all replies cost, if prices are known.
    pub cost: Option<f64>,
}

impl RunRecord {
    /// A record of nothing yet.
    pub(crate) fn new(task: &str, mode: AgentMode, model: &str) -> Self {
        Self {
            task: task.to_owned(),
            mode,
            model: model.to_owned(),
            outcome: Outcome::Cancelled,
            result: None,
            answer: None,
            steps: Vec::new(),
            duration_ms: 0.0,
            tokens: TokenUsage::default(),
            cost: None,
        }
    }

    /// Whether the task was done.
    pub fn success(&self) -> bool {
        self.outcome == Outcome::Succeeded
    }

    /// How the last script ended that was run.
    pub fn last_result(&self) -> Option<&ExecutionResult> {
        self.steps.iter().rev().find_map(|step| step.result.as_ref())
    }

    /// The files that the last script left, as the task wanted them.
    pub fn files(&self) -> &[CollectedFile] {
        self.last_result().map_or(&[], |result| &result.files)
    }
}

/// One reply of the model, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepRecord {
    /// Its number, from 1.
    pub number: u32,
    /// What the model said. Empty if it said nothing.
    pub reply: String,
    /// The script in it.
    pub script: Option<String>,
    /// What was wrong with it. With any finding, it was not run.
    pub findings: Vec<Finding>,
    /// How it ended, if it was run.
    pub result: Option<ExecutionResult>,
    /// How long the model took, in milliseconds.
    pub model_ms: f64,
    /// How long looking at the script took, in milliseconds.
    pub vet_ms: f64,
    /// How long the run took, with the wait for a cell, in milliseconds.
    pub run_ms: f64,
    /// What was read and written, if the model counts it.
    pub tokens: Option<TokenUsage>,
    /// What the reply cost, if prices are known.
    pub cost: Option<f64>,
}

impl StepRecord {
    pub(crate) fn new(number: u32) -> Self {
        Self {
            number,
            reply: String::new(),
            script: None,
            findings: Vec::new(),
            result: None,
            model_ms: 0.0,
            vet_ms: 0.0,
            run_ms: 0.0,
            tokens: None,
            cost: None,
        }
    }

    /// How it ended, if it was run.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.result.as_ref().map(|result| &result.verdict)
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::ExecutionId;

    use super::*;
    use crate::vet::Rule;

    fn record() -> RunRecord {
        let mut record = RunRecord::new("add", AgentMode::Plan, "scripted");
        let mut first = StepRecord::new(1);
        first.reply = "```python\nx = add\n```".into();
        first.script = Some("x = add\n".into());
        first.findings = vec![Finding::new(1, Rule::ToolNotCalled, "`add` is not called")];
        first.tokens = Some(TokenUsage::new(120, 9));
        first.cost = Some(0.5);
        let mut second = StepRecord::new(2);
        second.script = Some("emit_result(add(1, 2))\n".into());
        let mut result = ExecutionResult::new(ExecutionId::new("e"), Verdict::Ok, "native");
        result.final_data = Some(Json::parse("3").unwrap());
        second.result = Some(result);
        record.steps = vec![first, second];
        record.result = Some(Json::parse("3").unwrap());
        record.outcome = Outcome::Succeeded;
        record
    }

    #[test]
    fn a_record_looks_like_this() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&record()).unwrap());
    }

    #[test]
    fn a_record_is_read_back_as_it_was_written_whatever_the_outcome() {
        let outcomes = [
            Outcome::Succeeded,
            Outcome::GaveUp { reason: GaveUp::Loop },
            Outcome::ModelFailed { error: "x".into(), is_callers: true },
            Outcome::Cancelled,
        ];
        for outcome in outcomes {
            let written = RunRecord { outcome, ..record() };
            let text = serde_json::to_string(&written).unwrap();
            assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), written);
        }
    }
}
