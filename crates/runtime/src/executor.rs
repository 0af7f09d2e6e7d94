//! Sends one script to a cell and listens until it is over.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::config::{ExecutionMode, ResourceLimits};
use belljar_core::wire::{Execute, Lines};
use belljar_core::{ExecutionId, ExecutionRequest, ExecutionResult, Secret};
use belljar_engine::{Cell, CellUsage};
use tokio::time::Instant;

use crate::law::{Allowance, Cancelled, Law};
use crate::listening::{Listening, Printed};
use crate::mask::Mask;
use crate::transcript::{Ending, Facts, Transcript};
use crate::{EventSink, RuntimeError};

/// Runs scripts in cells under one policy.
#[derive(Debug, Clone)]
pub struct ScriptExecutor {
    limits: ResourceLimits,
    mode: ExecutionMode,
    required_secrets: Vec<String>,
    secrets: Arc<BTreeMap<String, Secret>>,
    mask: Mask,
    engine: &'static str,
    warnings: Arc<[String]>,
}

/// What came of a run, and whether its cell can be used for another step.
pub(crate) struct Concluded {
    pub(crate) result: ExecutionResult,
    pub(crate) cell_is_alive: bool,
    /// Nothing of the script runs on.
    pub(crate) script_is_over: bool,
    pub(crate) used_by_now: CellUsage,
}

/// One script to run, and what goes with it.
pub(crate) struct Run<'a> {
    pub(crate) request: &'a ExecutionRequest,
    /// What the cell has used so far, by runs before this one.
    pub(crate) used_before: CellUsage,
    pub(crate) sink: &'a mut dyn EventSink,
    pub(crate) cancelled: &'a mut Cancelled,
}

impl ScriptExecutor {
    /// An executor for cells of this engine.
    pub fn new(engine: &'static str, limits: ResourceLimits, mode: ExecutionMode) -> Self {
        Self {
            limits,
            mode,
            required_secrets: Vec::new(),
            secrets: Arc::default(),
            mask: Mask::default(),
            engine,
            warnings: Arc::default(),
        }
    }

    /// Secrets that must be there before any script starts, and the values known for them. Values of four bytes and more are hidden in
    /// whatever the scripts say.
    #[must_use]
    pub fn with_secrets(mut self, required: Vec<String>, values: Arc<BTreeMap<String, Secret>>) -> Self {
        self.required_secrets = required;
        self.mask = Mask::new(values.values());
        self.secrets = values;
        self
    }

