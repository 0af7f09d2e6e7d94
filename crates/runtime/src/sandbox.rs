//! A config made ready, from which scripts get their cells.

use std::time::Duration;

use belljar_core::{Event, ExecutionRequest, ExecutionResult};
use belljar_engine::pool::{CheckoutError, Lease, TemplateHold, TemplateStats};
use belljar_engine::{CellUsage, Leftovers, TemplateReport, Until};
use tracing::Instrument;

use crate::control::{RunHandle, Wishes};
use crate::executor::{Run, ScriptExecutor};
use crate::meters::{Identity, note_cell};
use crate::{EventSink, Execution, RuntimeError, Session};

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
}

impl Sandbox {
    pub(crate) fn new(
        hold: TemplateHold,
        executor: ScriptExecutor,
        checkout_timeout: Option<Duration>,
    ) -> Self {
        Self { hold, executor, checkout_timeout }
    }

    /// The same sandbox, with a limit on how long a run waits for a cell when all of them are in
    /// use. After that the error is [`CheckoutError::TimedOut`]. The default is
    /// [`RuntimeBuilder::checkout_timeout`](crate::RuntimeBuilder::checkout_timeout).
    #[must_use]
    pub fn with_checkout_timeout(mut self, within: Duration) -> Self {
        self.checkout_timeout = Some(within);
        self
    }

    /// The outcome of making it ready: interpreter, tools, warnings.
    pub fn report(&self) -> &TemplateReport {
        self.hold.report()
    }

    /// Makes `count` cells ready ahead of need, once. The config's `pool_size` says how many are
    /// always kept ready.
    pub async fn warm(&self, count: usize) -> Result<(), RuntimeError> {
        Ok(self.hold.fill(count).await?)
    }

    /// Waits until nothing runs in any cell of its template, and cells that are used again have
    /// been reset.
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
        self.run_heeding(&Wishes::none(), request.into(), sink).await
    }

    async fn run_heeding(
        &self,
        wishes: &Wishes,
        request: ExecutionRequest,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.executor.check(&request)?;
        let identity = Identity::of(&request, Some(&self.hold));
        let span = identity.span.clone();
        self.hold.background().serve(self.run_in_span(identity, wishes, request, sink).instrument(span)).await
    }

    async fn run_in_span(
        &self,
        identity: Identity,
        wishes: &Wishes,
        request: ExecutionRequest,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        let mut lease = tokio::select! {
            biased;
            lease = self.checkout(&self.hold) => lease?,
            () = wishes.cancelled() => {
                return Ok(self.executor.never_ran(identity, &request, sink).await);
            }
        };
        note_cell(&identity.span, lease.cell());
        tracing::debug!("a cell is checked out");
        let in_progress = lease.begin()?;
        let run = Run {
            identity,
            request: &request,
            used_before: CellUsage::default(),
            leftovers: Leftovers::default(),
            sink: &mut *sink,
            wishes,
            until: Until::TheEnd,
        };
        let concluded = self.executor.conclude_leased(&mut lease, run).await?;
        if concluded.script_is_over {
            lease.vouch();
        }
        // The cell is given back first, so that a slow reader of the last events does not keep it.
        drop((lease, in_progress));
        Ok(concluded.say(sink).await)
    }

    /// Like [`Self::run`], as a stream that is read at the reader's own pace. Dropping it kills the
    /// script.
    pub fn stream(&self, request: impl Into<ExecutionRequest>) -> Execution {
        let (sandbox, request) = (self.clone(), request.into());
        Execution::start(self.hold.background(), RunHandle::default(), |mut queue, wishes| async move {
            sandbox.run_heeding(&wishes, request, &mut queue).await
        })
    }

    /// Takes a cell for several steps that share their variables. A session holds the template
    /// itself and can outlive its sandbox.
    pub async fn session(&self) -> Result<Session, RuntimeError> {
        let lease = self.checkout(&self.hold.share()?).await?;
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

    async fn checkout(&self, hold: &TemplateHold) -> Result<Lease, CheckoutError> {
        let checkout = match self.checkout_timeout {
            Some(within) => hold.checkout_within(within).await,
            None => hold.checkout().await,
        };
        checkout.inspect_err(|error| tracing::debug!(%error, "no cell could be checked out"))
    }
}
