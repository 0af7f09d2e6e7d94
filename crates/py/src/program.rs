//! A program that is talked to while it runs.

use std::sync::Arc;
use std::time::Duration;

use belljar::workspace::ProgramSession;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::call::Call;
use crate::error::Raise as _;
use crate::output;
use crate::workspace::run_result;

/// A program in progress. Dropping it kills the program.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Program {
    session: Arc<dyn ProgramSession>,
}

impl Program {
    pub(crate) fn new(session: Arc<dyn ProgramSession>) -> Self {
        Self { session }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // One that has ended says so, and that is all it says.
        let _ = self.session.close();
    }
}

#[pymethods]
impl Program {
    /// Its id.
    #[getter]
    fn id(&self) -> &str {
        self.session.id()
    }

    /// `(status, bytes, offset, next offset, exit code)`: what it printed since the last time.
    #[pyo3(signature = (limit=None))]
    fn poll<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        let polled = self.session.poll_bytes(limit);
        let data = PyBytes::new(py, &polled.data);
        let found = (polled.status.as_str(), data, polled.offset, polled.next_offset, polled.exit_code);
        Ok(found.into_pyobject(py)?.into_any())
    }

    /// What it printed from some line on, as JSON.
    #[pyo3(signature = (offset=None, limit=None))]
    fn log(&self, py: Python<'_>, offset: Option<u64>, limit: Option<usize>) -> PyResult<Py<PyAny>> {
        output::json(py, &self.session.log(offset, limit))
    }

    /// Writes to its stdin.
    #[pyo3(signature = (data, newline=false))]
    fn write(&self, data: Vec<u8>, newline: bool) -> Call {
        let session = Arc::clone(&self.session);
        Call::fallible(async move { session.write(&data, newline).await }, |py, ()| Ok(py.None()))
    }

    /// Closes its stdin.
    fn send_eof(&self) -> Call {
        let session = Arc::clone(&self.session);
        Call::fallible(async move { session.send_eof().await }, |py, ()| Ok(py.None()))
    }

    /// Changes the size of its terminal.
    fn resize(&self, rows: u16, cols: u16) -> Call {
        let session = Arc::clone(&self.session);
        Call::fallible(async move { session.resize(rows, cols).await }, |py, ()| Ok(py.None()))
    }

    /// Sends it a signal.
    fn signal(&self, signal: i32) -> Call {
        let session = Arc::clone(&self.session);
        Call::fallible(async move { session.signal(signal).await }, |py, ()| Ok(py.None()))
    }

    /// Asks it to end, and kills it after `grace` seconds.
    fn kill(&self, grace: f64) -> PyResult<Call> {
        let grace: Duration = crate::sandbox::seconds(grace)?;
        let session = Arc::clone(&self.session);
        Ok(Call::fallible(async move { session.kill(grace).await }, |py, ()| Ok(py.None())))
    }

    /// Kills it, if it still runs.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.session.close().map_err(|error| error.raise(py))
    }

    /// Its result, once it has ended.
    fn wait(&self) -> Call {
        let session = Arc::clone(&self.session);
        Call::new(async move { session.wait().await }, run_result)
    }
}
