//! A sandbox and a model, set up to do tasks.

use std::sync::Arc;
use std::time::Duration;

use belljar_engine::Background;
use belljar_runtime::Sandbox;

use super::driver::Driver;
use super::stream::{AgentHandle, AgentRun};
use super::{AgentEvent, AgentSink};
use crate::AgentError;
use crate::model::Model;
use crate::record::{AgentMode, RunRecord};
use crate::task::Task;
use crate::vet::Vetting;

/// How long a task may go on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AgentLimits {
    /// How many scripts are tried in PLAN. 3 by default.
    pub attempts: u32,
    /// How many steps there may be in INTERACTIVE. 20 by default.
    pub steps: u32,
    /// How often the same script may end in the same way, or steps in a row may fail with the same
    /// error. The next time it is a loop. 2 by default.
    pub repeats: u32,
    /// From beginning to end. 10 minutes by default.
    pub time: Duration,
    /// Tokens of all replies together. Without a limit by default. Where a model does not count
    /// them, four bytes are taken for one.
    pub tokens: Option<u64>,
    /// How much of a step's output the model is shown, in bytes. 16 KiB by default.
    pub shown_bytes: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            attempts: 3,
            steps: 20,
            repeats: 2,
            time: Duration::from_secs(600),
            tokens: None,
            shown_bytes: 16 << 10,
        }
    }
}

/// Has a model write scripts for tasks, and runs them in a sandbox. Cheap to clone. One can do many
/// tasks, at the same time too.
#[derive(Clone)]
pub struct ToolOrchestrator {
    pub(super) sandbox: Sandbox,
    pub(super) model: Arc<dyn Model>,
    pub(super) mode: AgentMode,
    pub(super) limits: AgentLimits,
    pub(super) vetting: Option<Vetting>,
    pub(super) rules: String,
}

impl ToolOrchestrator {
    /// A model, and a sandbox for what it writes. PLAN, with the defaults of [`AgentLimits`] and
    /// [`Vetting`].
    pub fn new(sandbox: Sandbox, model: impl Model + 'static) -> Self {
        Self {
            sandbox,
            model: Arc::new(model),
            mode: AgentMode::default(),
            limits: AgentLimits::default(),
            vetting: Some(Vetting::default()),
            rules: String::new(),
        }
    }

    /// Chooses the mode.
    #[must_use]
    pub fn mode(mut self, mode: AgentMode) -> Self {
        self.mode = mode;
        self
    }

    /// Says how long a task may go on.
    #[must_use]
    pub fn limits(mut self, limits: AgentLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Changes the limits that there are.
    #[must_use]
    pub fn limited(mut self, change: impl FnOnce(&mut AgentLimits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Says what scripts are looked at for. Without, they are run as they are.
    #[must_use]
    pub fn vetting(mut self, vetting: impl Into<Option<Vetting>>) -> Self {
        self.vetting = vetting.into();
        self
    }

    /// Adds rules to the prompt, in your own words.
    #[must_use]
    pub fn rules(mut self, rules: impl Into<String>) -> Self {
        self.rules = rules.into();
        self
    }

    /// Does a task. Dropping the future ends it, and whatever runs for it.
    pub async fn run(&self, task: impl Into<Task>) -> Result<RunRecord, AgentError> {
        self.run_into(task, &mut |_: AgentEvent| {}).await
    }

    /// Like [`Self::run`], with a callback for every event as it happens. The last one is always
    /// [`AgentEvent::Ended`].
    pub async fn run_with(
        &self,
        task: impl Into<Task>,
        mut on_event: impl FnMut(AgentEvent) + Send,
    ) -> Result<RunRecord, AgentError> {
        self.run_into(task, &mut on_event).await
    }

    /// Like [`Self::run_with`], with anything that takes events.
    pub async fn run_into(
        &self,
        task: impl Into<Task>,
        sink: &mut dyn AgentSink,
    ) -> Result<RunRecord, AgentError> {
        let (task, handle) = (task.into(), AgentHandle::default());
        let background = Background::of_this_process()?;
        background.serve(self.drive(&task, sink, &handle)).await?
    }

    /// Like [`Self::run`], as a stream. Dropping it ends the task. [`AgentRun::handle`] cancels it
    /// and leaves the record.
    pub fn stream(&self, task: impl Into<Task>) -> AgentRun {
        let (orchestrator, task) = (self.clone(), task.into());
        AgentRun::start(
            |mut queue, handle| async move { orchestrator.drive(&task, &mut queue, &handle).await },
        )
    }

    async fn drive(
        &self,
        task: &Task,
        sink: &mut dyn AgentSink,
        handle: &AgentHandle,
    ) -> Result<RunRecord, AgentError> {
        self.check(task)?;
        Driver::new(self, task, sink).drive(handle).await
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        if task.text.trim().is_empty() {
            return Err(AgentError::NoTask);
        }
        let AgentLimits { attempts, steps, time, .. } = &self.limits;
        match self.mode {
            AgentMode::Plan if *attempts == 0 => Err(AgentError::Limit { limit: "attempts" }),
            AgentMode::Interactive if *steps == 0 => Err(AgentError::Limit { limit: "steps" }),
            _ if time.is_zero() => Err(AgentError::Limit { limit: "time" }),
            _ => Ok(()),
        }
    }
}
