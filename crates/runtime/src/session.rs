//! Several steps on one cell, sharing their variables.

use std::sync::{Arc, Mutex, PoisonError};

use belljar_core::config::ExecutionMode;
use belljar_core::wire::Question;
use belljar_core::{CellId, Event, ExecutionRequest, ExecutionResult, Json, random_hex};
use belljar_engine::pool::{InProgress, Lease};
use belljar_engine::{Background, BoxFuture, Cell, CellUsage, Leftovers, Until};
use tracing::Instrument;

use crate::control::{RunHandle, Wishes};
use crate::conversation::Listener;
use crate::executor::{Run, ScriptExecutor};
use crate::inquiry::{self, Completions, Variable};
use crate::meters::{Identity, note_cell};
use crate::{EventSink, Execution, FilesError, RuntimeError, SessionFiles};

/// A held cell. What one step defines, the next can use. Dropping the session destroys the cell.
///
/// A step is over when its script is. A script that goes on after `emit_result` is interrupted half
/// a second later. If it does not end then, its cell is killed and the session is over.
///
/// Threads and processes may outlive their step. What they print between two steps is reported by
/// the next step as [`EventKind::Leftover`](crate::EventKind::Leftover), and is in no result. What
/// they print during a step cannot be told from that step's own output, and is part of it.
pub struct Session {
    cell: Arc<HeldCell>,
    handle: RunHandle,
}

/// The cell of a session, which a step takes and puts back.
pub(crate) struct HeldCell {
    id: CellId,
    executor: ScriptExecutor,
    background: Background,
    state: Mutex<State>,
}

enum State {
    /// Nothing has run in the cell yet.
    Fresh(Lease),
    /// A step has run in it, or it was asked something. With what was read of it since, which no
    /// step has told.
    Used(Lease, Leftovers),
    /// A step is using it. If the step is dropped, the cell is gone.
    InUse,
    Over,
}

impl Session {
    pub(crate) fn new(lease: Lease, executor: ScriptExecutor) -> Self {
        let (id, background) = (lease.id(), lease.hold().background().clone());
        let cell = HeldCell { id, executor, background, state: Mutex::new(State::Fresh(lease)) };
        Self { cell: Arc::new(cell), handle: RunHandle::default() }
    }

    /// Whether another step can be run. Not after a step that crashed, was killed or was dropped,
    /// nor after a shutdown.
    pub fn is_alive(&self) -> bool {
        self.cell.is_alive()
    }

    /// Reaches the step in progress from anywhere. `interrupt` is like Ctrl-C: the session then
    /// goes on with its variables.
    pub fn interrupt_handle(&self) -> RunHandle {
        self.handle.clone()
    }

    /// Runs one step. Dropping the future ends the session.
    pub async fn step(
        &mut self,
        request: impl Into<ExecutionRequest>,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.step_into(request, &mut |_: Event| {}).await
    }

    /// Like [`Self::step`], with a callback for every event as it happens.
    pub async fn step_with(
        &mut self,
        request: impl Into<ExecutionRequest>,
        mut on_event: impl FnMut(Event) + Send,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.step_into(request, &mut on_event).await
    }

    /// Like [`Self::step_with`], with anything that takes events.
    pub async fn step_into(
        &mut self,
        request: impl Into<ExecutionRequest>,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.forget_old_wishes();
        let wishes = Wishes::of(self.handle.clone());
        self.cell.step(request.into(), Listener::new(sink), &wishes).await
    }

    /// Like [`Self::step`], as a stream that is read at the reader's own pace. Dropping it ends the
    /// session. No other step can be run until this one has ended.
    pub fn stream(&mut self, request: impl Into<ExecutionRequest>) -> Execution {
        self.forget_old_wishes();
        let (cell, request) = (Arc::clone(&self.cell), request.into());
        Execution::start(&self.cell.background, self.handle.clone(), |mut queue, wishes| async move {
            cell.step(request, Listener::of_stream(&mut queue), &wishes).await
        })
    }

