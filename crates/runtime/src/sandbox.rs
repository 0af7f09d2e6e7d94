//! A config made ready, from which scripts get their cells.

use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar_core::tool::ToolSet;
use belljar_core::{Event, ExecutionRequest, ExecutionResult};
use belljar_engine::pool::{CheckoutError, Lease, TemplateHold, TemplateStats};
use belljar_engine::{CellUsage, Leftovers, TemplateReport, Until};
use tracing::Instrument;

use crate::control::{RunHandle, Wishes};
use crate::conversation::Listener;
use crate::executor::{Run, ScriptExecutor};
use crate::meters::{Identity, note_cell};
use crate::tools::{HostTools, Tools, describe_in};
use crate::{DescribeError, EventSink, Execution, RuntimeError, Session};

/// A config made ready. Cheap to clone; all clones are one sandbox.
///
/// Sandboxes of the same config share a template and its warm cells. When nobody holds the template
/// any more, no sandbox and no session, it is kept warm for a while
/// ([`RuntimeBuilder::keep_warm`](crate::RuntimeBuilder::keep_warm)), so that opening the same
/// config again costs nothing. [`Self::close`] ends it at once.
///
/// After [`Self::close`] and after [`Runtime::shutdown`](crate::Runtime::shutdown) nothing more can
/// be run: the answer is [`RuntimeError::SandboxClosed`] or [`RuntimeError::ShutDown`].
#[derive(Clone)]
pub struct Sandbox {
    hold: TemplateHold,
    executor: ScriptExecutor,
    checkout_timeout: Option<Duration>,
    tools: Arc<Tools>,
}

impl Sandbox {
    pub(crate) fn new(
        hold: TemplateHold,
        executor: ScriptExecutor,
        checkout_timeout: Option<Duration>,
        tools: Tools,
    ) -> Self {
        Self { hold, executor, checkout_timeout, tools: Arc::new(tools) }
    }

    /// The same sandbox, with a limit on how long a run waits for a cell when all of them are in
    /// use. After that the error is [`CheckoutError::TimedOut`]. The default is
    /// [`RuntimeBuilder::checkout_timeout`](crate::RuntimeBuilder::checkout_timeout).
    #[must_use]
    pub fn with_checkout_timeout(mut self, within: Duration) -> Self {
        self.checkout_timeout = Some(within);
        self
    }

    /// The same sandbox, with a limit on how long an [`EventSink`] may take for the events that are
    /// left when its run is over. After that the result comes without waiting, and with a warning.
    /// 10 seconds by default. The cell is given back before that wait. Streams are not waited for.
    #[must_use]
    pub fn with_listener_timeout(mut self, within: Duration) -> Self {
        self.executor = self.executor.with_listener_timeout(within);
        self
    }

    pub(crate) fn hold(&self) -> &TemplateHold {
        &self.hold
    }

    pub(crate) fn executor(&self) -> &ScriptExecutor {
        &self.executor
    }

    pub(crate) fn with_tools(mut self, tools: HostTools) -> Self {
        self.executor = self.executor.with_tools(tools);
        self
    }

    /// The outcome of making it ready: interpreter, tools, warnings.
    pub fn report(&self) -> &TemplateReport {
        self.hold.report()
    }

    /// What a model should know of its tools, those of files and those of the host's alike: prompt,
    /// JSON Schemas, stubs. Files are read in a cell of this sandbox, which has loaded them.
    /// [`Runtime::describe`](crate::Runtime::describe) reads files before anything of them runs.
    pub async fn describe_tools(&self) -> Result<ToolSet, DescribeError> {
        describe_in(Some(self), &self.tools).await
    }

    /// Makes `count` cells ready ahead of need, once. The config's `pool_size` says how many are
    /// always kept ready.
    pub async fn warm(&self, count: usize) -> Result<(), RuntimeError> {
        Ok(self.hold.fill(count).await?)
    }

    /// Waits until no run is in progress and no session is open in any cell of its template, and
    /// cells that are used again have been reset.
    pub async fn at_rest(&self) {
        self.hold.at_rest().await;
    }

    /// What its template holds and has done, for all sandboxes of the same config.
    pub fn stats(&self) -> TemplateStats {
        self.hold.stats()
    }

    /// Runs a script in a cell of its own. Dropping the future kills it.
    pub async fn run(&self, request: impl Into<ExecutionRequest>) -> Result<ExecutionResult, RuntimeError> {
        self.run_into(request, &mut |_: Event| {}).await
    }

    /// Like [`Self::run`], with a callback for every event as it happens. The last one is always
    /// [`EventKind::Ended`](crate::EventKind::Ended).
    pub async fn run_with(
        &self,
        request: impl Into<ExecutionRequest>,
        mut on_event: impl FnMut(Event) + Send,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.run_into(request, &mut on_event).await
    }

    /// Like [`Self::run_with`], with anything that takes events.
    pub async fn run_into(
        &self,
        request: impl Into<ExecutionRequest>,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.run_heeding(&Wishes::none(), Job::of(request), Listener::new(sink)).await
    }

    /// Like [`Self::run`], with one deadline for everything, counted from now. The script has what
    /// the wait for a cell leaves of it, and never more than its own time limit.
    ///
    /// If no cell came free in time, the error is [`CheckoutError::TimedOut`]. If the script was
    /// stopped, the verdict is `timeout_wall`, as with every time limit. The host kills 0.3 seconds
    /// after it, so leave that much room for the answer.
    pub async fn run_within(
        &self,
        deadline: Duration,
        request: impl Into<ExecutionRequest>,
    ) -> Result<ExecutionResult, RuntimeError> {
        let sink = &mut |_: Event| {};
        self.run_heeding(&Wishes::none(), Job::within(deadline, request), Listener::new(sink)).await
    }

