//! What happens on the way.

use std::sync::Arc;

use belljar_core::Event;
use belljar_engine::BoxFuture;
use serde::{Serialize, Serializer};

use crate::model::{Message, TokenUsage};
use crate::record::{AgentMode, RunRecord, StepRecord};
use crate::vet::Finding;

/// One thing that happened. In JSON, `type` is its name. Steps are counted from 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// It begins.
    Started {
        /// The task, in the caller's words.
        task: String,
        /// How scripts are written.
        mode: AgentMode,
        /// The model that writes them.
        model: String,
    },
    /// The model is asked.
    Prompt {
        /// The step.
        step: u32,
        /// What it is told that it was not told before.
        messages: Vec<Message>,
    },
    /// The model says something.
    ModelText {
        /// The step.
        step: u32,
        /// The next part of its reply.
        text: String,
    },
    /// The model is asked again. What it said in this step does not count.
    ModelRetry {
        /// The step.
        step: u32,
        /// What went wrong.
        reason: String,
        /// How long is waited before that, in milliseconds.
        wait_ms: u64,
    },
    /// The reply is whole.
    Reply {
        /// The step.
        step: u32,
        /// What was read and written, if the model counts it.
        tokens: Option<TokenUsage>,
        /// What it cost, if prices are known.
        cost: Option<f64>,
    },
    /// There is a script in it.
    Script {
        /// The step.
        step: u32,
        /// The script.
        script: String,
    },
    /// The script was looked at. With any finding, it is not run.
    Vetted {
        /// The step.
        step: u32,
        /// What is wrong with it.
        findings: Vec<Finding>,
    },
    /// Something happened in the script's run.
    Run {
        /// The step.
        step: u32,
        /// What happened.
        event: Event,
    },
    /// An attempt (PLAN) or a step (INTERACTIVE) is over.
    StepEnded {
        /// What is kept of it.
        #[serde(serialize_with = "shared")]
        step: Arc<StepRecord>,
    },
    /// It is over. This is the last event.
    Ended {
        /// The record that the caller gets.
        #[serde(serialize_with = "shared")]
        record: Arc<RunRecord>,
    },
}

fn shared<T: Serialize, S: Serializer>(value: &Arc<T>, serializer: S) -> Result<S::Ok, S::Error> {
    value.serialize(serializer)
}

/// Takes events one by one, in order. An event is told when the one before it was taken. The model
/// and the run wait for a slow sink; the time limit does not.
pub trait AgentSink: Send {
    /// Takes one event. Returns a future if that takes time. Must not block its thread.
    fn on_event(&mut self, event: AgentEvent) -> Option<BoxFuture<'_, ()>>;
}

/// A plain callback.
impl<F: FnMut(AgentEvent) + Send> AgentSink for F {
    fn on_event(&mut self, event: AgentEvent) -> Option<BoxFuture<'_, ()>> {
        self(event);
        None
    }
}