    /// Begins anew, in a cell that has never run anything: no variable and no file of the steps so
    /// far is there. The session keeps its place: nobody who waits for a cell gets one because of
    /// it. A session that is over stays over.
    pub async fn renew(&mut self) -> Result<(), RuntimeError> {
        // The old cell is gone, whatever comes of the new one.
        let lease = {
            let Taken { lease, .. } = self.cell.take()?;
            lease
        };
        let hold = lease.hold().clone();
        let fresh = self.cell.background.serve(hold.exchange(lease)).await??;
        self.cell = Self::new(fresh, self.cell.executor.clone()).cell;
        Ok(())
    }

    /// The files in the session's workspace, between two steps.
    pub fn files(&self) -> SessionFiles<'_> {
        SessionFiles::new(&self.cell)
    }

    /// How this line of Python can go on, by the names that the session has. Nothing of the session
    /// runs for it, and no variable changes. Nothing is found if the guest does not answer within
    /// two seconds, or is gone. Dropping the future leaves the session as it was.
    pub async fn complete(&mut self, line: &str) -> Result<Completions, RuntimeError> {
        let end = inquiry::end_of(line);
        let answer = self.cell.ask(Question::Completions(end)).await?;
        let mut found = answer.map_or_else(Completions::default, |answer| Completions::read(end, &answer));
        found.start += line.len() - end.len();
        Ok(found)
    }

    /// The variables that the steps have made so far, in the order in which they were made. As with
    /// [`Self::complete`], nothing of the session runs for it.
    pub async fn variables(&mut self) -> Result<Vec<Variable>, RuntimeError> {
        let answer = self.cell.ask(Question::Variables).await?;
        Ok(answer.and_then(|answer| answer.to::<Option<Vec<Variable>>>().ok().flatten()).unwrap_or_default())
    }

    /// A wish made between two steps has no step to apply to.
    fn forget_old_wishes(&self) {
        if self.is_alive() {
            self.handle.reset();
        }
    }
}

impl HeldCell {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn step(
        &self,
        mut request: ExecutionRequest,
        listener: Listener<'_>,
        wishes: &Wishes,
    ) -> Result<ExecutionResult, RuntimeError> {
        self.executor.check(&request)?;
        request.mode.get_or_insert(ExecutionMode::Interactive);
        let taken = self.take()?;
        let identity = Identity::of(&request, Some(taken.lease.hold()));
        let span = identity.span.clone();
        let step = Step { identity, request: &request, listener, wishes };
        self.background.serve(self.step_in_span(taken, step).instrument(span)).await?
    }

    async fn step_in_span(
        &self,
        taken: Taken<'_>,
        step: Step<'_, '_>,
    ) -> Result<ExecutionResult, RuntimeError> {
        let Step { identity, request, listener, wishes } = step;
        let Taken { in_progress, mut place, mut lease, unread } = taken;
        let cell = lease.cell();
        note_cell(&identity.span, cell);
        // What threads and processes of earlier steps said and used since then does not belong to
        // this step.
        let (leftovers, used_before) = match unread {
            None => (Leftovers::default(), CellUsage::default()),
            Some(mut unread) => {
                unread.append(cell.take_leftovers().await);
                (unread, cell.usage())
            }
        };
        let until = Until::Now;
        let run = Run { identity, request, used_before, leftovers, listener, wishes, until };
        let concluded = self.executor.conclude_leased(&mut lease, run).await?;
        // A cell that cannot be used again is dropped before the last events are told. Nothing runs
        // in one that can.
        let kept = concluded.script_is_over.then_some(lease).inspect(Lease::pause);
        drop(in_progress);
        let result = concluded.say(self.executor.listener_timeout()).await;
        place.put_back(kept.map(|lease| (lease, Some(Leftovers::default()))));
        Ok(result)
    }

