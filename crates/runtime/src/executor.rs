//! Runs scripts in cells under one policy: limits, mode, secrets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar_core::config::{ExecutionMode, ResourceLimits};
use belljar_core::wire::{Execute, HostFrame};
use belljar_core::{ExecutionId, ExecutionRequest, ExecutionResult, Json, Secret, random_hex};
use belljar_engine::pool::Lease;
use belljar_engine::{Cell, CellUsage, Leftovers, Process, Until};
use tracing::{Instrument, Span};

use crate::control::Wishes;
use crate::conversation::{Calls, Concluded, Conversation, Input, Listener, Progress, Terms};
use crate::deadlines::{Allowance, Deadlines};
use crate::files::{Collection, Wanted, put};
use crate::mask::Mask;
use crate::meters::{Identity, RunMeters, note_cell, note_result};
use crate::program::ProgramTerms;
use crate::tools::HostTools;
use crate::transcript::{Conditions, Ending, Facts, Transcript};
use crate::{EventSink, RuntimeError};

/// How long a sink may take for what is left to tell when its run is over.
const LISTENER_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs scripts in cells under one policy.
#[derive(Debug, Clone)]
pub struct ScriptExecutor {
    limits: ResourceLimits,
    mode: ExecutionMode,
    required_secrets: Vec<String>,
    secrets: Arc<BTreeMap<String, Secret>>,
    /// Built once: it is a search for all values, and every run shares it.
    mask: Mask,
    engine: &'static str,
    tools: HostTools,
    warnings: Arc<[String]>,
    listener_timeout: Duration,
    meters: Arc<RunMeters>,
}

