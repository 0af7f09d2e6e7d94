//! Steps that share their variables.

use std::sync::Arc;

use belljar::RunHandle;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tokio::sync::Mutex;

use crate::call::Call;
use crate::error::of_class;
use crate::execution::Execution;
use crate::{input, output, process};

/// A held cell. Dropping it destroys the cell.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Session {
    session: Arc<Mutex<Option<belljar::Session>>>,
    handle: RunHandle,
}

impl Session {
    pub(crate) fn new(session: belljar::Session) -> Self {
        let handle = session.interrupt_handle();
        Self { session: Arc::new(Mutex::new(Some(session))), handle }
    }
}

/// What a session that was closed answers.
fn closed(py: Python<'_>) -> PyErr {
    of_class(py, "SessionOver", "the session is closed: start a new one".to_owned())
}

/// A failure of a step, or a session that is no longer there.
enum Failed {
    Closed,
    Step(belljar::RuntimeError),
}

impl From<belljar::RuntimeError> for Failed {
    fn from(error: belljar::RuntimeError) -> Self {
        Self::Step(error)
    }
}

impl crate::error::Raise for Failed {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Self::Closed => closed(py),
            Self::Step(error) => error.raise(py),
        }
    }
}

#[pymethods]
impl Session {
    /// Runs one step.
    #[pyo3(signature = (json, extra=None))]
    fn step(&self, json: &str, extra: Option<&Bound<'_, PyDict>>) -> PyResult<Call> {
        let request = input::request(json, extra)?;
        let session = Arc::clone(&self.session);
        let work = async move {
            let mut session = session.lock().await;
            let session = session.as_mut().ok_or(Failed::Closed)?;
            Ok::<_, Failed>(session.step(request).await?)
        };
        Ok(Call::fallible(work, output::result).whole())
    }

    /// The same, read event by event.
    #[pyo3(signature = (json, extra=None))]
    fn stream(&self, py: Python<'_>, json: &str, extra: Option<&Bound<'_, PyDict>>) -> PyResult<Execution> {
        let request = input::request(json, extra)?;
        let process = process::current(py)?;
        let _entered = process.tokio().enter();
        let under_way =
            || of_class(py, "StepUnderWay", "a step of this session is still under way".to_owned());
        let mut session = self.session.try_lock().map_err(|_| under_way())?;
        Ok(Execution::new(session.as_mut().ok_or_else(|| closed(py))?.stream(request)))
    }

    /// Whether another step can be run.
    fn is_alive(&self) -> bool {
        match self.session.try_lock() {
            Ok(session) => session.as_ref().is_some_and(belljar::Session::is_alive),
            Err(_) => true,
        }
    }

    /// Ctrl-C for the step in progress.
    fn interrupt(&self) {
        self.handle.interrupt();
    }

    /// Kills the step in progress, and the session with it.
    fn cancel(&self) {
        self.handle.cancel();
    }

    /// Puts bytes, or a file of this machine, into the workspace.
    fn put(&self, path: String, content: &Bound<'_, PyAny>) -> PyResult<Call> {
        let file = input::input_file(path, content, false)?;
        let session = Arc::clone(&self.session);
        let work = async move {
            let session = session.lock().await;
            let session = session.as_ref().ok_or(Failed::Closed)?;
            Ok::<_, Failed>(session.files().put(&file.path, file.content).await?)
        };
        Ok(Call::fallible(work, |py, ()| Ok(py.None())))
    }

    /// A file's bytes, unless there are more than `most`.
    fn read(&self, path: String, most: u64) -> Call {
        let session = Arc::clone(&self.session);
        let work = async move {
            let session = session.lock().await;
            let session = session.as_ref().ok_or(Failed::Closed)?;
            Ok::<_, Failed>(session.files().read(&path, most).await?)
        };
        Call::fallible(work, |py, bytes| Ok(PyBytes::new(py, &bytes).into_any().unbind()))
    }

    /// `[(path, size, is_directory)]`.
    fn list(&self) -> Call {
        let session = Arc::clone(&self.session);
        let work = async move {
            let session = session.lock().await;
            let session = session.as_ref().ok_or(Failed::Closed)?;
            Ok::<_, Failed>(session.files().list().await?)
        };
        Call::fallible(work, |py, entries| {
            let entries: Vec<_> =
                entries.into_iter().map(|entry| (entry.path, entry.size, entry.is_directory)).collect();
            Ok(entries.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// `(start, [match])`: how a line can go on.
    fn complete(&self, line: String) -> Call {
        let session = Arc::clone(&self.session);
        let work = async move {
            let mut session = session.lock().await;
            let session = session.as_mut().ok_or(Failed::Closed)?;
            Ok::<_, Failed>(session.complete(&line).await?)
        };
        Call::fallible(work, |py, found| {
            Ok((found.start, found.matches).into_pyobject(py)?.into_any().unbind())
        })
    }

    /// `[(name, kind, summary)]`: the variables so far.
    fn variables(&self) -> Call {
        let session = Arc::clone(&self.session);
        let work = async move {
            let mut session = session.lock().await;
            let session = session.as_mut().ok_or(Failed::Closed)?;
            Ok::<_, Failed>(session.variables().await?)
        };
        Call::fallible(work, |py, found| {
            let found: Vec<_> = found.into_iter().map(|it| (it.name, it.kind, it.summary)).collect();
            Ok(found.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// Begins anew, in a cell that has never run anything, without losing its place.
    fn renew(&self) -> Call {
        let session = Arc::clone(&self.session);
        let work = async move {
            let mut session = session.lock().await;
            let session = session.as_mut().ok_or(Failed::Closed)?;
            Ok::<_, Failed>(session.renew().await?)
        };
        Call::fallible(work, |py, ()| Ok(py.None()))
    }

    /// Destroys the cell. A step in progress is killed first.
    fn close(&self) -> Call {
        let (session, handle) = (Arc::clone(&self.session), self.handle.clone());
        let work = async move {
            handle.cancel();
            drop(session.lock().await.take());
        };
        Call::new(work, |py, ()| Ok(py.None()))
    }
}