    /// Does something with the cell between two steps.
    pub(crate) async fn with_cell<T>(
        &self,
        work: impl for<'c> FnOnce(&'c mut dyn Cell) -> BoxFuture<'c, Result<T, FilesError>>,
    ) -> Result<T, RuntimeError> {
        let Taken { in_progress, mut place, mut lease, unread } = self.take()?;
        let done = self.background.serve(work(lease.cell())).await?;
        drop(in_progress);
        let is_lost = matches!(done, Err(FilesError::Workspace(_)));
        place.put_back((!is_lost).then_some((lease, unread)));
        Ok(done?)
    }

    async fn ask(&self, question: Question<'_>) -> Result<Option<Json>, RuntimeError> {
        let asking = async {
            let Taken { lease, mut place, in_progress: _in_progress, unread } = self.take()?;
            // The cell is put back however this ends.
            place.0 = None;
            let mut asked = Asked { place: self, held: Some((lease, unread.unwrap_or_default())) };
            let (lease, unread) = asked.held.as_mut().expect("it is taken when this is dropped");
            let (hold, seal) = (lease.hold().clone(), random_hex());
            tokio::select! {
                biased;
                closed = hold.closed() => Err(closed.into()),
                answer = inquiry::ask(lease.cell(), &seal, question, unread) => Ok(answer),
            }
        };
        let answer: Result<Option<Json>, RuntimeError> = self.background.serve(asking).await?;
        Ok(answer?.map(|answer| self.executor.hide(answer)))
    }

    fn is_alive(&self) -> bool {
        if self.background.check().is_err() {
            return false; // Another thread may have had the lock when this process was forked.
        }
        match &*self.lock() {
            State::Fresh(lease) | State::Used(lease, _) => lease.hold().check().is_ok(),
            State::InUse | State::Over => false,
        }
    }

    /// Takes the cell for a step.
    fn take(&self) -> Result<Taken<'_>, RuntimeError> {
        self.background.check()?;
        let mut state = self.lock();
        let in_progress = match &*state {
            State::Fresh(lease) | State::Used(lease, _) => lease.begin()?,
            State::InUse => return Err(RuntimeError::StepUnderWay { cell: self.id }),
            State::Over => return Err(RuntimeError::SessionOver { cell: self.id }),
        };
        let (lease, unread) = match std::mem::replace(&mut *state, State::InUse) {
            State::Fresh(lease) => (lease, None),
            State::Used(lease, unread) => (lease, Some(unread)),
            State::InUse | State::Over => unreachable!("the cell was here, and the state is locked"),
        };
        Ok(Taken { lease, place: Place(Some(self)), in_progress, unread })
    }
}

/// What a step is to do.
struct Step<'a, 's> {
    identity: Identity,
    request: &'a ExecutionRequest,
    listener: Listener<'s>,
    wishes: &'a Wishes,
}

/// The cell of a session while a step has it. Dropped in this order: the cell goes first.
struct Taken<'a> {
    lease: Lease,
    place: Place<'a>,
    in_progress: InProgress,
    /// What was read of it since the last step. `None` if nothing has run in it yet.
    unread: Option<Leftovers>,
}

/// The cell of a session while it is asked something. It is put back even if nobody waits for the
/// answer any more.
struct Asked<'a> {
    place: &'a HeldCell,
    held: Option<(Lease, Leftovers)>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let held = self.held.take().inspect(|(lease, _)| lease.pause());
        Place(Some(self.place)).put_back(held.map(|(lease, unread)| (lease, Some(unread))));
    }
}

/// Where a step puts its cell when it is over. A step that is dropped puts nothing there.
struct Place<'a>(Option<&'a HeldCell>);

impl Place<'_> {
    /// What was printed since the last step is `None` if there was no step.
    fn put_back(&mut self, held: Option<(Lease, Option<Leftovers>)>) {
        if let Some(cell) = self.0.take() {
            *cell.lock() = match held {
                None => State::Over,
                Some((lease, None)) => State::Fresh(lease),
                Some((lease, Some(unread))) => State::Used(lease, unread),
            };
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.put_back(None);
    }
}
