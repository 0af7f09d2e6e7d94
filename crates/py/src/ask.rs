//! Asks a function of Python's, and waits for its answer without holding a thread.
//!
//! ```text
//!  ask ──► a thread that may block ──► function(…, reply)
//!   ▲                                     │ a plain function answers at once,
//!   └──────────── Reply ◄─────────────────┘ an `async def` from its event loop
//! ```
//!
//! The function is Python's part, in `belljar._dispatch`: it knows which event loop a run was
//! awaited on. It returns a function that gives the question up, or `None`.

use std::sync::{Arc, Mutex, PoisonError};

use belljar::tools::ToolContext;
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::gate::Gate;
use crate::process::Process;
use crate::threads::Threads;

/// JSON, or what went wrong.
pub(crate) type Answer = Result<String, String>;

/// Where a function puts its answer, once.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Reply {
    answer: Mutex<Option<oneshot::Sender<Answer>>>,
    /// For a tool: who hears of its progress.
    context: Option<ToolContext>,
}

#[pymethods]
impl Reply {
    /// The answer, as JSON.
    fn succeed(&self, json: String) {
        self.send(Ok(json));
    }

    /// Why there is none.
    fn fail(&self, message: String) {
        self.send(Err(message));
    }

    /// How far a tool has come.
    #[pyo3(signature = (progress, total=None, message=String::new()))]
    fn progress(&self, progress: f64, total: Option<f64>, message: String) {
        if let Some(context) = &self.context {
            context.progress(progress, total, message);
        }
    }
}

impl Reply {
    fn send(&self, answer: Answer) {
        if let Some(sender) = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Whoever asked may be gone.
            let _ = sender.send(answer);
        }
    }
}

/// Where functions of Python's are asked from.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) threads: Threads,
    pub(crate) gate: Gate,
}

impl Host {
    /// Of this process.
    pub(crate) fn of(process: &Process) -> Self {
        Self { threads: process.threads().clone(), gate: process.gate().clone() }
    }
}

/// Gives up what an `async def` does, if nobody waits for it any more.
struct GiveUp(Option<Py<PyAny>>, Host);

impl Drop for GiveUp {
    fn drop(&mut self) {
        let Some(give_up) = self.0.take() else { return };
        // Not on this thread: it polls runs, and the interpreter may be busy.
        let gate = self.1.gate.clone();
        let tell = move || {
            gate.enter(|py| {
                if let Err(error) = give_up.call0(py) {
                    error.write_unraisable(py, None);
                }
            });
        };
        // Without a thread, nobody is told, and what it does goes on to its end.
        let _ = self.1.threads.run(tell);
    }
}

/// Asks. `question` gets the function and where its answer goes.
pub(crate) async fn ask<Q>(
    host: &Host,
    function: Arc<Py<PyAny>>,
    context: Option<ToolContext>,
    question: Q,
) -> Answer
where
    Q: FnOnce(&Bound<'_, PyAny>, Py<Reply>) -> PyResult<Py<PyAny>> + Send + 'static,
{
    let (sender, answer) = oneshot::channel();
    let (asked_sender, asked) = oneshot::channel();
    let its_host = host.clone();
    let put = move || {
        let put = |py: Python<'_>| -> PyResult<Option<Py<PyAny>>> {
            let reply = Py::new(py, Reply { answer: Mutex::new(Some(sender)), context })?;
            match question(function.bind(py), reply.clone_ref(py)) {
                Ok(give_up) => Ok(Some(give_up).filter(|it| !it.is_none(py))),
                Err(error) => {
                    reply.get().fail(error.to_string());
                    Ok(None)
                }
            }
        };
        // An interpreter that ends answers nothing.
        let give_up = its_host.gate.enter(put).and_then(Result::ok).flatten();
        // Whoever asked may be gone, or go before this is received: then it is given up by its drop.
        let _ = asked_sender.send(GiveUp(give_up, its_host));
    };
    host.threads.run(put).map_err(|error| format!("there is no thread left to ask on: {error}"))?;
    let mut give_up = asked.await.ok();
    let answer = answer.await;
    if answer.is_ok()
        && let Some(give_up) = &mut give_up
    {
        give_up.0 = None;
    }
    answer.unwrap_or_else(|_| Err("the interpreter ended before there was an answer".to_owned()))
}
