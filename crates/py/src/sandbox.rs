//! A config made ready.

use std::time::{Duration, Instant};

use belljar::TemplateReport;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::call::Call;
use crate::error::Raise as _;
use crate::execution::Execution;
use crate::{input, output, process, session};

/// A config made ready.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Sandbox {
    pub(crate) sandbox: belljar::Sandbox,
}

#[pymethods]
impl Sandbox {
    /// Runs a script in a cell of its own. `within`: seconds for the wait for a cell and the script
    /// together.
    #[pyo3(signature = (json, extra=None, within=None))]
    fn run(&self, json: &str, extra: Option<&Bound<'_, PyDict>>, within: Option<f64>) -> PyResult<Call> {
        let request = input::request(json, extra)?;
        let sandbox = self.sandbox.clone();
        let deadline = within.map(seconds).transpose()?;
        let work = async move {
            match deadline {
                Some(deadline) => sandbox.run_within(deadline, request).await,
                None => sandbox.run(request).await,
            }
        };
        Ok(Call::fallible(work, output::result).whole())
    }

    /// The same, read event by event.
    #[pyo3(signature = (json, extra=None, within=None))]
    fn stream(
        &self,
        py: Python<'_>,
        json: &str,
        extra: Option<&Bound<'_, PyDict>>,
        within: Option<f64>,
    ) -> PyResult<Execution> {
        let request = input::request(json, extra)?;
        let process = process::current(py)?;
        let _entered = process.tokio().enter();
        Ok(Execution::new(match within.map(seconds).transpose()? {
            Some(deadline) => self.sandbox.stream_within(deadline, request),
            None => self.sandbox.stream(request),
        }))
    }

    /// Takes a cell for several steps.
    fn session(&self) -> Call {
        let sandbox = self.sandbox.clone();
        Call::fallible(async move { sandbox.session().await }, |py, session| {
            Ok(Py::new(py, session::Session::new(session))?.into_any())
        })
    }

    /// Makes cells ready ahead of need.
    fn warm(&self, count: usize) -> Call {
        let sandbox = self.sandbox.clone();
        Call::fallible(async move { sandbox.warm(count).await }, |py, ()| Ok(py.None()))
    }

    /// Closes it, and waits until it has ended if nobody else holds its template.
    fn close(&self) -> Call {
        let sandbox = self.sandbox.clone();
        Call::new(async move { sandbox.close().await }, |py, ()| Ok(py.None()))
    }

    /// What a model should know of its tools, as `tools::forms` has it.
    fn describe_tools(&self) -> Call {
        let sandbox = self.sandbox.clone();
        Call::fallible(async move { sandbox.describe_tools().await }, |py, set| crate::tools::forms(py, &set))
    }

    /// Runs a script `count` times, one after the other with a rest of so many seconds after each,
    /// and gives the milliseconds of each: what calls from Python are measured beside.
    fn time_runs(&self, json: &str, count: usize, rest: f64) -> PyResult<Call> {
        let (request, rest) = (input::request(json, None)?, seconds(rest)?);
        let sandbox = self.sandbox.clone();
        let work = async move {
            let mut times = Vec::with_capacity(count);
            for _ in 0..count {
                let begun = Instant::now();
                sandbox.run(request.clone()).await?;
                times.push(begun.elapsed().as_secs_f64() * 1000.0);
                tokio::time::sleep(rest).await;
            }
            Ok::<_, belljar::RuntimeError>(times)
        };
        Ok(Call::fallible(work, |py, times| Ok(times.into_pyobject(py)?.into_any().unbind())))
    }

    /// `(version, path, tools, warnings)`: the interpreter, and the outcome of making it ready.
    fn report(&self) -> (String, String, Vec<String>, Vec<String>) {
        let TemplateReport { python, python_path, tools, warnings } = self.sandbox.report().clone();
        (python, python_path, tools, warnings)
    }

    /// `(idle, in use, capacity)`: its cells now.
    fn cells(&self) -> (usize, usize, usize) {
        let stats = self.sandbox.stats();
        (stats.idle, stats.leased, stats.capacity)
    }
}

/// A time in seconds.
pub(crate) fn seconds(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| Python::attach(|py| belljar::RuntimeError::Timeout { seconds }.raise(py)))
}
