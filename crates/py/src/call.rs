//! One future, as Python holds it: awaited from any event loop, or waited for without one.
//!
//! ```text
//!  unstarted ──start(callback)──► under way ──► done ──take()──► taken
//!      └───────wait()───────────────────────────────────────────►┘
//!  cancel() or the garbage collector drops the future, and with it whatever runs for it
//! ```

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::error::of_class;
use crate::{own_loop, process};

/// How often somebody who waits looks for Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(50);

const PANICKED: &str = "Belljar failed inside: what it said is on standard error";

/// What becomes a Python object once the interpreter is there.
pub(crate) type Outcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;
type Work = Pin<Box<dyn Future<Output = Outcome> + Send>>;

enum State {
    Unstarted(Work),
    UnderWay(AbortHandle),
    Done(Outcome),
    Taken,
}

/// Something that takes time.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Call {
    state: Arc<Mutex<State>>,
    /// Whether nothing of it goes on when it is over, so that one thread can do all of it.
    is_whole: bool,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Call {
    /// A future, and what its output is in Python.
    pub(crate) fn new<T: Send + 'static>(
        work: impl Future<Output = T> + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> Self {
        let work = async move {
            match AssertUnwindSafe(work).catch_unwind().await {
                Ok(output) => Box::new(move |py: Python<'_>| convert(py, output)) as Outcome,
                // The panic hook has said what happened. Whoever waits must hear of it, too.
                Err(_) => Box::new(|py: Python<'_>| Err(of_class(py, "BelljarError", PANICKED.to_owned()))),
            }
        };
        Self { state: Arc::new(Mutex::new(State::Unstarted(Box::pin(work)))), is_whole: false }
    }

    /// Says that nothing of it goes on when it is over. Whoever waits for it saves the way to another
    /// thread and back.
    pub(crate) fn whole(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// The same for what can fail.
    pub(crate) fn fallible<T, E>(
        work: impl Future<Output = Result<T, E>> + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> Self
    where
        T: Send + 'static,
        E: Send + 'static + crate::error::Raise,
    {
        Self::new(work, move |py, output| match output {
            Ok(output) => convert(py, output),
            Err(error) => Err(error.raise(py)),
        })
    }

    fn unstarted(&self) -> PyResult<Work> {
        let mut state = locked(&self.state);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Unstarted(work) => Ok(work),
            other => {
                *state = other;
                Err(PyRuntimeError::new_err("this was begun before: a call can be awaited once"))
            }
        }
    }
}

#[pymethods]
impl Call {
    /// Begins it. `callback` is called on another thread when it is over, and must not block.
    fn start(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        let process = process::current(py)?;
        let mut work = self.unstarted()?;
        // Polled once here, in the order of the calls: who comes first is first in line for a cell,
        // whichever thread goes on with it.
        let first = py.detach(|| {
            let _entered = process.tokio().enter();
            work.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        });
        let (state, gate) = (Arc::clone(&self.state), process.gate().clone());
        // Taken before the task can end, so that it finds its place.
        let mut place = locked(&self.state);
        let task = process.tokio().spawn(async move {
            let outcome = match first {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => work.await,
            };
            {
                let mut state = locked(&state);
                if matches!(*state, State::Taken) {
                    return;
                }
                *state = State::Done(outcome);
            }
            // An interpreter that ends has nobody to tell.
            gate.enter(|py| {
                if let Err(error) = callback.call0(py) {
                    // A closed loop: whoever waited is gone.
                    error.write_unraisable(py, None);
                }
            });
        });
        *place = State::UnderWay(task.abort_handle());
        Ok(())
    }

    /// Begins it, and waits on this thread. Ctrl-C ends it. So does `timeout`, in seconds.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let process = process::current(py)?;
        let mut work = self.unstarted()?;
        // A time that no clock has is no limit.
        let within = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let deadline = within.and_then(|within| Instant::now().checked_add(within));
        if Handle::try_current().is_ok() {
            return wait_aside(py, &process, work, deadline);
        }
        let outcome = py.detach(|| {
            let waiting = async {
                loop {
                    tokio::select! {
                        biased;
                        outcome = &mut work => return Ok(outcome),
                        () = tokio::time::sleep(SIGNALS) => Python::attach(|py| py.check_signals())?,
                        () = until(deadline) => return Err(PyTimeoutError::new_err("it took too long")),
                    }
                }
            };
            if self.is_whole { own_loop::wait(&process, waiting) } else { process.tokio().block_on(waiting) }
        });
        // Killed by dropping it, before anybody hears of it.
        drop(work);
        outcome.and_then(|outcome| outcome(py))
    }

    /// The outcome, once it is there.
    fn take(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let mut state = locked(&self.state);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(outcome) => {
                drop(state);
                outcome(py)
            }
            other => {
                *state = other;
                Err(PyRuntimeError::new_err("there is no outcome yet, or it was taken"))
            }
        }
    }

    /// Gives it up. Whatever runs for it is killed.
    fn cancel(&self, py: Python<'_>) {
        let before = std::mem::replace(&mut *locked(&self.state), State::Taken);
        if let State::UnderWay(task) = &before {
            task.abort();
        }
        // What ends with a future may take a moment.
        py.detach(|| drop(before));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let State::UnderWay(task) = &*locked(&self.state) {
            task.abort();
        }
    }
}

/// Waits where this thread waits already: in a handler of a signal that came meanwhile.
fn wait_aside(
    py: Python<'_>,
    process: &process::Process,
    work: Work,
    deadline: Option<Instant>,
) -> PyResult<Py<PyAny>> {
    let (sender, outcome) = std::sync::mpsc::channel();
    // Only this thread has it, which `detach` cannot see.
    let outcome = Mutex::new(outcome);
    let task = process.tokio().spawn(async move { sender.send(work.await).is_ok() });
    let waited = loop {
        let next = || outcome.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNALS);
        match py.detach(next) {
            Ok(outcome) => break Ok(outcome),
            Err(RecvTimeoutError::Disconnected) => {
                break Err(of_class(py, "BelljarError", PANICKED.to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals() {
            break Err(error);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break Err(PyTimeoutError::new_err("it took too long"));
        }
    };
    task.abort();
    waited.and_then(|outcome| outcome(py))
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