    async fn run_heeding(
        &self,
        wishes: &Wishes,
        job: Job,
        listener: Listener<'_>,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.executor.check(&job.request)?;
        job.check()?;
        let identity = Identity::of(&job.request, Some(&self.hold));
        let span = identity.span.clone();
        self.hold
            .background()
            .serve(self.run_in_span(identity, wishes, job, listener).instrument(span))
            .await?
    }

    async fn run_in_span(
        &self,
        identity: Identity,
        wishes: &Wishes,
        Job { mut request, deadline }: Job,
        listener: Listener<'_>,
    ) -> Result<ExecutionResult, RuntimeError> {
        let mut lease = tokio::select! {
            biased;
            lease = self.checkout(&self.hold, deadline.map(|deadline| deadline.within)) => lease?,
            () = wishes.cancelled() => {
                return Ok(self.executor.never_ran(identity, &request, listener).await);
            }
        };
        note_cell(&identity.span, lease.cell());
        tracing::debug!("a cell is checked out");
        if let Some(deadline) = deadline {
            let left = deadline.left().ok_or_else(|| self.too_late(deadline.within))?;
            request.timeout = Some(self.executor.check(&request)?.min(left));
        }
        let in_progress = lease.begin()?;
        let run = Run {
            identity,
            request: &request,
            used_before: CellUsage::default(),
            leftovers: Leftovers::default(),
            listener,
            wishes,
            until: Until::TheEnd,
        };
        let concluded = self.executor.conclude_leased(&mut lease, run).await?;
        if concluded.script_is_over {
            lease.vouch();
        }
        // The cell is given back first, so that a slow listener does not keep it.
        drop((lease, in_progress));
        Ok(concluded.say(self.executor.listener_timeout()).await)
    }

    /// Like [`Self::run`], as a stream that is read at the reader's own pace. Dropping it kills the
    /// script. When the script is over its cell is given back, even if nobody reads.
    pub fn stream(&self, request: impl Into<ExecutionRequest>) -> Execution {
        self.start(Job::of(request))
    }

    /// Like [`Self::run_within`], as a stream.
    pub fn stream_within(&self, deadline: Duration, request: impl Into<ExecutionRequest>) -> Execution {
        self.start(Job::within(deadline, request))
    }

    fn start(&self, job: Job) -> Execution {
        let sandbox = self.clone();
        Execution::start(self.hold.background(), RunHandle::default(), |mut queue, wishes| async move {
            sandbox.run_heeding(&wishes, job, Listener::of_stream(&mut queue)).await
        })
    }

    /// Takes a cell for several steps that share their variables. A session holds the template
    /// itself and can outlive its sandbox.
    pub async fn session(&self) -> Result<Session, RuntimeError> {
        let lease = self.checkout(&self.hold.share()?, None).await?;
        Ok(Session::new(lease, self.executor.clone()))
    }

    /// Closes the sandbox, for all its clones. Its runs in progress are ended and answer with
    /// [`RuntimeError::SandboxClosed`].
    ///
    /// If nobody else holds the template, it ends at once, and this waits until it has ended. Other
    /// sandboxes of the same config go on. So do sessions, including those that were begun here.
    pub async fn close(&self) {
        self.hold.close().await;
    }

    /// A cell, within the shorter of two limits, if there are any.
    pub(crate) async fn checkout(
        &self,
        hold: &TemplateHold,
        deadline: Option<Duration>,
    ) -> Result<Lease, CheckoutError> {
        let within = [self.checkout_timeout, deadline].into_iter().flatten().min();
        let checkout = match within {
            Some(within) => hold.checkout_within(within).await,
            None => hold.checkout().await,
        };
        checkout.inspect_err(|error| tracing::debug!(%error, "no cell could be checked out"))
    }

    /// The error for a cell that came with no time left to run anything in it.
    fn too_late(&self, within: Duration) -> CheckoutError {
        let TemplateStats { leased, capacity, .. } = self.stats();
        CheckoutError::TimedOut { name: self.hold.name().to_owned(), within, in_use: leased, capacity }
    }
}

/// What a caller asks of a sandbox.
struct Job {
    request: ExecutionRequest,
    deadline: Option<Deadline>,
}

/// A limit on the wait for a cell and the script together.
#[derive(Clone, Copy)]
struct Deadline {
    began: Instant,
    within: Duration,
}

impl Job {
    fn of(request: impl Into<ExecutionRequest>) -> Self {
        Self { request: request.into(), deadline: None }
    }

    fn within(deadline: Duration, request: impl Into<ExecutionRequest>) -> Self {
        let deadline = Some(Deadline { began: Instant::now(), within: deadline });
        Self { request: request.into(), deadline }
    }

    /// Refuses a deadline that nothing can meet.
    fn check(&self) -> Result<(), RuntimeError> {
        match self.deadline {
            Some(Deadline { within: Duration::ZERO, .. }) => Err(RuntimeError::Timeout { seconds: 0.0 }),
            _ => Ok(()),
        }
    }
}

impl Deadline {
    /// The time that is left, if any is.
    fn left(&self) -> Option<Duration> {
        self.within.checked_sub(self.began.elapsed()).filter(|left| !left.is_zero())
    }
}