    /// Values that no script has but that could come back to one, to be hidden as well.
    #[must_use]
    pub(crate) fn hiding<'a>(mut self, more: impl Iterator<Item = &'a Secret>) -> Self {
        let more: Vec<Secret> = more.cloned().collect();
        self.mask = Mask::new(self.secrets.values().chain(&more));
        self
    }

    /// What every result shall warn about.
    #[must_use]
    pub fn with_warnings(mut self, warnings: Arc<[String]>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Runs one script in a cell to its end. Dropping the future leaves the cell running: drop the cell too.
    pub async fn run(
        &self,
        cell: &mut dyn Cell,
        request: &ExecutionRequest,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        let used_before = cell.usage();
        let run = Run { request, used_before, sink, cancelled: &mut Cancelled::never() };
        self.conclude(cell, run).await.map(|concluded| concluded.result)
    }

    /// What comes of a request that was cancelled before it had a cell.
    pub(crate) fn never_ran(&self, request: &ExecutionRequest) -> ExecutionResult {
        let id = request.execution_id.clone().unwrap_or_else(random_id);
        let transcript = Transcript::new(id, request.mode.unwrap_or(self.mode), self.mask.clone());
        transcript.conclude(&self.facts(Ending::Cancelled, CellUsage::default()))
    }

    fn facts(&self, ending: Ending, used: CellUsage) -> Facts<'_> {
        Facts {
            ending,
            elapsed: Duration::ZERO,
            timeout: self.limits.execution_timeout(),
            cpu_time: self.limits.cpu_time(),
            max_output_bytes: self.limits.max_output_bytes,
            used,
            scratch_was_full: false,
            network: Vec::new(),
            engine: self.engine,
            warnings: &self.warnings,
        }
    }

    /// The same as [`Self::run`], for callers who know more.
    pub(crate) async fn conclude(
        &self,
        cell: &mut dyn Cell,
        run: Run<'_>,
    ) -> Result<Concluded, RuntimeError> {
        let Run { request, used_before, sink, cancelled } = run;
        request.check()?;
        let timeout = self.timeout(request)?;
        let id = request.execution_id.clone().unwrap_or_else(random_id);
        let mode = request.mode.unwrap_or(self.mode);
        let seal = random_hex();
        let mut required = self.required_secrets.clone();
        required.extend(request.required_secrets.iter().cloned());
        let line = Execute {
            execution_id: &id,
            seal: &seal,
            script: &request.script,
            mode,
            timeout: timeout.as_secs_f64(),
            max_output_bytes: self.limits.max_output_bytes,
            required_secrets: &required,
            secrets: &self.secrets,
        }
        .to_line();
        let started = Instant::now();
        let mut listening = Listening {
            transcript: Transcript::new(id, mode, self.mask.clone()),
            lines: Lines::with_limit(self.limits.max_output_bytes as usize),
            seal: &seal,
            limit: self.limits.max_output_bytes,
            printed: Printed::default(),
            law: Law::new(started, timeout, self.allowance(used_before), cancelled),
            scratch_was_full: false,
            broken: None,
            sink,
        };
        let ending = listening.send_and_listen(cell, &line).await;
        let ending = match ending {
            Ending::Deadline | Ending::CpuSpent | Ending::Flood | Ending::Cancelled => {
                cell.kill();
                listening.last_words(cell).await;
                ending
            }
            other => other,
        };
        let used_by_now = cell.usage();
        let facts = Facts {
            elapsed: started.elapsed(),
            timeout,
            scratch_was_full: listening.scratch_was_full,
            network: cell.take_decisions().await,
            ..self.facts(ending, since(used_before, used_by_now))
        };
        let cell_is_alive = matches!(ending, Ending::Finished);
        listening.tell_last_denials(cell, &facts.network).await;
        for event in listening.transcript.rest() {
            if let Some(taken) = listening.sink.on_event(event) {
                taken.await;
            }
        }
        let script_is_over = cell_is_alive && listening.transcript.is_done();
        Ok(Concluded {
            result: listening.transcript.conclude(&facts),
            cell_is_alive,
            script_is_over,
            used_by_now,
        })
    }

    /// How much processor time a run may take, where that is limited and counted.
    fn allowance(&self, used_before: CellUsage) -> Option<Allowance> {
        let limit = self.limits.cpu_time()?;
        let spent_before = Duration::from_micros(used_before.cpu_micros.unwrap_or(0));
        Some(Allowance { until: spent_before + limit, cores: self.limits.cpu_quota })
    }

    fn timeout(&self, request: &ExecutionRequest) -> Result<Duration, RuntimeError> {
        const LONGEST: Duration = Duration::from_secs(86_400);
        let timeout = request.timeout.unwrap_or_else(|| self.limits.execution_timeout());
        if timeout.is_zero() || timeout > LONGEST {
            return Err(RuntimeError::Timeout { seconds: timeout.as_secs_f64() });
        }
        Ok(timeout)
    }
}

/// What a step used of what its cell has used.
fn since(before: CellUsage, now: CellUsage) -> CellUsage {
    CellUsage {
        cpu_micros: now.cpu_micros.map(|micros| micros.saturating_sub(before.cpu_micros.unwrap_or(0))),
        peak_memory_bytes: now.peak_memory_bytes,
        oom_kills: now.oom_kills.saturating_sub(before.oom_kills),
        forks_refused: now.forks_refused.saturating_sub(before.forks_refused),
    }
}

fn random_id() -> ExecutionId {
    ExecutionId::new(format!("exec-{}", random_hex()))
}

/// 128 random bits.
fn random_hex() -> String {
    let mut bytes = [0u8; 16];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(filled, Ok(bytes.len()), "the kernel has randomness once it is up");
    bytes.iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
