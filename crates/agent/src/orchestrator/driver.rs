//! One task, from beginning to end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar_engine::Alarm;

use super::loops::Loops;
use super::underway::{Phase, Running, milliseconds};
use super::{AgentEvent, AgentHandle, AgentSink, ToolOrchestrator};
use crate::AgentError;
use crate::model::{Message, ModelError, TokenUsage};
use crate::prompt::{first_message, system_message};
use crate::record::{AgentMode, GaveUp, Outcome, RunRecord, StepRecord};
use crate::task::Task;

/// What is known about a task while it is done.
pub(super) struct Driver<'a> {
    pub(super) orchestrator: &'a ToolOrchestrator,
    pub(super) task: &'a Task,
    pub(super) sink: &'a mut dyn AgentSink,
    /// The conversation with the model.
    pub(super) messages: Vec<Message>,
    /// How many of the messages the sink has been told.
    pub(super) told: usize,
    /// Names that scripts can call.
    pub(super) tools: Vec<String>,
    pub(super) loops: Loops,
    pub(super) record: RunRecord,
    /// The step in progress.
    pub(super) step: Option<StepRecord>,
    /// What is being measured, and since when.
    pub(super) phase: Option<(Phase, Instant)>,
    /// The run in progress.
    pub(super) running: Option<Running>,
    /// Tokens so far, guessed where nobody counts them.
    pub(super) spent: u64,
}

/// Why the work stops before its end.
pub(super) enum Stopped {
    /// It is over, for this reason.
    Over(Outcome),
    /// Belljar failed.
    Failed(AgentError),
}

impl<E: Into<AgentError>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Stopped {
    pub(super) fn gave_up(reason: GaveUp) -> Self {
        Self::Over(Outcome::GaveUp { reason })
    }

    pub(super) fn by_model(error: &ModelError) -> Self {
        Self::Over(Outcome::ModelFailed { error: error.to_string(), is_callers: error.is_callers() })
    }
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        orchestrator: &'a ToolOrchestrator,
        task: &'a Task,
        sink: &'a mut dyn AgentSink,
    ) -> Self {
        let ToolOrchestrator { model, mode, limits, .. } = orchestrator;
        Self {
            orchestrator,
            task,
            sink,
            messages: Vec::new(),
            told: 0,
            tools: Vec::new(),
            loops: Loops::new(limits.repeats),
            record: RunRecord::new(&task.text, *mode, model.name()),
            step: None,
            phase: None,
            running: None,
            spent: 0,
        }
    }

    /// Does the task, until it is done, the time is over, or nobody wants it any more.
    pub(super) async fn drive(mut self, handle: &AgentHandle) -> Result<RunRecord, AgentError> {
        let began = Instant::now();
        let mut alarm = Alarm::after(self.orchestrator.limits.time);
        // The work is dropped before the record is looked at, with all that it waits for.
        let outcome = tokio::select! {
            biased;
            () = handle.cancelled() => Outcome::Cancelled,
            stopped = self.work() => match stopped {
                Ok(()) => Outcome::Succeeded,
                Err(Stopped::Over(outcome)) => outcome,
                Err(Stopped::Failed(error)) => return Err(error),
            },
            () = alarm.wait() => Outcome::GaveUp { reason: GaveUp::Time },
        };
        self.break_off().await;
        Ok(self.conclude(outcome, began.elapsed()))
    }

    async fn work(&mut self) -> Result<(), Stopped> {
        let ToolOrchestrator { sandbox, mode, rules, .. } = self.orchestrator;
        let started = AgentEvent::Started {
            task: self.task.text.clone(),
            mode: *mode,
            model: self.record.model.clone(),
        };
        self.tell(started).await;
        let tools = sandbox.describe_tools().await?;
        self.tools = tools.iter().map(|tool| tool.name.clone()).collect();
        let stubs = if tools.is_empty() { String::new() } else { tools.stubs() };
        let python = sandbox.report().python.clone();
        self.messages = vec![
            Message::system(system_message(*mode, &python, &stubs, rules)),
            Message::user(first_message(self.task)),
        ];
        match mode {
            AgentMode::Plan => self.plan().await,
            AgentMode::Interactive => self.interact().await,
        }
    }

    pub(super) async fn tell(&mut self, event: AgentEvent) {
        if let Some(taken) = self.sink.on_event(event) {
            taken.await;
        }
    }

    /// Ends a step.
    pub(super) async fn end_step(&mut self) {
        let Some(step) = self.keep_step() else { return };
        self.tell(AgentEvent::StepEnded { step: Arc::new(step) }).await;
    }

    fn keep_step(&mut self) -> Option<StepRecord> {
        let step = self.step.take()?;
        self.record.steps.push(step.clone());
        Some(step)
    }

    /// The record. Its last events are told without waiting.
    fn conclude(mut self, outcome: Outcome, elapsed: Duration) -> RunRecord {
        let unfinished = self.keep_step();
        let Self { mut record, sink, .. } = self;
        record.outcome = outcome;
        record.duration_ms = milliseconds(elapsed);
        let replies = record.steps.iter();
        record.tokens =
            replies.clone().filter_map(|step| step.tokens).fold(TokenUsage::default(), |mut all, tokens| {
                all += tokens;
                all
            });
        record.cost = replies.filter_map(|step| step.cost).reduce(|one, other| one + other);
        if let Some(step) = unfinished {
            drop(sink.on_event(AgentEvent::StepEnded { step: Arc::new(step) }));
        }
        let ended = Arc::new(record);
        drop(sink.on_event(AgentEvent::Ended { record: Arc::clone(&ended) }));
        tracing::debug!(outcome = %ended.outcome, steps = ended.steps.len(), "a task is over");
        Arc::unwrap_or_clone(ended)
    }
}