/// One script to run, and what goes with it.
pub(crate) struct Run<'a, 's> {
    pub(crate) identity: Identity,
    pub(crate) request: &'a ExecutionRequest,
    /// What earlier runs in this cell have used.
    pub(crate) used_before: CellUsage,
    /// What the cell has said since the previous run.
    pub(crate) leftovers: Leftovers,
    pub(crate) listener: Listener<'s>,
    pub(crate) wishes: &'a Wishes,
    /// The end, unless a session goes on with the cell.
    pub(crate) until: Until,
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
            tools: HostTools::default(),
            warnings: Arc::default(),
            listener_timeout: LISTENER_TIMEOUT,
            meters: Arc::new(RunMeters::new(engine)),
        }
    }

    /// Sets the secrets that must be there before any script starts, and their known values. Values
    /// of four bytes or more are hidden in everything the scripts say. No value may hold a NUL.
    #[must_use]
    pub fn with_secrets(self, required: Vec<String>, values: Arc<BTreeMap<String, Secret>>) -> Self {
        self.with_secrets_hiding(required, values, &[])
    }

    /// Also hides values that no script has, but that could come back to one.
    #[must_use]
    pub(crate) fn with_secrets_hiding(
        mut self,
        required: Vec<String>,
        values: Arc<BTreeMap<String, Secret>>,
        more: &[Secret],
    ) -> Self {
        self.required_secrets = required;
        self.mask = Mask::new(values.values().chain(more));
        self.secrets = values;
        self
    }

    /// Sets the tools of the host's that scripts can call.
    #[must_use]
    pub(crate) fn with_tools(mut self, tools: HostTools) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the warnings for every result.
    #[must_use]
    pub fn with_warnings(mut self, warnings: Arc<[String]>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Sets how long a sink may take for what is left to tell when its run is over.
    #[must_use]
    pub(crate) fn with_listener_timeout(mut self, within: Duration) -> Self {
        self.listener_timeout = within;
        self
    }

    /// What programs run under, too.
    pub(crate) fn terms(&self) -> ProgramTerms {
        ProgramTerms {
            engine: self.engine,
            limits: self.limits.clone(),
            secrets: Arc::clone(&self.secrets),
            mask: self.mask.clone(),
            warnings: Arc::clone(&self.warnings),
            meters: Arc::clone(&self.meters),
        }
    }

    /// What a guest said outside of any run, without the values of secrets.
    pub(crate) fn hide(&self, said: Json) -> Json {
        self.mask.json(said).0
    }

    pub(crate) fn listener_timeout(&self) -> Duration {
        self.listener_timeout
    }

    /// Runs one script in a cell to its end. With it, everything in that cell ends. Dropping the
    /// future leaves the script running, so drop the cell too.
    pub async fn run(
        &self,
        cell: &mut dyn Cell,
        request: &ExecutionRequest,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        let used_before = cell.usage();
        let leftovers = Leftovers::default();
        let wishes = &Wishes::none();
        let identity = Identity::of(request, None);
        let span = identity.span.clone();
        note_cell(&span, cell);
        let (listener, until) = (Listener::new(sink), Until::TheEnd);
        let run = Run { identity, request, used_before, leftovers, listener, wishes, until };
        let concluded = self.conclude(cell, run).instrument(span).await?;
        cell.kill();
        Ok(concluded.say(self.listener_timeout).await)
    }

    /// The result of a request that was cancelled before it had a cell.
    pub(crate) async fn never_ran(
        &self,
        Identity { id, span }: Identity,
        request: &ExecutionRequest,
        listener: Listener<'_>,
    ) -> ExecutionResult {
        self.not_begun(id, &span, request, listener).say(self.listener_timeout).await
    }

    fn not_begun<'s>(
        &self,
        id: ExecutionId,
        span: &Span,
        request: &ExecutionRequest,
        mut listener: Listener<'s>,
    ) -> Concluded<'s> {
        let transcript = Transcript::new(id, request.mode.unwrap_or(self.mode), self.mask.clone());
        let facts = Facts {
            conditions: self.conditions(self.limits.execution_timeout()),
            ending: Ending::Cancelled,
            elapsed: Duration::ZERO,
            used: CellUsage::default(),
            scratch_was_full: false,
            was_interrupted: false,
            network: Vec::new(),
            place: None,
            files: Collection::default(),
            stdin_failure: None,
        };
        let (result, last) = transcript.conclude(&facts);
        self.meters.begin().ended(&result);
        note_result(span, &result);
        last.into_iter().for_each(|event| listener.tell(event));
        Concluded { result, listener, script_is_over: false }
    }

    fn conditions(&self, timeout: Duration) -> Conditions<'_> {
        Conditions { timeout, limits: &self.limits, engine: self.engine, warnings: &self.warnings }
    }

    /// The same as [`Self::conclude`], in a cell of a pool. Ends early when the sandbox is closed
    /// or the pool is shut down.
    pub(crate) async fn conclude_leased<'s>(
        &self,
        lease: &mut Lease,
        run: Run<'_, 's>,
    ) -> Result<Concluded<'s>, RuntimeError> {
        let hold = lease.hold().clone();
        tokio::select! {
            biased;
            // First, because it is said before the cells are killed, and tells why they are.
            closed = hold.closed() => Err(closed.into()),
            concluded = self.conclude(lease.cell(), run) => concluded,
        }
    }

    /// Like [`Self::run`], for callers who know more about the run. When it returns, the run is
    /// over, and its last events are still to be told.
    pub(crate) async fn conclude<'s>(
        &self,
        cell: &mut dyn Cell,
        run: Run<'_, 's>,
    ) -> Result<Concluded<'s>, RuntimeError> {
        let Run { identity: Identity { id, span }, request, used_before, leftovers, listener, wishes, until } =
            run;
        let timeout = self.check(request)?;
        let mut wanted = Wanted::by(request)?;
        if !request.files.is_empty() {
            let given = wanted.as_mut().map(|wanted| &mut wanted.given);
            tokio::select! {
                biased;
                done = put(cell, &request.files, given) => done?,
                () = wishes.cancelled() => {
                    cell.kill();
                    return Ok(self.not_begun(id, &span, request, listener));
                }
            }
        }
        if let Some(wanted) = &mut wanted {
            wanted.given.add_script(request);
        }
        let running = self.meters.begin();
        let mode = request.mode.unwrap_or(self.mode);
        let seal = random_hex();
        let mut required = self.required_secrets.clone();
        required.extend(request.required_secrets.iter().cloned());
        let limits = self.limits_for(request);
        let limit = limits.max_output_bytes;
        let line = HostFrame::Execute(Execute {
            execution_id: &id,
            seal: &seal,
            script: &request.script,
            mode,
            name: request.name.as_deref(),
            args: &request.args,
            env: &request.env,
            has_stdin: !request.stdin.is_empty(),
            timeout: timeout.as_secs_f64(),
            max_output_bytes: limit,
            required_secrets: &required,
            secrets: &self.secrets,
        })
        .to_line();
        let started = Instant::now();
        let conversation = Conversation {
            cell,
            calls: Calls::new(&self.tools, &self.mask, &self.meters.tools),
            transcript: Transcript::new(id, mode, self.mask.clone()),
            seal: &seal,
            limit,
            deadlines: Deadlines::new(started, timeout, allowance(&limits, used_before), wishes),
            listener,
            progress: Progress::with_limit(limit),
            input: Input::of(&request.stdin),
            process: Process::this(),
        };
        let conditions = Conditions { limits: &limits, ..self.conditions(timeout) };
        let request = line.into();
        let terms = Terms { request, leftovers, used_before, started, until, conditions, wanted };
        span.record("request_bytes", terms.request.len());
        let concluded = conversation.hold(terms).await;
        running.ended(&concluded.result);
        note_result(&span, &concluded.result);
        Ok(concluded)
    }

    /// The limits of one run: those of its sandbox, or lower ones that the request asks for.
    fn limits_for(&self, request: &ExecutionRequest) -> ResourceLimits {
        let mut limits = self.limits.clone();
        limits.max_output_bytes = limits.max_output_bytes.min(request.max_output_bytes.unwrap_or(u64::MAX));
        let cpu_time = [limits.cpu_time(), request.cpu_time].into_iter().flatten().min();
        limits.cpu_time_sec = cpu_time.map(|time| time.as_secs_f64());
        limits
    }

    /// Refuses what cannot be run, before a cell is spent on it. Returns the time limit.
    pub(crate) fn check(&self, request: &ExecutionRequest) -> Result<Duration, RuntimeError> {
        const LONGEST: Duration = Duration::from_secs(86_400);
        request.check()?;
        let timeout = request.timeout.unwrap_or_else(|| self.limits.execution_timeout());
        for time in [Some(timeout), request.cpu_time].into_iter().flatten() {
            if time.is_zero() || time > LONGEST {
                return Err(RuntimeError::Timeout { seconds: time.as_secs_f64() });
            }
        }
        Ok(timeout)
    }
}

/// The name its caller gave a request, or one that is made up.
pub(crate) fn id_of(request: &ExecutionRequest) -> ExecutionId {
    let made_up = || ExecutionId::new(format!("exec-{}", random_hex()));
    request.execution_id.clone().unwrap_or_else(made_up)
}

/// How much processor time a run may take, if that is limited and counted.
fn allowance(limits: &ResourceLimits, used_before: CellUsage) -> Option<Allowance> {
    let spent_before = Duration::from_micros(used_before.cpu_micros.unwrap_or(0));
    Some(Allowance { until: spent_before + limits.cpu_time()?, cores: limits.cpu_quota })
}
